package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// repositories asks for everything that the page of a knowledge base has: each declaration of the program, and what it was given.
func (l *leaker) repositories() {
	// Of one secret nothing in the sources says that it is one. The run does, and has lost it when it was pushed.
	all := l.secrets
	l.secrets = slices.DeleteFunc(slices.Clone(all), func(p planted) bool { return p.name == onlyInRun })
	l.t.Cleanup(func() { l.secrets = all })
	l.run("index", "--edges=no", "--knowledge", l.known(), l.module)
	l.run("push", "--knowledge", l.known())
	ask := l.served("--knowledge", l.known())
	var o struct{ Repositories []struct{ Name string } }
	if err := json.Unmarshal(ask("GET", "/api/overview", ""), &o); err != nil || len(o.Repositories) == 0 {
		l.t.Fatalf("repositories: %+v, %v", o, err)
	}
	body := func(v map[string]string) string { data, _ := json.Marshal(v); return string(data) }
	shown, values := 0, 0
	for _, r := range o.Repositories {
		var in struct{ Packages []struct{ Paths []string } }
		if err := json.Unmarshal(ask("POST", "/api/repository", body(map[string]string{"repository": r.Name})), &in); err != nil {
			l.t.Fatal(err)
		}
		for _, pkg := range in.Packages {
			for _, path := range pkg.Paths {
				var f struct{ Declares []struct{ Symbol string } }
				if err := json.Unmarshal(ask("POST", "/api/file", body(map[string]string{"repository": r.Name, "path": path})), &f); err != nil {
					l.t.Fatal(err)
				}
				for _, d := range f.Declares {
					if regexp.MustCompile(`^take\d`).MatchString(d.Symbol) {
						continue // it names nothing
					}
					ref := map[string]string{"repository": r.Name, "path": path, "symbol": d.Symbol}
					trace := executedBy(ask("POST", "/api/unit", body(ref)))
					shown++
					if strings.HasPrefix(d.Symbol, "take") {
						ref["trace"] = trace
						if strings.Contains(string(ask("POST", "/api/values", body(ref))), "args") {
							values++
						}
					}
				}
			}
		}
	}
	if shown < len(l.secrets) || values == 0 {
		l.t.Errorf("%d declarations and the values of %d were looked at", shown, values)
	}
	for _, text := range []string{"main.main form1 take1 dbPassword", "What does " + l.args + " do? " + controls, controls} {
		ask("POST", "/api/search", body(map[string]string{"text": text}))
		ask("POST", "/api/locate", body(map[string]string{"text": text}))
		ask("POST", "/api/unit", body(map[string]string{"repository": text, "path": text, "symbol": text}))
		ask("POST", "/api/search", body(map[string]string{"text": "main", "repository": text}))
	}
	ask("POST", "/api/search", `{"\u001b":1}`)
}

// executedBy returns the first trace of a function's page.
func executedBy(answer []byte) string {
	var u struct{ Executed []struct{ Trace string } }
	if json.Unmarshal(answer, &u) != nil || len(u.Executed) == 0 {
		return ""
	}
	return u.Executed[0].Trace
}
