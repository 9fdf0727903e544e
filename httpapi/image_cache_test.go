package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/colaregistry/colaregistry/cola"
)

// hold returns a draw function that blocks until release is called, along with a counter of its
// calls.
func hold() (draw func() ([]byte, error), drawn *atomic.Int32, release func()) {
	gate, drawn := make(chan struct{}), new(atomic.Int32)
	return func() ([]byte, error) {
		drawn.Add(1)
		<-gate
		return []byte("drawn"), nil
	}, drawn, func() { close(gate) }
}

func TestConcurrentRender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newImageCache(2, 2, 1<<20)
		draw, drawn, release := hold()
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if content, err := d.get(t.Context(), "a", draw); err != nil || string(content) != "drawn" {
					t.Errorf("get = %q, %v; want drawn", content, err)
				}
			})
		}
		synctest.Wait()
		release()
		group.Wait()
		if _, err := d.get(t.Context(), "a", draw); err != nil || drawn.Load() != 1 {
			t.Errorf("drawn %d times, %v; want once", drawn.Load(), err)
		}
	})
}

// TestRenderQueue checks that a full queue rejects requests until a waiting one is canceled.
func TestRenderQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const running, waiting = 2, 3
		d := newImageCache(running, waiting, 1<<20)
		draw, drawn, release := hold()
		var group sync.WaitGroup
		leave := map[int]context.CancelFunc{}
		request := func(i int, want error) {
			ctx, cancel := context.WithCancel(t.Context())
			leave[i] = cancel
			group.Go(func() {
				if _, err := d.get(ctx, fmt.Sprint(i), draw); !errors.Is(err, want) {
					t.Errorf("image %d: error = %v, want %v", i, err, want)
				}
			})
			synctest.Wait()
		}
		for i := range running + waiting - 1 {
			request(i, nil)
		}
		const canceled, next = 98, 99
		request(canceled, context.Canceled)
		if _, err := d.get(t.Context(), "one more", draw); cola.CodeOf(err) != cola.CodeUnavailable {
			t.Errorf("full queue: error = %v, want unavailable", err)
		}
		leave[canceled]()
		synctest.Wait()
		request(next, nil)
		if drawn.Load() != running {
			t.Errorf("%d concurrent drawings, want %d", drawn.Load(), running)
		}
		release()
		group.Wait()
		synctest.Wait()
		if drawn.Load() != running+waiting || len(d.queue.places) != 0 || len(d.queue.slots) != 0 || len(d.pending) != 0 {
			t.Errorf("%d drawn, %d places and %d slots in use, %d pending", drawn.Load(), len(d.queue.places),
				len(d.queue.slots), len(d.pending))
		}
	})
}

// TestRenderAfterDisconnect checks that a drawing that has started continues after its request is
// canceled, and serves a later request.
func TestRenderAfterDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newImageCache(1, 1, 1<<20)
		draw, drawn, release := hold()
		first, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := d.get(first, "a", draw); !errors.Is(err, context.Canceled) {
				t.Errorf("first request: error = %v, want context.Canceled", err)
			}
		})
		synctest.Wait()
		leave()
		group.Wait()
		group.Go(func() {
			if _, err := d.get(t.Context(), "a", draw); err != nil {
				t.Errorf("second request: error = %v", err)
			}
		})
		synctest.Wait()
		release()
		group.Wait()
		if drawn.Load() != 1 {
			t.Errorf("drawn %d times, want once", drawn.Load())
		}
	})
}

func TestFailedRender(t *testing.T) {
	d := newImageCache(1, 1, 1<<20)
	if _, err := d.get(t.Context(), "a", func() ([]byte, error) { panic("drawing failed") }); err == nil {
		t.Error("get succeeded after a panic, want an error")
	}
	if content, err := d.get(t.Context(), "a", func() ([]byte, error) { return []byte("b"), nil }); err != nil ||
		string(content) != "b" {
		t.Errorf("after a panic: get = %q, %v; want b", content, err)
	}
}

func TestImageCacheEviction(t *testing.T) {
	k := newByteCache(10 * (1000 + entryOverhead))
	for i := range 100 {
		k.add(fmt.Sprint(i), bytes.Repeat([]byte{1}, 1000))
	}
	k.add("small", nil)
	k.add("too large", make([]byte, k.maxBytes))
	_, oldest := k.get("0")
	_, newest := k.get("99")
	_, large := k.get("too large")
	if oldest || !newest || large || k.bytes > k.maxBytes || k.lru.Len() != 10 {
		t.Errorf("oldest = %t, newest = %t, large = %t, %d bytes of %d in %d entries; want false, true, false", oldest, newest, large, k.bytes,
			k.maxBytes, k.lru.Len())
	}
}
