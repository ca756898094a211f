package jvm

import (
	"os/exec"
	"syscall"
)

// DieWithParent makes the kernel kill the command when this process ends, also by a panic or a signal. Call it before
// the command starts.
func DieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
