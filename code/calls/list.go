package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// listing is what the go command says of a module: its packages as units, and the
// export data of what they import.
type listing struct {
	root    string // of the repository, absolute, symbolic links followed
	module  string
	env     []string
	flags   []string
	about   string // "linux/amd64"
	units   []*unit
	exports map[string]string // import path to file of export data
	lost    map[string]string // import path to why it has none
	own     map[string]string // import path to directory, of all packages of the repository
	gaps    map[string][]Gap  // by path of the package
	whole   []Gap             // of the module
	refused map[*unit]bool
}

// unit is what is type-checked at once: a package with its test files, "package x_test", or
// a variant of a package for another one's test.
type unit struct {
	path    string // import path
	of      string // that of the package whose rows are its own
	dir     string
	files   []string          // absolute
	tests   []string          // of files, the test files in package path
	goMod   string            // language version
	imports map[string]string // path as written to import path, of packages that are no units
	units   map[string]*unit  // path as written to unit
	broken  bool              // the go command refuses it
}

// environment returns the environment in which the go command neither reaches the network nor runs what a
// repository names: no download, no other toolchain, no cgo, no version control, no driver.
func environment(ctx context.Context, c Config) (env, flags []string, about string, err error) {
	env = c.Env
	if env == nil {
		env = os.Environ()
	}
	env = append(slices.Clone(env), "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOPACKAGESDRIVER=off", "PWD="+c.Dir)
	if !c.Network {
		// GONOPROXY's modules are taken from their hosts, whatever GOPROXY says.
		env = append(env, "GOPROXY=off", "GONOPROXY=none", "GOVCS=*:off", "GOSUMDB=off")
	}
	cmd := exec.CommandContext(ctx, "go", "env", "-json", "GOFLAGS", "GOOS", "GOARCH", "GOWORK", "GOMOD")
	cmd.Dir, cmd.Env = c.Dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, "", ctx.Err()
		}
		return nil, nil, "", fmt.Errorf("go env in %s: %w: %s", c.Dir, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var v struct{ GOFLAGS, GOOS, GOARCH, GOWORK, GOMOD string }
	if err := json.Unmarshal(out, &v); err != nil {
		return nil, nil, "", fmt.Errorf("go env in %s: %w", c.Dir, err)
	}
	if v.GOMOD == "" || v.GOMOD == os.DevNull {
		return nil, nil, "", &NoModuleError{Dir: c.Dir}
	}
	// -mod=mod would let the go command write go.mod.
	kept := strings.Fields(v.GOFLAGS)
	kept = slices.DeleteFunc(kept, func(f string) bool { return strings.TrimLeft(f, "-") == "mod=mod" })
	env = append(env, "GOFLAGS="+strings.Join(kept, " "))
	if v.GOWORK != "" && !uses(v.GOWORK, filepath.Dir(v.GOMOD)) {
		env = append(env, "GOWORK=off")
	}
	// git status runs what the repository's own configuration names (core.fsmonitor).
	return env, []string{"-buildvcs=false"}, v.GOOS + "/" + v.GOARCH, nil
}

// NoModuleError says that a directory is not in a module.
type NoModuleError struct{ Dir string }

func (e *NoModuleError) Error() string { return e.Dir + " is not in a Go module: go.mod not found" }

const listMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedForTest

func list(ctx context.Context, c Config) (*listing, error) {
	dir, err := filepath.Abs(c.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	c.Dir = dir
	l := &listing{root: dir, exports: map[string]string{}, lost: map[string]string{}, own: map[string]string{}, gaps: map[string][]Gap{}, refused: map[*unit]bool{}}
	if c.Root != "" {
		if l.root, err = filepath.Abs(c.Root); err == nil {
			l.root, err = filepath.EvalSymlinks(l.root)
		}
		if err != nil {
			return nil, err
		}
	}
	if l.env, l.flags, l.about, err = environment(ctx, c); err != nil {
		return nil, err
	}
	cfg := &packages.Config{Mode: listMode, Context: ctx, Dir: dir, Env: l.env, BuildFlags: l.flags, Tests: c.Tests}
	roots, err := packages.Load(cfg, "./...")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		why := err.Error()
		if _, said, ok := strings.Cut(why, "stderr: "); ok {
			why = said // what the go command wrote
		}
		l.whole = append(l.whole, Gap{Kind: gapKind(why), Reason: lines(why)})
		return l, nil
	}
	l.plan(roots)
	if err := l.export(ctx, dir, l.unsafeAssembly(roots)); err != nil {
		return nil, err
	}
	return l, nil
}

