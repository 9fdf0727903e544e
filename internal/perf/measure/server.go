package measure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	startTimeout = 10 * time.Minute // limit for startup, which may build an index
	stopTimeout  = time.Minute      // limit for a clean exit after the context ends; then the server is killed
)

// Server is a running server process.
type Server struct {
	Address string        // host and port of the listener
	ToReady time.Duration // time from start to readiness
	cmd     *exec.Cmd
	exited  chan struct{} // closed after the process has exited and err is set
	err     error
}

// Serve starts the server and waits until it is ready. It appends the log to a file. flags select
// the database.
func Serve(ctx context.Context, program, log string, flags ...string) (*Server, error) {
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	flags = append([]string{"serve", "--listen", address, "--demo", "never"}, flags...)
	s := &Server{Address: address, cmd: exec.CommandContext(ctx, program, flags...), exited: make(chan struct{})}
	s.cmd.Stderr = f
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = stopTimeout
	started := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.exited)
		s.err = s.cmd.Wait()
	}()
	if err := s.waitReady(started); err != nil {
		return nil, fmt.Errorf("serve: %w; see %s", err, log)
	}
	s.ToReady = time.Since(started)
	return s, nil
}

// waitReady waits until the server is ready and stops it on timeout.
func (s *Server) waitReady(started time.Time) error {
	for !s.ready() {
		if time.Since(started) > startTimeout {
			return errors.Join(fmt.Errorf("not ready after %s", startTimeout), s.Stop())
		}
		select {
		case <-s.exited:
			return fmt.Errorf("exited before it was ready: %w", s.err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// FreeAddress returns a loopback address without a listener.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (s *Server) ready() bool {
	resp, err := http.Get("http://" + s.Address + "/readyz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// URL returns the URL of an API path.
func (s *Server) URL(path string) string { return "http://" + s.Address + "/api/v1" + path }

// Stop shuts the server down cleanly, if it is running, and waits for it to exit.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.exited
	return s.err
}

// Memory returns the current and the peak resident memory of the server in MiB.
func (s *Server) Memory() (now, peak int) {
	return status(s.cmd.Process.Pid, "VmRSS"), status(s.cmd.Process.Pid, "VmHWM")
}

// CPU returns the CPU time that the server has used.
func (s *Server) CPU() time.Duration { return cpuTime(s.cmd.Process.Pid) }
