package source

import (
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
)

// isAbsolute reports whether a binary's file name is an absolute path, on this
// system or another (Windows binaries name files "C:/dir/file.go").
func isAbsolute(name string) bool {
	return strings.HasPrefix(name, "/") || len(name) > 2 && name[1] == ':' && name[2] == '/'
}

// ownerOf finds out what a file belongs to from its name (with slashes) and
// the import path of a function in it.
func (p *places) ownerOf(name, pkg string) owner {
	if pkg == "main" && p.MainPackage != "" {
		pkg = p.MainPackage
	}
	if strings.HasSuffix(name, "_test.go") {
		pkg = strings.TrimSuffix(pkg, "_test")
	}
	o := owner{}
	if isAbsolute(name) {
		o = p.ownerOfPath(name)
	} else {
		o = p.ownerOfTrimmed(name)
	}
	if o.kind == unknownOwner {
		o = p.inPackage(name, pkg)
	}
	return o
}

// inPackage goes by the import path alone: for a binary from another machine,
// and for names from //line directives, which the compiler takes as they are.
func (p *places) inPackage(name, pkg string) owner {
	file := pkg + "/" + path.Base(name)
	if m, ok := p.moduleOf(pkg); ok {
		return p.inModule(m, file)
	}
	if p.isStd(pkg) && (!isAbsolute(name) || strings.HasSuffix(name, "/src/"+file)) {
		return owner{kind: stdOwner, rel: file}
	}
	return owner{rel: name}
}

// ownerOfTrimmed reads what -trimpath leaves: import path and file name, the
// module's path followed by its version where it has one.
func (p *places) ownerOfTrimmed(name string) owner {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return owner{rel: name} // "../.." leads nowhere that we want to go
	}
	if o, ok := p.versioned(name, false); ok {
		return o
	}
	if m, ok := p.moduleOf(path.Dir(name)); ok {
		return p.inModule(m, name)
	}
	if p.isStd(path.Dir(name)) {
		return owner{kind: stdOwner, rel: name}
	}
	return owner{rel: name}
}

// inModule is the owner of a file whose import path lies in module m.
func (p *places) inModule(m Module, name string) owner {
	o := owner{kind: depOwner, mod: m, rel: strings.TrimPrefix(name[len(m.Path):], "/")}
	if m.Path == p.Main.Path {
		o.kind = mainOwner
	}
	return o
}

// versioned reads "path@version/rel". In the module cache capital letters of
// path and version are escaped.
func (p *places) versioned(name string, escaped bool) (owner, bool) {
	modPath, rest, ok := strings.Cut(name, "@")
	if !ok {
		return owner{}, false
	}
	version, rel, ok := strings.Cut(rest, "/")
	if !ok || modPath == "" || version == "" || rel == "" {
		return owner{}, false
	}
	if escaped {
		var err1, err2 error
		modPath, err1 = module.UnescapePath(modPath)
		version, err2 = module.UnescapeVersion(version)
		if err1 != nil || err2 != nil {
			return owner{}, false
		}
	}
	if src, ok := strings.CutPrefix(rel, "src/"); ok && modPath == "golang.org/toolchain" {
		return owner{kind: stdOwner, rel: src}, true
	}
	o := owner{kind: depOwner, mod: Module{Path: modPath, Version: version}, rel: rel, pinned: true}
	for _, m := range p.modules {
		// A path in the cache is that of the replacement, a trimmed one
		// that of the module replaced.
		if m.Path == modPath || m.ReplacePath == modPath && m.ReplaceVersion == version {
			o.mod = m
			if m.Path == p.Main.Path {
				o.kind = mainOwner
				o.mod.Version = version
			}
			break
		}
	}
	return o, true
}

// ownerOfPath places an absolute path: in a directory of this machine, or, the
// binary coming from another one, by the marks that the go command's own
// directories leave.
func (p *places) ownerOfPath(name string) owner {
	file := filepath.FromSlash(name)
	if rel, ok := below(p.GOMODCACHE, file); ok {
		if o, ok := p.versioned(rel, true); ok {
			return o
		}
	}
	for _, g := range p.goroots {
		if rel, ok := below(filepath.Join(g.dir, "src"), file); ok {
			return owner{kind: stdOwner, rel: rel}
		}
	}
	for _, m := range p.modules[min(1, len(p.modules)):] {
		// A replaced module often lies inside the main one.
		if rel, ok := below(p.replaceDir(m), file); ok {
			return owner{kind: depOwner, mod: m, rel: rel}
		}
	}
	if rel, ok := below(p.mainDir, file); ok {
		return p.inMain(rel)
	}
	if m := p.moduleAbove(filepath.Dir(file)); m.path != "" {
		for _, known := range p.modules {
			if rel, ok := below(m.dir, file); ok && known.Path == m.path {
				if known.Path == p.Main.Path {
					return p.inMain(rel)
				}
				return owner{kind: depOwner, mod: known, rel: rel}
			}
		}
	}

	if _, rel, ok := strings.Cut(name, "/pkg/mod/"); ok {
		if o, ok := p.versioned(rel, true); ok {
			return o
		}
	}
	for _, m := range p.modules {
		if dir := p.cacheDir(m); dir != "" {
			rel, _ := below(p.GOMODCACHE, dir)
			if _, rest, ok := strings.Cut(name, "/"+rel+"/"); ok {
				o, ok := p.versioned(rel+"/"+rest, true)
				if ok {
					return o
				}
			}
		}
	}
	if i := strings.LastIndex(name, "/vendor/"); i >= 0 {
		if m, ok := p.moduleOf(path.Dir(name[i+len("/vendor/"):])); ok {
			return p.inModule(m, name[i+len("/vendor/"):])
		}
	}
	return owner{rel: name}
}

// inMain is the owner of a file in the main module's directory, where the
// dependencies may be vendored.
func (p *places) inMain(rel string) owner {
	if name, ok := strings.CutPrefix(rel, "vendor/"); ok {
		if m, ok := p.moduleOf(path.Dir(name)); ok {
			return p.inModule(m, name)
		}
	}
	return owner{kind: mainOwner, mod: p.Main, rel: rel}
}
