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
	startWithin = 10 * time.Minute // until a server is ready: it may have an index to build
	stopWithin  = time.Minute      // until one ends whose context did; then it is killed
)

// Server is a running serve.
type Server struct {
	Address string        // host:port it listens on
	ToReady time.Duration // how long it took to be ready
	cmd     *exec.Cmd
	exited  chan struct{} // closed when it has ended, with err
	err     error
}

// Serve starts the server and waits until it is ready. It logs to the end of a file. flags say which database it serves.
func Serve(ctx context.Context, program, log string, flags ...string) (*Server, error) {
	address, err := freeAddress()
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
	s.cmd.WaitDelay = stopWithin
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.exited)
		s.err = s.cmd.Wait()
	}()
	if err := s.waitReady(begun); err != nil {
		return nil, fmt.Errorf("serve: %w; see %s", err, log)
	}
	s.ToReady = time.Since(begun)
	return s, nil
}

// waitReady waits until the server is ready. One that is not in time is ended.
func (s *Server) waitReady(begun time.Time) error {
	for !s.ready() {
		if time.Since(begun) > startWithin {
			return errors.Join(fmt.Errorf("not ready after %s", startWithin), s.Stop())
		}
		select {
		case <-s.exited:
			return fmt.Errorf("ended before it was ready: %w", s.err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// freeAddress returns an address of the loopback interface that nobody listens on.
func freeAddress() (string, error) {
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

// URL returns the address of a path of the API.
func (s *Server) URL(path string) string { return "http://" + s.Address + "/api/v1" + path }

// Stop ends the server in good order, if nothing has ended it before, and waits for it.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.exited
	return s.err
}

// Memory returns the resident memory of the server in MiB, now and at its highest.
func (s *Server) Memory() (now, peak int) {
	return status(s.cmd.Process.Pid, "VmRSS"), status(s.cmd.Process.Pid, "VmHWM")
}
