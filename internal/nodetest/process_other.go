//go:build !unix

package nodetest

import (
	"errors"
	"os"
	"os/exec"
)

// lead is a no-op, because this system has no process groups.
func lead(*exec.Cmd) {}

// terminate kills a child, because this system has no SIGTERM.
func terminate(cmd *exec.Cmd) error { return kill(cmd) }

// kill kills a child.
func kill(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
