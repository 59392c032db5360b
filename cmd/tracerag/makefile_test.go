package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMakeHelp: make help lists every target of the Makefile.
func TestMakeHelp(t *testing.T) {
	makefile := readDoc(t, filepath.Join(root, "Makefile"))
	phony := regexp.MustCompile(`(?m)^\.PHONY: (.+)$`).FindStringSubmatch(makefile)
	if phony == nil {
		t.Fatal("the Makefile has no .PHONY line")
	}
	for _, target := range strings.Fields(phony[1]) {
		if !regexp.MustCompile(`(?m)^` + target + `:.*## \S`).MatchString(makefile) {
			t.Errorf("the Makefile's target %s has no text after ##", target)
		}
	}
}

// TestWorkflow: GitHub checks what .ci/run checks, and nothing else.
func TestWorkflow(t *testing.T) {
	workflow := readDoc(t, filepath.Join(root, ".github", "workflows", "ci.yml"))
	if !regexp.MustCompile(`(?m)^ +run: \.ci/run$`).MatchString(workflow) {
		t.Error("the workflow does not run .ci/run")
	}
	info, err := os.Stat(filepath.Join(root, ".ci", "run"))
	if err != nil || info.Mode()&0o111 == 0 {
		t.Errorf(".ci/run is not executable: %v", err)
	}
}
