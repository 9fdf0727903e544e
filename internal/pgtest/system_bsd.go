//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package pgtest

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// killWithParent is a no-op: only the Linux version ends a program together with its parent.
// Elsewhere, the server of a killed process ends when the next Start removes its folder.
func killWithParent(*syscall.SysProcAttr) {}

// processInfo describes a process.
type processInfo struct {
	parent int
	state  byte // as in ps: T stopped, Z zombie
}

// processes returns all processes, keyed by process ID.
func processes() (map[int]processInfo, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,state=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := map[int]processInfo{}
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		var state string
		if _, err := fmt.Sscan(line, &pid, &parent, &state); err != nil {
			return nil, fmt.Errorf("list processes: %q: %w", line, err)
		}
		all[pid] = processInfo{parent: parent, state: state[0]}
	}
	return all, nil
}
