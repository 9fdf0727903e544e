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

// pollEvery is how long to wait between two looks at what cannot be waited for.
const pollEvery = 10 * time.Millisecond

// Mode is a way to stop a server.
type Mode uint8

// The modes.
const (
	Fast      Mode = iota // in good order: connections are ended, everything is written
	Immediate             // as in a crash: connections are dropped, nothing is written, the next start recovers
	Kill                  // SIGKILL of the postmaster and all its children
)

func (m Mode) signal() os.Signal {
	if m == Fast {
		return syscall.SIGINT
	}
	return syscall.SIGQUIT
}

var (
	errPortTaken = errors.New("another program has the port")
	errEnded     = errors.New("the server has ended")
)

// process is a postmaster that was started.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// launch starts a command. The goroutine that starts it keeps its thread until it ends, since on Linux the kernel ends the
// command together with the thread that started it.
func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its ProcessState
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

// Stop stops the server and waits until it is gone; its port stays reserved for Restart. A Fast stop waits for standbys to
// have received everything. Stopping a server that is stopped, or has ended by itself, is no error. When the context ends
// first the server goes on stopping; stop it again, or close it.
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
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
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
		return fmt.Errorf("%w; its log ends with\n%s", context.Cause(ctx), s.log.tail(logTold))
	}
	s.process = nil
	return nil
}

// Restart starts a stopped server again, on the same port and data, and waits until it accepts connections.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch {
	case s.closed:
		err = errors.New("it is closed")
	case s.process != nil && !s.process.ended():
		err = errors.New("it is running")
	default:
		err = s.run(ctx)
	}
	if err != nil {
		return fmt.Errorf("restart PostgreSQL: %w", err)
	}
	return nil
}

// run starts the postmaster and waits until it accepts connections. On an error nothing runs.
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

// waitReady waits until the server answers. It may not be its port that answers, so it is asked who it is.
func (s *Server) waitReady(ctx context.Context, p *process, logged int64) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // who has ended need not be asked any longer
		defer cancel()
		select {
		case <-p.done:
		case <-asking.Done():
		}
	}()
	err := poll(ctx, func() error {
		if p.ended() {
			return final{s.whyEnded(p, logged)}
		}
		return s.answers(asking)
	})
	if err != nil {
		return fmt.Errorf("wait for the server: %w\n%s", err, s.log.since(logged, logTold))
	}
	return nil
}

// whyEnded returns why a server did not come up.
func (s *Server) whyEnded(p *process, logged int64) error {
	if strings.Contains(s.log.since(logged, logTold), "could not create any TCP/IP sockets") {
		return fmt.Errorf("%w %s", errPortTaken, s.Addr())
	}
	return fmt.Errorf("%w: %s", errEnded, p.cmd.ProcessState)
}

// final is an error that more tries do not mend.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// poll tries until there is no error, or a final one, or the context ends.
func poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		if stop := (final{}); err == nil || errors.As(err, &stop) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the last try: %w", context.Cause(ctx), err)
		case <-time.After(pollEvery):
		}
	}
}
