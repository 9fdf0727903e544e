package turnstile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// childFolder, when set in the environment, makes the test binary another process that enters the turnstile in that folder,
// says so, and stays until it is killed.
const childFolder = "COLAREGISTRY_TEST_TURNSTILE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		t, err := Open(filepath.Join(dir, "queue"), filepath.Join(dir, "door"))
		if err == nil {
			err = t.Enter(context.Background())
		}
		fmt.Println("inside", err)
		select {}
	}
	goleak.VerifyTestMain(m)
}

func mustOpen(t *testing.T, dir string) *Turnstile {
	t.Helper()
	ts, err := Open(filepath.Join(dir, "queue"), filepath.Join(dir, "door"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ts.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return ts
}

func mustEnter(t *testing.T, ts *Turnstile) {
	t.Helper()
	if err := ts.Enter(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestOneAtATime: goroutines that share a turnstile, and others that opened it for themselves, are never inside together.
func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	shared := mustOpen(t, dir)
	var inside, entries atomic.Int64 // the kernel's locks are none that the race detector knows
	var wg sync.WaitGroup
	for n := range 8 {
		ts := shared
		if n%2 == 0 && shared.Shared() {
			ts = mustOpen(t, dir)
		}
		wg.Go(func() {
			for range 200 {
				if err := ts.Enter(t.Context()); err != nil {
					t.Errorf("Enter: %v", err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d inside at once", n)
				}
				entries.Add(1)
				inside.Add(-1)
				ts.Leave()
			}
		})
	}
	wg.Wait()
	if entries.Load() != 8*200 {
		t.Errorf("%d entries, want %d", entries.Load(), 8*200)
	}
}

// TestAwaited: a holder learns of a waiter, whichever way the waiter opened the turnstile, and of no one else.
func TestAwaited(t *testing.T) {
	dir := t.TempDir()
	a := mustOpen(t, dir)
	if !a.Shared() {
		t.Skip("files cannot be locked here")
	}
	for name, b := range map[string]*Turnstile{"another opening": mustOpen(t, dir), "the same opening": a} {
		mustEnter(t, a)
		if a.Awaited() {
			t.Errorf("%s: awaited by nobody", name)
		}
		in := make(chan error)
		go func() { in <- b.Enter(context.Background()) }()
		for !a.Awaited() { // the test hangs if it never is
		}
		a.Leave()
		if err := <-in; err != nil {
			t.Fatal(err)
		}
		if b.Awaited() {
			t.Errorf("%s: awaited although everybody has come in", name)
		}
		b.Leave()
	}
}

// TestLastHolderWaits: who leaves for a waiter does not come back in before it.
func TestLastHolderWaits(t *testing.T) {
	dir := t.TempDir()
	a, b := mustOpen(t, dir), mustOpen(t, dir)
	if !a.Shared() {
		t.Skip("files cannot be locked here")
	}
	for range 100 {
		mustEnter(t, a)
		order := make(chan string, 2)
		done := make(chan error)
		go func() {
			err := b.Enter(context.Background())
			order <- "b"
			b.Leave()
			done <- err
		}()
		for !a.Awaited() {
		}
		a.Leave()
		mustEnter(t, a) // at once, as an import does
		order <- "a"
		a.Leave()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if first := <-order; first != "b" {
			t.Fatalf("%s came in first", first)
		}
	}
}

// TestContextEnds: a wait is called off, and leaves the turnstile as it was.
func TestContextEnds(t *testing.T) {
	dir := t.TempDir()
	a, b := mustOpen(t, dir), mustOpen(t, dir)
	ended, end := context.WithCancel(context.Background())
	end()
	if err := b.Enter(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Enter with an ended context: %v, want context.Canceled", err)
	}
	for name, waiter := range map[string]*Turnstile{"another opening": b, "the same opening": a} {
		if waiter == b && !a.Shared() {
			continue
		}
		mustEnter(t, a)
		ctx, cancel := context.WithCancel(context.Background())
		in := make(chan error)
		go func() { in <- waiter.Enter(ctx) }()
		for !a.Awaited() {
		}
		cancel()
		if err := <-in; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
		a.Leave()
		mustEnter(t, waiter)
		waiter.Leave()
		mustEnter(t, a)
		a.Leave()
	}
}

// TestHolderDies: the kernel lets go what a killed process held.
func TestHolderDies(t *testing.T) {
	dir := t.TempDir()
	ts := mustOpen(t, dir)
	if !ts.Shared() {
		t.Skip("files cannot be locked here")
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childFolder+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "inside <nil>\n" {
		t.Errorf("the other process says %q, %v", line, err)
	}
	if free, err := ts.door.TryLock(); free || err != nil {
		t.Errorf("TryLock while another process is inside: %v, %v", free, err)
	}
	in := make(chan error)
	go func() { in <- ts.Enter(context.Background()) }()
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // says that it was killed
	if err := <-in; err != nil {
		t.Fatal(err)
	}
	ts.Leave()
}

func TestLockNeedsItsFolder(t *testing.T) {
	if _, err := OpenLock(filepath.Join(t.TempDir(), "missing", "lock")); err == nil {
		t.Error("no error for a folder that does not exist")
	}
}
