package main

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// version is the module's version and the Go release that built it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v, _, _, _ := buildOf(info)
	return v + " " + info.GoVersion
}

// buildInfo is the line that tracerag --version prints.
func buildInfo() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	return describeBuild(info)
}

// describeBuild names the version, the commit with its date, the Go release and
// the platform: what a report of a fault needs.
func describeBuild(info *debug.BuildInfo) string {
	v, commit, date, modified := buildOf(info)
	parts := []string{}
	if commit != "" {
		parts = append(parts, "commit "+commit)
	}
	if date != "" {
		parts = append(parts, date)
	}
	if modified {
		parts = append(parts, "modified")
	}
	if len(parts) > 0 {
		v += " (" + strings.Join(parts, ", ") + ")"
	}
	return v + " " + info.GoVersion + " " + runtime.GOOS + "/" + runtime.GOARCH
}

// buildOf returns the version, the first twelve digits of the commit and its date.
// The last two are empty in a build without version control.
func buildOf(info *debug.BuildInfo) (version, commit, date string, modified bool) {
	version = info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			date = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return version, commit, date, modified
}

// userAgent names this program to servers.
func userAgent() string {
	v, _, _ := strings.Cut(version(), " ")
	return "tracerag/" + strings.Trim(v, "()")
}
