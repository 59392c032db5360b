package record

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// askToEnd presses Ctrl-Break for a process's group. The program in it ends, and the process, which ignores the key
// meanwhile, saves its trace. Without a console there are no keys.
func askToEnd(p *os.Process) {
	if windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid)) != nil {
		_ = p.Kill()
	}
}
