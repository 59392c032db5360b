package main

import (
	"fmt"
	"os/exec"
	"runtime"
)

// opened prints a page's URL, and has the user's browser show it.
func (a *app) opened(url string, open bool) {
	fmt.Fprintln(a.stdout, url)
	a.note("Ctrl-C ends it")
	if open {
		if err := openBrowser(url); err != nil {
			a.note("no browser was opened: %v\nopen the URL above", err)
		}
	}
}

// openBrowser opens a URL in the user's browser, and does not wait for it.
func openBrowser(url string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		cmd = exec.Command("xdg-open", url)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // leaves no zombie
	return nil
}
