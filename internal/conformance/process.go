package main

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

// command returns a child that is ended, with all that it starts, when the context is.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	lead(cmd)
	cmd.Cancel = func() error { return kill(cmd) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// output is what a child that has ended printed.
type output struct {
	stdout, stderr []byte
	code           int // its exit status
}

// finish runs a child to its end. An exit status other than zero is no error: some say what was found by it.
func finish(cmd *exec.Cmd) (output, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	out := output{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		err = nil
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w%s", shown(cmd), err, out.tail())
	}
	return out, nil
}

// succeed runs a child to its end, which is to be a good one, and returns what it printed on standard output.
func succeed(cmd *exec.Cmd) (string, error) {
	out, err := finish(cmd)
	if err == nil && out.code != 0 {
		err = fmt.Errorf("%s: exit status %d%s", shown(cmd), out.code, out.tail())
	}
	return string(out.stdout), err
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

func (o output) tail() string {
	return lastOf(bytes.TrimSpace(append(bytes.TrimSpace(o.stdout), append([]byte("\n"), bytes.TrimSpace(o.stderr)...)...)))
}

// lastOf returns the end of what a child printed, to go with an error.
func lastOf(printed []byte) string {
	if len(printed) == 0 {
		return ""
	}
	return "\n" + string(printed[max(0, len(printed)-told):])
}

// daemon is a child that runs until it is told to end.
type daemon struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended, with err
	err    error
}

// launch starts a daemon that prints to a log. The context ends it at once.
func launch(cmd *exec.Cmd, log io.Writer) (*daemon, error) {
	cmd.Stderr = log
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &daemon{cmd: cmd, exited: make(chan struct{})}
	go func() {
		defer close(d.exited)
		d.err = cmd.Wait()
	}()
	return d, nil
}

// await waits until a daemon answers at a URL with 200.
func (d *daemon) await(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("not ready after %s", readyWithin))
	defer cancel()
	for !answers(ctx, url) {
		select {
		case <-d.exited:
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

// stop asks a daemon to end, waits for it, and returns how it ended. One that does not end in time is killed.
func (d *daemon) stop(within time.Duration) error {
	select {
	case <-d.exited:
		return d.ended("ended by itself")
	default:
	}
	err := terminate(d.cmd)
	select {
	case <-d.exited:
	case <-time.After(within):
		err = errors.Join(fmt.Errorf("%s did not end within %s", shown(d.cmd), within), kill(d.cmd))
		<-d.exited
	}
	// What it has started and left behind goes with it.
	return errors.Join(err, kill(d.cmd), d.ended("was asked to end, and did"))
}

func (d *daemon) ended(how string) error {
	if d.err == nil {
		return nil
	}
	return fmt.Errorf("%s %s with %w", shown(d.cmd), how, d.err)
}