// export finds the export data of the packages that units import and that are no units. Those that are refused
// have none.
func (l *listing) export(ctx context.Context, dir string, refused map[string]string) error {
	need := map[string]bool{}
	for _, u := range l.units {
		for _, path := range u.imports {
			if path != "unsafe" && path != "C" {
				need[path] = true
			}
		}
	}
	var paths []string
	for path := range need {
		if why := refused[path]; why != "" {
			l.lost[path] = why
			continue
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	cfg := &packages.Config{Mode: packages.NeedName | packages.NeedExportFile, Context: ctx, Dir: dir, Env: l.env, BuildFlags: l.flags}
	found, err := packages.Load(cfg, paths...)
	if err != nil {
		return fmt.Errorf("export data of what %s imports: %w", l.module, err)
	}
	for _, p := range found {
		if p.ExportFile != "" {
			l.exports[p.PkgPath] = p.ExportFile
		} else if len(p.Errors) > 0 {
			l.lost[p.PkgPath] = p.Errors[0].Msg
		}
	}
	return nil
}

// refuse leaves a unit out for which go/ssa fails.
func (l *listing) refuse(f *buildError) {
	l.refused[f.unit] = true
	l.gap(Gap{Kind: Failed, Package: f.unit.of, Reason: f.Error()})
}

func (l *listing) gap(g Gap) {
	if !slices.Contains(l.gaps[g.Package], g) {
		l.gaps[g.Package] = append(l.gaps[g.Package], g)
	}
}

// below returns a file's path below the root, with slashes; "" if it is not there, or
// vendored.
func (l *listing) below(file string) string {
	r, err := filepath.Rel(l.root, file)
	if err != nil || !filepath.IsLocal(r) {
		return ""
	}
	r = filepath.ToSlash(r)
	if strings.HasPrefix(r, "vendor/") || strings.Contains(r, "/vendor/") {
		return ""
	}
	return r
}

// ignored lists the files of a package that are not loaded.
func (l *listing) ignored(p *packages.Package, path string) {
	for _, f := range p.IgnoredFiles {
		if !strings.HasSuffix(f, ".go") {
			continue
		}
		g := Gap{Kind: Excluded, Package: path, File: l.below(f), Reason: "excluded by build constraints for " + l.about}
		if usesCgo(f) {
			g.Kind, g.Reason = Cgo, `imports "C": cgo is not used`
		}
		if g.File != "" {
			l.gap(g)
		}
	}
}

// said notes the errors that the go command reports of a package. Those of a package with its
// test files cost the test files.
func (l *listing) said(p *packages.Package, path string) {
	for _, e := range fatal(p) {
		g := Gap{Kind: gapKind(e.Msg), Package: path, Reason: l.shorter(e.Pos, e.Msg)}
		if p.ForTest == "" {
			l.gap(g)
			continue
		}
		if slices.ContainsFunc(l.gaps[path], func(o Gap) bool { return o.File == "" && o.Reason == g.Reason }) {
			continue // it is one of the package
		}
		for _, f := range p.GoFiles {
			if g.File = l.below(f); strings.HasSuffix(f, "_test.go") && g.File != "" {
				l.gap(g)
			}
		}
	}
}

// shorter returns an error with its position, without the directories above the root.
func (l *listing) shorter(pos, message string) string {
	if pos != "" && pos != "-" && !strings.HasPrefix(message, pos) {
		message = pos + ": " + message
	}
	return lines(strings.ReplaceAll(message, l.root+string(filepath.Separator), ""))
}

// gapKind tells missing modules from errors.
func gapKind(message string) GapKind {
	for _, s := range []string{"GOPROXY=off", "missing go.sum entry", "no required module provides", "cannot find module providing", "is not in std", "updates to go.mod needed", "not in GOROOT", "inconsistent vendoring", "cannot query module"} {
		if strings.Contains(message, s) {
			return Missing
		}
	}
	return Wrong
}

func lines(s string) string { return strings.Join(strings.Fields(s), " ") }

var errNoFile = errors.New("no export data")
