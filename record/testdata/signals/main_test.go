package main

import (
	"os"
	"testing"
)

func TestOne(t *testing.T) { os.Args = []string{"signals", "quick"}; main() }
func TestTwo(t *testing.T) { os.Args = []string{"signals", "quick"}; main() }
