package main

import (
	"runtime/debug"
	"strings"
)

// version is that of the module, with the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && v == "(devel)" {
			v += " " + s.Value[:12]
		}
	}
	return v + " " + info.GoVersion
}

// userAgent names this program to servers.
func userAgent() string {
	v, _, _ := strings.Cut(version(), " ")
	return "tracerag/" + strings.Trim(v, "()")
}
