package nodetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	maxTail      = 4 << 10 // maximum length of child output in errors
	readyTimeout = time.Minute
)

// Command returns a command that is killed with all its descendants when the context ends.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	lead(cmd)
	cmd.Cancel = func() error { return kill(cmd) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Output is the output of a finished child.
type Output struct {
	Stdout, Stderr []byte
	Code           int // exit status
}

// Finish runs a child to completion. A nonzero exit status is not an error, because some programs
// use it to report findings.
func Finish(cmd *exec.Cmd) (Output, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	out := Output{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		err = nil
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w%s", describe(cmd), err, out.Tail())
	}
	return out, nil
}

// Succeed runs a child to completion, requires exit status 0, and returns its standard output.
func Succeed(cmd *exec.Cmd) (string, error) {
	out, err := Finish(cmd)
	if err == nil && out.Code != 0 {
		err = fmt.Errorf("%s: exit status %d%s", describe(cmd), out.Code, out.Tail())
	}
	return string(out.Stdout), err
}

// describe formats a command and its first arguments for errors.
func describe(cmd *exec.Cmd) string {
	words := []string{filepath.Base(cmd.Path)}
	for _, arg := range cmd.Args[1:] {
		if len(words) < 4 {
			words = append(words, arg)
		}
	}
	return strings.Join(words, " ")
}

// Tail returns the end of the output, for error messages.
func (o Output) Tail() string {
	return LastOf(bytes.TrimSpace(append(bytes.TrimSpace(o.Stdout),
		append([]byte("\n"), bytes.TrimSpace(o.Stderr)...)...)))
}

// LastOf returns the end of a child's output, for error messages.
func LastOf(printed []byte) string {
	if len(printed) == 0 {
		return ""
	}
	return "\n" + string(printed[max(0, len(printed)-maxTail):])
}

// Daemon is a child that runs until it is stopped.
type Daemon struct {
	cmd    *exec.Cmd
	Exited chan struct{} // closed after the child has exited and err is set
	err    error
}

// Launch starts a daemon that writes to a log. When the context of cmd ends, the daemon is killed.
func Launch(cmd *exec.Cmd, log io.Writer) (*Daemon, error) {
	cmd.Stderr = log
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &Daemon{cmd: cmd, Exited: make(chan struct{})}
	go func() {
		defer close(d.Exited)
		d.err = cmd.Wait()
	}()
	return d, nil
}

// Await waits until a daemon responds to a URL with status 200.
func (d *Daemon) Await(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %s", readyTimeout))
	defer cancel()
	for !answers(ctx, url) {
		select {
		case <-d.Exited:
			return fmt.Errorf("exited before it was ready: %w", d.err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func answers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Stop asks a daemon to exit, waits for it, and returns its exit error. It kills a daemon that does
// not exit in time.
func (d *Daemon) Stop(within time.Duration) error {
	select {
	case <-d.Exited:
		return d.exitError("exited unexpectedly")
	default:
	}
	err := terminate(d.cmd)
	select {
	case <-d.Exited:
	case <-time.After(within):
		err = errors.Join(fmt.Errorf("%s did not exit within %s", describe(d.cmd), within), kill(d.cmd))
		<-d.Exited
	}
	// Also kill descendants that outlived the daemon.
	return errors.Join(err, kill(d.cmd), d.exitError("failed on shutdown"))
}

func (d *Daemon) exitError(what string) error {
	if d.err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", describe(d.cmd), what, d.err)
}
