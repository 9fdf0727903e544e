package turnstile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// Lock is a mutual exclusion between processes, on a file of its own; the file's content does not matter. Within one Lock
// it excludes goroutines too.
type Lock struct {
	file    *os.File
	held    chan struct{} // holds one token while a goroutine of this Lock has or awaits the file
	private atomic.Bool   // the file cannot be locked, so only held counts
}

// OpenLock opens the lock on a file, which is made, readable by its owner only, when it is missing.
func OpenLock(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return &Lock{file: f, held: make(chan struct{}, 1)}, nil
}

// Lock waits until the lock is had, or returns the context's error when that ends first.
func (l *Lock) Lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.held <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	had, err := l.take(false)
	if err != nil {
		<-l.held
		return err
	}
	if had {
		return nil
	}
	return l.wait(ctx)
}

// wait blocks on the file. A system call cannot be called off, so when the context ends first the lock is let go as soon as
// it comes; until then the token stays taken.
func (l *Lock) wait(ctx context.Context) error {
	came := make(chan error, 1)
	go func() {
		_, err := l.take(true)
		came <- err
	}()
	select {
	case err := <-came:
		if err != nil {
			<-l.held
		}
		return err
	case <-ctx.Done():
		go func() {
			if err := <-came; err != nil {
				<-l.held
				return
			}
			l.Unlock()
		}()
		return ctx.Err()
	}
}

// TryLock takes the lock if nobody has it, and reports whether it did.
func (l *Lock) TryLock() (bool, error) {
	select {
	case l.held <- struct{}{}:
	default:
		return false, nil
	}
	had, err := l.take(false)
	if !had || err != nil {
		<-l.held
	}
	return had, err
}

// Unlock lets the lock go. Only its holder may call it.
func (l *Lock) Unlock() {
	if !l.private.Load() {
		_ = unlockFile(l.file) // fails only for a bad descriptor, which holds no lock
	}
	<-l.held
}

// Shared reports whether the lock excludes other processes, as far as is known so far.
func (l *Lock) Shared() bool { return canLockFiles && !l.private.Load() }

// Close releases the file. Nobody may hold or wait for the lock.
func (l *Lock) Close() error { return l.file.Close() }

// take locks the file, waiting for it if told to. On a file system without locks it says that it did: better to run with
// the database's own lock alone than not at all.
func (l *Lock) take(wait bool) (bool, error) {
	if l.private.Load() {
		return true, nil
	}
	had, err := lockFile(l.file, wait)
	if errors.Is(err, errors.ErrUnsupported) {
		l.private.Store(true)
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", l.file.Name(), err)
	}
	return had, nil
}
