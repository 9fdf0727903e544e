//go:build unix

package nodetest

import (
	"errors"
	"os/exec"
	"syscall"
)

// lead makes a child the leader of a new process group. The child can then be killed together with
// its descendants, and Ctrl-C reaches only this program, which kills the group when its context
// ends.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate sends SIGTERM to a child.
func terminate(cmd *exec.Cmd) error { return signal(cmd.Process.Pid, syscall.SIGTERM) }

// kill kills the process group of a child.
func kill(cmd *exec.Cmd) error { return signal(-cmd.Process.Pid, syscall.SIGKILL) }

// signal sends a signal to a process or a group. It ignores processes that have ended.
func signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
