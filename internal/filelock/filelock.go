// Package filelock provides locks between processes, based on locked files. Waiters block in the
// kernel instead of polling, and the kernel releases the lock when its holder dies.
//
// SQLite's own lock goes to the first process that retries after its release. A [FairLock] in front
// of it serves processes in order, and a long-running holder, such as an import, can check for
// waiters and yield.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// Lock is an exclusive lock on a file, whose content doesn't matter. It excludes other processes,
// and other goroutines that share the Lock.
type Lock struct {
	file    *os.File
	held    chan struct{} // holds a token while a goroutine holds or awaits the file
	private atomic.Bool   // the file can't be locked; held excludes only goroutines that share the Lock
}

// OpenLock opens a lock file. It creates a missing file, readable only by its owner.
func OpenLock(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return &Lock{file: f, held: make(chan struct{}, 1)}, nil
}

// Lock waits for the lock. If ctx ends first, Lock returns its error.
func (l *Lock) Lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.held <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	locked, err := l.take(false)
	if err != nil {
		<-l.held
		return err
	}
	if locked {
		return nil
	}
	return l.wait(ctx)
}

// wait blocks on the file. A blocked system call can't be canceled: if ctx ends first, a goroutine
// keeps the token, waits for the file lock, and then releases both.
func (l *Lock) wait(ctx context.Context) error {
	locked := make(chan error, 1)
	go func() {
		_, err := l.take(true)
		locked <- err
	}()
	select {
	case err := <-locked:
		if err != nil {
			<-l.held
		}
		return err
	case <-ctx.Done():
		go func() {
			if err := <-locked; err != nil {
				<-l.held
				return
			}
			l.Unlock()
		}()
		return ctx.Err()
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (l *Lock) TryLock() (bool, error) {
	select {
	case l.held <- struct{}{}:
	default:
		return false, nil
	}
	locked, err := l.take(false)
	if !locked || err != nil {
		<-l.held
	}
	return locked, err
}

// Unlock releases the lock. Only the holder may call it.
func (l *Lock) Unlock() {
	if !l.private.Load() {
		_ = unlockFile(l.file) // fails only for a bad descriptor, which holds no lock
	}
	<-l.held
}

// Shared reports whether the lock excludes other processes. It may become false on first
// use, because not every file system can lock files.
func (l *Lock) Shared() bool { return canLockFiles && !l.private.Load() }

// Close closes the file. The lock must be free, without waiters.
func (l *Lock) Close() error { return l.file.Close() }

// take locks the file, optionally waiting for it. On a file system that does not support locks, it
// reports success, because SQLite's own lock still protects the database.
func (l *Lock) take(wait bool) (bool, error) {
	if l.private.Load() {
		return true, nil
	}
	locked, err := lockFile(l.file, wait)
	if errors.Is(err, errors.ErrUnsupported) {
		l.private.Store(true)
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", l.file.Name(), err)
	}
	return locked, nil
}
