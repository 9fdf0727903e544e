package filelock

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

// childFolder, when set in the environment, makes the test binary another process that takes the lock in that folder,
// says so, and stays until it is killed.
const childFolder = "COLAREGISTRY_TEST_TURNSTILE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		t, err := OpenFair(filepath.Join(dir, "queue"), filepath.Join(dir, "lock"))
		if err == nil {
			err = t.Lock(context.Background())
		}
		fmt.Println("inside", err)
		select {}
	}
	goleak.VerifyTestMain(m)
}

func mustOpen(t *testing.T, dir string) *FairLock {
	t.Helper()
	ts, err := OpenFair(filepath.Join(dir, "queue"), filepath.Join(dir, "lock"))
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

func mustEnter(t *testing.T, ts *FairLock) {
	t.Helper()
	if err := ts.Lock(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestOneAtATime: goroutines that share a FairLock, and others that opened it for themselves, never hold it together.
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
				if err := ts.Lock(t.Context()); err != nil {
					t.Errorf("Enter: %v", err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d inside at once", n)
				}
				entries.Add(1)
				inside.Add(-1)
				ts.Unlock()
			}
		})
	}
	wg.Wait()
	if entries.Load() != 8*200 {
		t.Errorf("%d entries, want %d", entries.Load(), 8*200)
	}
}

// TestContended: the holder sees waiters in its own process and in others, and nobody else.
func TestContended(t *testing.T) {
	dir := t.TempDir()
	a := mustOpen(t, dir)
	if !a.Shared() {
		t.Skip("files cannot be locked here")
	}
	for name, b := range map[string]*FairLock{"another opening": mustOpen(t, dir), "the same opening": a} {
		mustEnter(t, a)
		if a.Contended() {
			t.Errorf("%s: awaited by nobody", name)
		}
		in := make(chan error)
		go func() { in <- b.Lock(context.Background()) }()
		for !a.Contended() { // the test hangs if it never is
		}
		a.Unlock()
		if err := <-in; err != nil {
			t.Fatal(err)
		}
		if b.Contended() {
			t.Errorf("%s: awaited although everybody has come in", name)
		}
		b.Unlock()
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
			err := b.Lock(context.Background())
			order <- "b"
			b.Unlock()
			done <- err
		}()
		for !a.Contended() {
		}
		a.Unlock()
		mustEnter(t, a) // at once, as an import does
		order <- "a"
		a.Unlock()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if first := <-order; first != "b" {
			t.Fatalf("%s came in first", first)
		}
	}
}

// TestContextEnds: a canceled wait leaves the lock as it was.
func TestContextEnds(t *testing.T) {
	dir := t.TempDir()
	a, b := mustOpen(t, dir), mustOpen(t, dir)
	ended, end := context.WithCancel(context.Background())
	end()
	if err := b.Lock(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Enter with an ended context: %v, want context.Canceled", err)
	}
	for name, waiter := range map[string]*FairLock{"another opening": b, "the same opening": a} {
		if waiter == b && !a.Shared() {
			continue
		}
		mustEnter(t, a)
		ctx, cancel := context.WithCancel(context.Background())
		in := make(chan error)
		go func() { in <- waiter.Lock(ctx) }()
		for !a.Contended() {
		}
		cancel()
		if err := <-in; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
		a.Unlock()
		mustEnter(t, waiter)
		waiter.Unlock()
		mustEnter(t, a)
		a.Unlock()
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
	if free, err := ts.lock.TryLock(); free || err != nil {
		t.Errorf("TryLock while another process is inside: %v, %v", free, err)
	}
	in := make(chan error)
	go func() { in <- ts.Lock(context.Background()) }()
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // says that it was killed
	if err := <-in; err != nil {
		t.Fatal(err)
	}
	ts.Unlock()
}

func TestLockNeedsItsFolder(t *testing.T) {
	if _, err := OpenLock(filepath.Join(t.TempDir(), "missing", "lock")); err == nil {
		t.Error("no error for a folder that does not exist")
	}
}
