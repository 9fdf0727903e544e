package nodetest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mustShell returns the path of a shell.
func mustShell(t *testing.T) string {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs a shell")
	}
	return shell
}

// mustGone waits until a process has ended. A killed process may remain until its new parent has
// reaped it.
func mustGone(t *testing.T, pidFile string) {
	t.Helper()
	content, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if !running(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still running", pid)
}

// running reports whether a process exists and has not ended.
func running(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil || process.Signal(syscall.Signal(0)) != nil {
		return false
	}
	state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(state), ") Z ")
}

// mustFile waits until a file ends with a complete line.
func mustFile(t *testing.T, name string) {
	t.Helper()
	for range 500 {
		if content, err := os.ReadFile(name); err == nil && strings.HasSuffix(string(content), "\n") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s was not written", name)
}

// TestContextStopsGroup checks that canceling the context also ends a child's descendants.
func TestContextStopsGroup(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	d, err := Launch(Command(ctx, mustShell(t), "-c", "sleep 600 & echo $! >"+pid+"; wait"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	mustFile(t, pid)
	cancel()
	<-d.Exited
	mustGone(t, pid)
}

// TestStopEndsGroup checks that Stop ends descendants that outlive a child with a clean exit.
func TestStopEndsGroup(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	d, err := Launch(Command(t.Context(), mustShell(t), "-c",
		"trap 'exit 0' TERM; sleep 600 >/dev/null 2>&1 & echo $! >"+pid+"; wait"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	mustFile(t, pid)
	if err := d.Stop(time.Minute); err != nil {
		t.Errorf("Stop: %v", err)
	}
	mustGone(t, pid)
}

// TestStopStubborn checks that Stop kills a child that ignores the signal, and reports it.
func TestStopStubborn(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	d, err := Launch(Command(t.Context(), mustShell(t), "-c",
		"trap '' TERM; echo >"+ready+"; while :; do sleep 0.1; done"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	mustFile(t, ready)
	if err := d.Stop(10 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not exit within") {
		t.Errorf("Stop = %v, want a timeout", err)
	}
}

func TestStopEnded(t *testing.T) {
	d, err := Launch(Command(t.Context(), mustShell(t), "-c", "exit 3"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	<-d.Exited
	if err := d.Stop(time.Minute); err == nil || !strings.Contains(err.Error(), "exited unexpectedly: exit status 3") {
		t.Errorf("Stop = %v, want exit status 3", err)
	}
}

func TestFinish(t *testing.T) {
	shell := mustShell(t)
	out, err := Finish(Command(t.Context(), shell, "-c", "echo out; echo err >&2; exit 6"))
	if err != nil || out.Code != 6 || string(out.Stdout) != "out\n" || string(out.Stderr) != "err\n" {
		t.Errorf("Finish = %+v, %v; want exit code 6 with both outputs", out, err)
	}
	if got := out.Tail(); got != "\nout\nerr" {
		t.Errorf("Tail() = %q, want both outputs", got)
	}
	if _, err := Succeed(Command(t.Context(), shell, "-c", "echo no >&2; exit 6")); err == nil ||
		!strings.Contains(err.Error(), "exit status 6\nno") {
		t.Errorf("Succeed with exit status 6: %v", err)
	}
	if _, err := Finish(Command(t.Context(), shell, "-c", "kill -9 $$")); err == nil ||
		!strings.Contains(err.Error(), "killed") {
		t.Errorf("Finish(killed child) = %v, want an error", err)
	}
	if _, err := Finish(Command(t.Context(), filepath.Join(t.TempDir(), "nothing"))); err == nil {
		t.Error("Finish ran a missing program")
	}
}

func TestAwait(t *testing.T) {
	requests := 0
	ready := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer ready.Close()
	d, err := Launch(Command(t.Context(), mustShell(t), "-c", "exec sleep 600"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Await(t.Context(), ready.URL); err != nil || requests != 3 {
		t.Errorf("Await = %v after %d requests, want success after 3", err, requests)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Await(canceled, ready.URL); err == nil {
		t.Error("Await succeeded with a canceled context")
	}
	if err := d.Stop(time.Minute); err == nil { // sleep exits with an error on SIGTERM
		t.Error("Stop returned no error for an exit by signal")
	}
	if err := d.Await(t.Context(), ready.URL+"\x00"); err == nil ||
		!strings.Contains(err.Error(), "exited before it was ready") {
		t.Errorf("Await after the exit = %v, want an error", err)
	}
}
