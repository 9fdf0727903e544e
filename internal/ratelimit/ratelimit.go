// Package ratelimit provides per-key token buckets in bounded memory.
package ratelimit

import (
	"math"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/colaregistry/colaregistry/cola"
)

// Limiter holds a token bucket for each key. It is safe for concurrent use.
type Limiter[K comparable] struct {
	every rate.Limit
	burst int
	now   cola.Clock

	mu      sync.Mutex
	buckets *lru.Cache[K, *rate.Limiter]
}

// New returns a Limiter with buckets that hold burst tokens and regain one per interval. It stores
// buckets for at most the given number of keys. An evicted key, the least recently used one, starts
// over with a full bucket. All arguments must be positive.
func New[K comparable](burst int, every time.Duration, keys int, now cola.Clock) *Limiter[K] {
	buckets, err := lru.New[K, *rate.Limiter](keys)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return &Limiter[K]{every: rate.Every(every), burst: burst, now: now, buckets: buckets}
}

// Take takes n tokens from a key's bucket and returns 0. If the bucket has fewer, Take leaves it
// unchanged and returns how long to wait for n. n must not exceed the burst.
func (l *Limiter[K]) Take(key K, n int) (wait time.Duration) {
	// Read the clock under the lock: if calls reached a bucket out of order, it would regain the
	// same tokens twice.
	l.mu.Lock()
	defer l.mu.Unlock()
	now, bucket := l.now(), l.bucket(key)
	if bucket.AllowN(now, n) {
		return 0
	}
	missing := float64(n) - bucket.TokensAt(now)
	return max(1, time.Duration(math.Ceil(missing/float64(l.every)*float64(time.Second))))
}

// Return gives back n tokens that were taken. A bucket never holds more than the burst.
func (l *Limiter[K]) Return(key K, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket(key).AllowN(l.now(), -n) // the bucket is capped at the burst on the next access
}

func (l *Limiter[K]) bucket(key K) *rate.Limiter {
	if known, ok := l.buckets.Get(key); ok {
		return known
	}
	full := rate.NewLimiter(l.every, l.burst)
	l.buckets.Add(key, full)
	return full
}
