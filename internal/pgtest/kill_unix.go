//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// kill ends a postmaster and its children at once and waits until the children are gone too: as long as one of them is
// there, the data cannot be opened again.
func (s *Server) kill(ctx context.Context, p *process) error {
	pid := p.cmd.Process.Pid
	children, err := freeze(ctx, p)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill process %d of the server: %w", child, err)
		}
	}
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the server %d: %w", pid, err)
	}
	if err := poll(ctx, func() error { return gone(children) }); err != nil {
		return err
	}
	removeSharedMemory(s.folder.data())
	return nil
}

// freeze stops the postmaster, so that it makes no more children and does not hear of their end, and returns its children.
func freeze(ctx context.Context, p *process) (children []int, err error) {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	err = poll(ctx, func() error {
		all, err := processes()
		if err != nil {
			return final{err}
		}
		if state := all[p.cmd.Process.Pid].state; state != 'T' && state != 'Z' {
			return errors.New("the server has not stopped yet")
		}
		for pid, info := range all {
			if info.parent == p.cmd.Process.Pid {
				children = append(children, pid)
			}
		}
		return nil
	})
	return children, err
}

// gone returns an error while one of the processes is there. One that has ended and was not waited for is gone.
func gone(pids []int) error {
	all, err := processes()
	if err != nil {
		return final{err}
	}
	for _, pid := range pids {
		if info, there := all[pid]; there && info.state != 'Z' {
			return fmt.Errorf("process %d of the server has not ended yet", pid)
		}
	}
	return nil
}

// removeSharedMemory removes the few bytes of System V shared memory by which a server knows that it is the only one, and
// which outlive it when it is killed. Otherwise the system would run out of them after some thousand killed servers. What
// cannot be removed stays: the next start, if there is one, removes it too.
func removeSharedMemory(data string) {
	if id := sharedMemoryID(data); id != "" {
		_ = exec.Command("ipcrm", "-m", id).Run()
	}
}

// sharedMemoryID returns the id of the shared memory that the server of a data folder has or had; empty when it cannot be
// told.
func sharedMemoryID(data string) string {
	const keyAndID = 6 // the line of postmaster.pid
	file, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return ""
	}
	lines := slices.Collect(strings.Lines(string(file)))
	if len(lines) <= keyAndID {
		return ""
	}
	fields := strings.Fields(lines[keyAndID])
	if len(fields) != 2 {
		return ""
	}
	return fields[1]
}
