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

// kill ends a postmaster and its children immediately and waits until the children are gone,
// because the data directory can't be reopened until then.
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
		return fmt.Errorf("kill the server process %d: %w", pid, err)
	}
	if err := poll(ctx, func() error { return checkEnded(children) }); err != nil {
		return err
	}
	removeSharedMemory(s.folder.data())
	return nil
}

// freeze stops the postmaster with SIGSTOP, so that it neither creates children nor reacts to their
// exits, and returns its children.
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
			return errors.New("the server is still running")
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

// checkEnded returns an error while one of the processes is running. Zombies count as ended.
func checkEnded(pids []int) error {
	all, err := processes()
	if err != nil {
		return final{err}
	}
	for _, pid := range pids {
		if info, ok := all[pid]; ok && info.state != 'Z' {
			return fmt.Errorf("process %d of the server is still running", pid)
		}
	}
	return nil
}

// removeSharedMemory removes the System V shared memory segment that a server uses to detect other
// servers. The segment outlives a killed server, and a few thousand killed servers would exhaust
// the system's limit. It ignores errors, because the next start removes the segment too.
func removeSharedMemory(data string) {
	if id := sharedMemoryID(data); id != "" {
		_ = exec.Command("ipcrm", "-m", id).Run()
	}
}

// sharedMemoryID returns the ID of the shared memory of a data folder's current or last server, or
// "" if it is unknown.
func sharedMemoryID(data string) string {
	const keyAndID = 6 // zero-based line index in postmaster.pid
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
