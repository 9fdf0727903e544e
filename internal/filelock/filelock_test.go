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

// childFolder is an environment variable. If it names a folder, the test binary takes the lock in
// that folder, prints a line, and waits until it is killed.
const childFolder = "COLAREGISTRY_TEST_FAIR_LOCK"

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
	l, err := OpenFair(filepath.Join(dir, "queue"), filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return l
}

func mustLock(t *testing.T, l *FairLock) {
	t.Helper()
	if err := l.Lock(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestMutualExclusion checks that only one goroutine holds the lock, whether goroutines share a
// FairLock or open their own.
func TestMutualExclusion(t *testing.T) {
	dir := t.TempDir()
	shared := mustOpen(t, dir)
	var inside, entries atomic.Int64 // atomic, because the race detector can't see kernel locks
	var wg sync.WaitGroup
	for n := range 8 {
		l := shared
		if n%2 == 0 && shared.Shared() {
			l = mustOpen(t, dir)
		}
		wg.Go(func() {
			for range 200 {
				if err := l.Lock(t.Context()); err != nil {
					t.Errorf("Lock: %v", err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d holders at once, want 1", n)
				}
				entries.Add(1)
				inside.Add(-1)
				l.Unlock()
			}
		})
	}
	wg.Wait()
	if entries.Load() != 8*200 {
		t.Errorf("%d entries, want %d", entries.Load(), 8*200)
	}
}

// TestContended checks that the holder detects waiters that share its FairLock and waiters that
// have opened their own.
func TestContended(t *testing.T) {
	dir := t.TempDir()
	a := mustOpen(t, dir)
	if !a.Shared() {
		t.Skip("the file system does not support locks")
	}
	for name, b := range map[string]*FairLock{"another FairLock": mustOpen(t, dir), "the same FairLock": a} {
		mustLock(t, a)
		if a.Contended() {
			t.Errorf("%s: contended without waiters", name)
		}
		in := make(chan error)
		go func() { in <- b.Lock(context.Background()) }()
		for !a.Contended() { // hangs on failure
		}
		a.Unlock()
		if err := <-in; err != nil {
			t.Fatal(err)
		}
		if b.Contended() {
			t.Errorf("%s: contended after all waiters got the lock", name)
		}
		b.Unlock()
	}
}

// TestFairness checks that a holder that yields gets the lock again only after the waiter.
func TestFairness(t *testing.T) {
	dir := t.TempDir()
	a, b := mustOpen(t, dir), mustOpen(t, dir)
	if !a.Shared() {
		t.Skip("the file system does not support locks")
	}
	for range 100 {
		mustLock(t, a)
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
		mustLock(t, a) // immediately, as an import does
		order <- "a"
		a.Unlock()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if first := <-order; first != "b" {
			t.Fatalf("%s got the lock first", first)
		}
	}
}

// TestCanceledWait checks that a canceled wait leaves the lock unchanged.
func TestCanceledWait(t *testing.T) {
	dir := t.TempDir()
	a, b := mustOpen(t, dir), mustOpen(t, dir)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Lock(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock with a canceled context: %v, want context.Canceled", err)
	}
	for name, waiter := range map[string]*FairLock{"another FairLock": b, "the same FairLock": a} {
		if waiter == b && !a.Shared() {
			continue
		}
		mustLock(t, a)
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
		mustLock(t, waiter)
		waiter.Unlock()
		mustLock(t, a)
		a.Unlock()
	}
}

// TestKilledHolder checks that the kernel releases the lock of a killed process.
func TestKilledHolder(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	if !l.Shared() {
		t.Skip("the file system does not support locks")
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
		t.Errorf("output of the other process: %q, %v", line, err)
	}
	if free, err := l.lock.TryLock(); free || err != nil {
		t.Errorf("TryLock while another process holds the lock: %v, %v", free, err)
	}
	in := make(chan error)
	go func() { in <- l.Lock(context.Background()) }()
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // killed
	if err := <-in; err != nil {
		t.Fatal(err)
	}
	l.Unlock()
}

func TestMissingFolder(t *testing.T) {
	if _, err := OpenLock(filepath.Join(t.TempDir(), "missing", "lock")); err == nil {
		t.Error("OpenLock(missing folder) succeeded, want an error")
	}
}
