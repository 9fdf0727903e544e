//go:build unix

package nodetest

import (
	"errors"
	"os/exec"
	"syscall"
)

// lead makes a child the leader of a process group of its own, so that it can be ended with all that it starts, and an interrupt
// at the terminal is left to this program to hand on.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks a child to end.
func terminate(cmd *exec.Cmd) error { return post(cmd.Process.Pid, syscall.SIGTERM) }

// kill ends the group of a child.
func kill(cmd *exec.Cmd) error { return post(-cmd.Process.Pid, syscall.SIGKILL) }

// post sends a signal to a process, or to a group; one that has ended is none to complain about.
func post(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
