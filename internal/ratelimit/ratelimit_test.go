package ratelimit

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimiter(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := New[string](3, 2*time.Second, 10, func() time.Time { return now })
	take := func(key string, n int, want time.Duration) {
		t.Helper()
		if got := l.Take(key, n); got != want {
			t.Errorf("Take(%s, %d) = %v, want %v", key, n, got, want)
		}
	}
	take("a", 1, 0)
	take("a", 2, 0)
	take("a", 1, 2*time.Second)
	take("a", 1, 2*time.Second) // a rejected call takes no tokens
	take("a", 3, 6*time.Second)
	take("b", 3, 0)
	now = now.Add(2 * time.Second)
	take("a", 1, 0)
	take("a", 1, 2*time.Second)
	now = now.Add(time.Hour)
	take("a", 3, 0)
	take("a", 1, 2*time.Second)
}

func TestReturn(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := New[string](3, 2*time.Second, 10, func() time.Time { return now })
	if l.Take("a", 3) != 0 || l.Take("a", 1) == 0 {
		t.Fatal("Take(3) failed with a full bucket")
	}
	l.Return("a", 2)
	if l.Take("a", 3) != 2*time.Second || l.Take("a", 2) != 0 {
		t.Error("Take(2) failed after Return(2)")
	}
	l.Return("a", 3)
	l.Return("a", 3)
	if l.Take("a", 3) != 0 || l.Take("a", 1) != 2*time.Second {
		t.Error("bucket has more tokens than its burst")
	}
}

// TestMemory checks that the number of buckets is bounded.
func TestMemory(t *testing.T) {
	l := New[int](1, time.Hour, 4, time.Now)
	for key := range 5 {
		if l.Take(key, 1) != 0 {
			t.Errorf("Take(%d, 1) != 0, want no wait for a new key", key)
		}
	}
	if l.buckets.Len() != 4 || l.Take(0, 1) != 0 || l.Take(4, 1) == 0 {
		t.Errorf("%d buckets, want 4 with the least recently used one evicted", l.buckets.Len())
	}
}

// TestConcurrent checks that exactly the burst succeeds when many callers use a new key.
func TestConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New[string](50, time.Hour, 4, time.Now)
		var passed atomic.Int64
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				if l.Take("a", 1) == 0 {
					passed.Add(1)
				}
			})
		}
		all.Wait()
		if passed.Load() != 50 {
			t.Errorf("%d calls succeeded, want 50", passed.Load())
		}
	})
}

// TestOverload checks that rejected calls have no effect: the rate is exact, and the wait
// afterward is for one token only.
func TestOverload(t *testing.T) {
	const burst, every, callers = 10, 5 * time.Millisecond, 64
	l := New[string](burst, every, 4, time.Now)
	var granted atomic.Int64
	var all sync.WaitGroup
	started := time.Now()
	for range callers {
		all.Go(func() {
			for time.Since(started) < 300*time.Millisecond {
				if wait := l.Take("a", 1); wait == 0 {
					granted.Add(1)
				} else if wait > every {
					t.Errorf("Take(a, 1) = %v, want at most %v", wait, every)
					return
				}
			}
		})
	}
	all.Wait()
	limit := burst + int64(time.Since(started)/every) + 1
	if n := granted.Load(); n > limit || n < burst {
		t.Errorf("%d calls succeeded, want %d to %d", n, burst, limit)
	}
	if wait := l.Take("a", 1); wait > every {
		t.Errorf("after the overload: Take(a, 1) = %v, want at most %v", wait, every)
	}
}
