package filelock

import (
	"context"
	"errors"
)

// FairLock is a Lock that serves processes in the order of their requests. It uses two locked
// files: a waiter holds the queue lock until it gets the main lock, so the previous holder can't
// overtake it. The methods are safe for concurrent use; Contended and Unlock are for the holder.
type FairLock struct {
	queue, lock *Lock
}

// OpenFair opens a fair lock on two files and creates them if they are missing. Goroutines may
// share a FairLock. If it is Shared, they may also open their own.
func OpenFair(queue, lock string) (*FairLock, error) {
	q, err := OpenLock(queue)
	if err != nil {
		return nil, err
	}
	l, err := OpenLock(lock)
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return &FairLock{queue: q, lock: l}, nil
}

// Lock waits for the lock. If ctx ends first, Lock returns its error.
func (f *FairLock) Lock(ctx context.Context) error {
	if err := f.queue.Lock(ctx); err != nil {
		return err
	}
	defer f.queue.Unlock()
	return f.lock.Lock(ctx)
}

// Unlock releases the lock to the next waiter.
func (f *FairLock) Unlock() { f.lock.Unlock() }

// Contended reports whether another process or goroutine is waiting for the lock. It costs two
// system calls. On platforms without file locks, it detects only waiters that share this FairLock.
func (f *FairLock) Contended() bool {
	free, err := f.queue.TryLock()
	if free {
		f.queue.Unlock()
	}
	return err == nil && !free
}

// Shared reports whether the lock excludes other processes. It doesn't where the platform or the
// file system can't lock files; there it only excludes goroutines that share this FairLock.
func (f *FairLock) Shared() bool { return f.lock.Shared() }

// Close closes the files. The lock must be free, without waiters.
func (f *FairLock) Close() error { return errors.Join(f.queue.Close(), f.lock.Close()) }
