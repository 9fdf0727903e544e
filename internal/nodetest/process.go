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
	told        = 4 << 10 // how much of what a child printed goes with an error
	readyWithin = time.Minute
)

// Command returns a child that is ended, with all that it starts, when the context is.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	lead(cmd)
	cmd.Cancel = func() error { return kill(cmd) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Output is what a child that has ended printed.
type Output struct {
	Stdout, Stderr []byte
	Code           int // its exit status
}

// Finish runs a child to its end. An exit status other than zero is no error: some say what was found by it.
func Finish(cmd *exec.Cmd) (Output, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	out := Output{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		err = nil
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w%s", shown(cmd), err, out.Tail())
	}
	return out, nil
}

// Succeed runs a child to its end, which is to be a good one, and returns what it printed on standard output.
func Succeed(cmd *exec.Cmd) (string, error) {
	out, err := Finish(cmd)
	if err == nil && out.Code != 0 {
		err = fmt.Errorf("%s: exit status %d%s", shown(cmd), out.Code, out.Tail())
	}
	return string(out.Stdout), err
}

// shown names a command in an error: arguments may hold more than a reader wants.
func shown(cmd *exec.Cmd) string {
	words := []string{filepath.Base(cmd.Path)}
	for _, arg := range cmd.Args[1:] {
		if len(words) < 4 {
			words = append(words, arg)
		}
	}
	return strings.Join(words, " ")
}

// Tail returns the end of what was printed, to go with an error.
func (o Output) Tail() string {
	return LastOf(bytes.TrimSpace(append(bytes.TrimSpace(o.Stdout), append([]byte("\n"), bytes.TrimSpace(o.Stderr)...)...)))
}

// LastOf returns the end of what a child printed, to go with an error.
func LastOf(printed []byte) string {
	if len(printed) == 0 {
		return ""
	}
	return "\n" + string(printed[max(0, len(printed)-told):])
}

// Daemon is a child that runs until it is told to end.
type Daemon struct {
	cmd    *exec.Cmd
	Exited chan struct{} // closed when it has ended, with err
	err    error
}

// Launch starts a daemon that prints to a log. The context ends it at once.
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

// Await waits until a daemon answers at a URL with 200.
func (d *Daemon) Await(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("not ready after %s", readyWithin))
	defer cancel()
	for !answers(ctx, url) {
		select {
		case <-d.Exited:
			return fmt.Errorf("ended before it was ready: %w", d.err)
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

// Stop asks a daemon to end, waits for it, and returns how it ended. One that does not end in time is killed.
func (d *Daemon) Stop(within time.Duration) error {
	select {
	case <-d.Exited:
		return d.ended("ended by itself")
	default:
	}
	err := terminate(d.cmd)
	select {
	case <-d.Exited:
	case <-time.After(within):
		err = errors.Join(fmt.Errorf("%s did not end within %s", shown(d.cmd), within), kill(d.cmd))
		<-d.Exited
	}
	// What it has started and left behind goes with it.
	return errors.Join(err, kill(d.cmd), d.ended("was asked to end, and did"))
}

func (d *Daemon) ended(how string) error {
	if d.err == nil {
		return nil
	}
	return fmt.Errorf("%s %s with %w", shown(d.cmd), how, d.err)
}
