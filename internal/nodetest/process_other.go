//go:build !unix

package nodetest

import (
	"errors"
	"os"
	"os/exec"
)

// lead does nothing where there are no process groups.
func lead(*exec.Cmd) {}

// terminate ends a child: there is no asking.
func terminate(cmd *exec.Cmd) error { return kill(cmd) }

// kill ends a child.
func kill(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
