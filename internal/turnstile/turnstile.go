// Package turnstile takes turns between processes: one holder at a time, first come, first served, woken by the kernel
// rather than by polling, and let go by the kernel when a holder dies.
//
// It stands in front of a database whose own lock is taken by whoever retries at the right moment. A holder that works in
// small pieces, such as an import, asks Awaited between pieces and leaves when somebody waits, so that short work of others
// is held up by one piece at most.
package turnstile

import (
	"context"
	"errors"
)

// Turnstile is a door with a queue of one before it: whoever has passed the queue is next. Both are locked files, so every
// process that opens the same paths shares them. The methods are safe for concurrent use, except Awaited and Leave, which
// are the holder's.
type Turnstile struct {
	queue, door *Lock
}

// Open opens the turnstile that the two files make, and makes the files when they are missing. Everyone who is to wait
// apart from the others opens it for himself.
func Open(queue, door string) (*Turnstile, error) {
	q, err := OpenLock(queue)
	if err != nil {
		return nil, err
	}
	d, err := OpenLock(door)
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return &Turnstile{queue: q, door: d}, nil
}

// Enter waits for its turn and returns holding the door, or with the context's error when that ends first. Standing in the
// queue until the door is had is what keeps the last holder from coming straight back in.
func (t *Turnstile) Enter(ctx context.Context) error {
	if err := t.queue.Lock(ctx); err != nil {
		return err
	}
	defer t.queue.Unlock()
	return t.door.Lock(ctx)
}

// Leave lets the next one in.
func (t *Turnstile) Leave() { t.door.Unlock() }

// Awaited tells the holder whether somebody is waiting for the door. It costs two system calls. Where the platform cannot
// lock files, only waiters that share this Turnstile show.
func (t *Turnstile) Awaited() bool {
	free, err := t.queue.TryLock()
	if free {
		t.queue.Unlock()
	}
	return err == nil && !free
}

// Shared reports whether other processes are waited for; it is false where the platform or the file system cannot lock
// files, and then turns are only taken within this Turnstile.
func (t *Turnstile) Shared() bool { return t.door.Shared() }

// Close releases the files. Nobody may hold or wait.
func (t *Turnstile) Close() error { return errors.Join(t.queue.Close(), t.door.Close()) }
