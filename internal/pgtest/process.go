package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const pollInterval = 10 * time.Millisecond

// Mode is a shutdown mode.
type Mode uint8

// Shutdown modes.
const (
	Fast      Mode = iota // clean shutdown: closes connections and writes all data
	Immediate             // like a crash: drops connections and writes no data; the next start recovers
	Kill                  // SIGKILL to the postmaster and all its children
)

func (m Mode) signal() os.Signal {
	if m == Fast {
		return syscall.SIGINT
	}
	return syscall.SIGQUIT
}

var (
	errPortTaken = errors.New("the port is in use by another program")
	errEnded     = errors.New("the server has exited")
)

// process is a running or ended postmaster.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process ends
}

// launch starts a command. The starting goroutine stays locked to its thread until the command
// ends, because on Linux the kernel ends the command when that thread exits.
func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // ProcessState has the exit status
			close(p.done)
		}
	}()
	return p, <-started
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Stop stops the server and waits until it is gone. Its port stays reserved for Restart. A Fast
// stop waits until standbys have received all data. Stopping a stopped or crashed server is not an
// error. If the context ends first, the server continues to stop; call Stop again or Close.
func (s *Server) Stop(ctx context.Context, m Mode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stop(ctx, m); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	return nil
}

func (s *Server) stop(ctx context.Context, m Mode) error {
	p := s.process
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	if m == Kill {
		if err := s.kill(ctx, p); err != nil {
			return err
		}
	} else if err := p.cmd.Process.Signal(m.signal()); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return fmt.Errorf("%w; end of its log:\n%s", context.Cause(ctx), s.log.tail(maxLogTail))
	}
	s.process = nil
	return nil
}

// Restart starts a stopped server with the same port and data, and waits until it accepts
// connections.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch {
	case s.closed:
		err = errors.New("the server is closed")
	case s.process != nil && !s.process.ended():
		err = errors.New("the server is already running")
	default:
		err = s.run(ctx)
	}
	if err != nil {
		return fmt.Errorf("restart PostgreSQL: %w", err)
	}
	return nil
}

// run starts the postmaster and waits until it accepts connections. On error it leaves no process
// running.
func (s *Server) run(ctx context.Context) error {
	log, logged, err := s.log.open()
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.programs.path("postgres"), "-D", s.folder.data(), "-p", fmt.Sprint(s.port.number))
	s.prepare(cmd)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := launch(cmd)
	if err != nil {
		return err
	}
	s.process = p
	if err = s.waitReady(ctx, p, logged); err != nil {
		return errors.Join(err, s.stop(context.WithoutCancel(ctx), Immediate))
	}
	return nil
}

// waitReady waits until the server responds. It verifies the server's identity, because another
// process may own the port.
func (s *Server) waitReady(ctx context.Context, p *process, logged int64) error {
	probeCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // stop waiting for a response when the process ends
		defer cancel()
		select {
		case <-p.done:
		case <-probeCtx.Done():
		}
	}()
	err := poll(ctx, func() error {
		if p.ended() {
			return final{s.exitError(p, logged)}
		}
		return s.answers(probeCtx)
	})
	if err != nil {
		return fmt.Errorf("wait for the server: %w\n%s", err, s.log.since(logged, maxLogTail))
	}
	return nil
}

// exitError returns the reason that a server failed to start.
func (s *Server) exitError(p *process, logged int64) error {
	if strings.Contains(s.log.since(logged, maxLogTail), "could not create any TCP/IP sockets") {
		return fmt.Errorf("%w: %s", errPortTaken, s.Addr())
	}
	return fmt.Errorf("%w: %s", errEnded, p.cmd.ProcessState)
}

// final is an error that retrying cannot fix.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// poll retries until try succeeds or returns a final error, or the context ends.
func poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		if stop := (final{}); err == nil || errors.As(err, &stop) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last attempt: %w", context.Cause(ctx), err)
		case <-time.After(pollInterval):
		}
	}
}
