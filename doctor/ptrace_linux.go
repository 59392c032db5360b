package doctor

import (
	"os"
	"runtime"
	"strings"
	"syscall"
)

// debugger says whether programs can be traced, which the probe and breakpoints need.
// What is set somewhere does not tell: a container's seccomp filter cannot be read.
func debugger() Finding {
	scope := ""
	if text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		scope = strings.TrimSpace(string(text))
	}
	if err := tryTrace(); err != nil {
		return Finding{"ptrace", "missing", "a program that is started here cannot be traced: " + err.Error(), traceRemedy(scope)}
	}
	text := "a program that is started here can be traced"
	if scope != "" {
		text += " (Yama's ptrace_scope is " + scope + ")"
	}
	return Finding{"ptrace", "ok", text, ""}
}

// tryTrace starts this program under ptrace and ends it where it is stopped:
// before its first instruction.
func tryTrace() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	// The child belongs to the thread that started it, which must not end before.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess(exe, []string{exe}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

func traceRemedy(scope string) string {
	switch scope {
	case "2":
		return "Yama's ptrace_scope is 2: only root (CAP_SYS_PTRACE) may trace; sysctl kernel.yama.ptrace_scope=1 permits it for programs that are started here"
	case "3":
		return "Yama's ptrace_scope is 3: nobody may trace until the next boot; set kernel.yama.ptrace_scope = 1 in /etc/sysctl.conf"
	}
	return "in a container allow it with --cap-add=SYS_PTRACE or a seccomp profile with ptrace;\nunder a debugger or strace run tracerag without"
}
