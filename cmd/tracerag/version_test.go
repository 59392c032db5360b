package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestVersion: a report of a fault names the version, the commit and its date.
func TestVersion(t *testing.T) {
	platform := " go1.26.8 " + runtime.GOOS + "/" + runtime.GOARCH
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "58b206f0123456789abcdef0123456789abcdef0"}
	date := debug.BuildSetting{Key: "vcs.time", Value: "2026-11-22T16:08:45Z"}
	tests := []struct {
		name     string
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		{"a tagged version", "v0.1.0", []debug.BuildSetting{commit, date, {Key: "vcs.modified", Value: "false"}}, "v0.1.0 (commit 58b206f01234, 2026-11-22T16:08:45Z)"},
		{"with changes", "(devel)", []debug.BuildSetting{commit, date, {Key: "vcs.modified", Value: "true"}}, "(devel) (commit 58b206f01234, 2026-11-22T16:08:45Z, modified)"},
		{"from the module cache", "v0.1.0", nil, "v0.1.0"},
		{"without version control", "", nil, "(devel)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: tt.version}, Settings: tt.settings}
			if got := describeBuild(info); got != tt.want+platform {
				t.Errorf("got  %s\nwant %s", got, tt.want+platform)
			}
		})
	}
}
