package lookup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/store"
)

// fake is a database that contains keys and sessions, and counts its queries.
type fake struct {
	store.Store
	mu       sync.Mutex
	keys     map[store.KeyHash]store.Key
	sessions map[string]bool // by name; true if the session is valid
	batches  []int           // size of each batch
	reads    int
	takes    time.Duration // duration of a batch query
	err      error
}

// withFakeClock runs a test on a fake clock, and waits out the pause after the last batch.
func withFakeClock(t *testing.T, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		test(t)
		time.Sleep(batchInterval)
	})
}

func newFake() *fake {
	return &fake{keys: map[store.KeyHash]store.Key{}, sessions: map[string]bool{}}
}

// KnownSecrets returns the state at the start of the query, the weakest guarantee that a database
// gives.
func (f *fake) KnownSecrets(ctx context.Context, kind store.SecretKind, names []string) (known []string, err error) {
	f.mu.Lock()
	f.batches = append(f.batches, len(names))
	for _, name := range names {
		switch kind {
		case store.SecretKey:
			if _, ok := f.keys[store.KeyHash([]byte(name))]; ok {
				known = append(known, name)
			}
		case store.SecretSession:
			if _, ok := f.sessions[name]; ok {
				known = append(known, name)
			}
		}
	}
	takes, err := f.takes, f.err
	f.mu.Unlock()
	select {
	case <-time.After(takes):
		return known, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *fake) KeyByHash(_ context.Context, hash store.KeyHash) (store.Key, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if k, ok := f.keys[hash]; ok {
		return k, nil
	}
	return store.Key{}, store.ErrNotFound
}

func (f *fake) Session(_ context.Context, name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if f.sessions[name] {
		return []byte(name), nil
	}
	return nil, store.ErrNotFound
}

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func hash(n int) (h store.KeyHash) {
	copy(h[:], fmt.Sprint("key ", n))
	return h
}

// TestLookupFlood sends wrong keys from 10,000 connections for a second. It checks that the number
// of queries depends only on the elapsed time, and that a valid key that this process has never
// seen is found.
func TestLookupFlood(t *testing.T) {
	withFakeClock(t, func(t *testing.T) {
		f := newFake()
		f.takes = 2 * time.Millisecond
		f.keys[hash(-1)] = store.Key{ID: 7}
		metrics := prometheus.NewRegistry()
		s := New(f, metrics)
		const connections, duration = 10_000, time.Second
		end := time.Now().Add(duration)
		var flood sync.WaitGroup
		for c := range connections {
			flood.Go(func() {
				for n := 0; time.Now().Before(end); n++ {
					if _, err := s.KeyByHash(t.Context(), hash(c+n*connections)); !errors.Is(err, store.ErrNotFound) {
						t.Errorf("KeyByHash(wrong key) error = %v, want ErrNotFound", err)
					}
				}
			})
		}
		time.Sleep(duration / 2)
		start := time.Now()
		if key, err := s.KeyByHash(t.Context(), hash(-1)); err != nil || key.ID != 7 {
			t.Errorf("KeyByHash(valid key) = %+v, %v; want ID 7, nil", key, err)
		}
		if waited := time.Since(start); waited > (connections/maxBatch+2)*batchInterval {
			t.Errorf("valid key waited %v, want at most %v", waited, (connections/maxBatch+2)*batchInterval)
		}
		flood.Wait()
		if most := int(duration/batchInterval) + connections/maxBatch + 2; len(f.batches) > most || f.reads != 1 {
			t.Errorf("%d batches, %d reads in %v; want at most %d, 1", len(f.batches), f.reads, duration, most)
		}
		for _, size := range f.batches {
			if size > maxBatch {
				t.Fatalf("batch with %d keys, want at most %d", size, maxBatch)
			}
		}
		queries := testutil.ToFloat64(s.gates[store.SecretKey].queries)
		if int(queries) != len(f.batches) {
			t.Errorf("queries metric = %v, want %d", queries, len(f.batches))
		}
	})
}

// TestKnownSecret checks that a secret is looked up in a batch only once. After that, requests with
// the secret query the database directly.
func TestKnownSecret(t *testing.T) {
	withFakeClock(t, func(t *testing.T) {
		f := newFake()
		f.sessions["a"] = true
		s := New(f, nil)
		for range 5 {
			if data, err := s.Session(t.Context(), "a"); err != nil || string(data) != "a" {
				t.Fatalf("Session = %q, %v; want a, nil", data, err)
			}
		}
		if len(f.batches) != 1 || f.reads != 5 {
			t.Errorf("%d batches, %d reads; want 1, 5", len(f.batches), f.reads)
		}
	})
}

// TestNewProcess looks up valid keys that this process has never seen, as after a restart. No
// lookup waits for another.
func TestNewProcess(t *testing.T) {
	withFakeClock(t, func(t *testing.T) {
		f := newFake()
		for i := range 100 {
			f.keys[hash(i)] = store.Key{ID: int64(i + 1)}
		}
		s := New(f, nil)
		start := time.Now()
		for i := range 100 {
			if key, err := s.KeyByHash(t.Context(), hash(i)); err != nil || key.ID != int64(i+1) {
				t.Fatalf("KeyByHash(key %d) = %+v, %v; want ID %d, nil", i, key, err, i+1)
			}
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("lookups waited %v, want 0", waited)
		}
	})
}

// TestKeyCreatedDuringLookup creates a key while a query for it is in progress. The next lookup
// finds it.
func TestKeyCreatedDuringLookup(t *testing.T) {
	withFakeClock(t, func(t *testing.T) {
		f := newFake()
		f.takes = 5 * time.Millisecond
		s := New(f, nil)
		for n := range 100 {
			early := make(chan error)
			go func() {
				_, err := s.KeyByHash(t.Context(), hash(n))
				early <- err
			}()
			synctest.Wait() // the query has started, without the key
			f.set(func() { f.keys[hash(n)] = store.Key{ID: int64(n)} })
			if _, err := s.KeyByHash(t.Context(), hash(n)); err != nil {
				t.Fatalf("new key %d: error = %v, want nil", n, err)
			}
			if err := <-early; err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("missing key %d: error = %v, want ErrNotFound", n, err)
			}
			time.Sleep(batchInterval)
		}
	})
}

// TestVoidSecrets checks that an existing but invalid secret costs one query per second.
func TestVoidSecrets(t *testing.T) {
	withFakeClock(t, func(t *testing.T) {
		f := newFake()
		f.sessions["a"] = false
		s := New(f, nil)
		for range 100 {
			if _, err := s.Session(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
			time.Sleep(25 * time.Millisecond)
		}
		if len(f.batches) > 3 || f.reads > 3 {
			t.Errorf("%d batches, %d reads in 2.5 s; want at most 3 each", len(f.batches), f.reads)
		}
		f.set(func() { f.sessions["a"] = true })
		time.Sleep(voidDuration)
		if _, err := s.Session(t.Context(), "a"); err != nil {
			t.Errorf("valid again: error = %v, want nil", err)
		}
	})
}

// TestConcurrentLookups checks that concurrent requests with the same secret share a place in a
// batch.
func TestConcurrentLookups(t *testing.T) {
	withFakeClock(t, func(t *testing.T) {
		f := newFake()
		s := New(f, nil)
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() { _, _ = s.KeyByHash(t.Context(), hash(1)) })
		}
		all.Wait()
		total := 0
		for _, size := range f.batches {
			total += size
		}
		if total > 2 { // one lookup may be in progress when the others arrive
			t.Errorf("key looked up %d times, want at most 2", total)
		}
	})
}

// TestCanceledRequests checks that requests canceled while waiting cause no lookup.
func TestCanceledRequests(t *testing.T) {
	withFakeClock(t, func(t *testing.T) {
		f := newFake()
		f.takes = time.Second
		s := New(f, nil)
		go func() { _, _ = s.KeyByHash(t.Context(), hash(0)) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for n := range 5_000 {
			all.Go(func() {
				if _, err := s.KeyByHash(ctx, hash(n+1)); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		if _, err := s.KeyByHash(t.Context(), hash(9_999)); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
		if len(f.batches) != 2 || f.batches[1] != 1 {
			t.Errorf("batch sizes = %v, want two batches with 1 key in the second", f.batches)
		}
	})
}

// TestFailedLookups checks that lookups recover after the database fails or hangs.
func TestFailedLookups(t *testing.T) {
	withFakeClock(t, func(t *testing.T) {
		f := newFake()
		f.keys[hash(1)] = store.Key{ID: 1}
		f.err = store.ErrUnavailable
		s := New(f, nil)
		if _, err := s.KeyByHash(t.Context(), hash(1)); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("database failed: error = %v, want ErrUnavailable", err)
		}
		f.set(func() { f.err, f.takes = nil, time.Hour })
		if _, err := s.KeyByHash(t.Context(), hash(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("database hung: error = %v, want DeadlineExceeded", err)
		}
		f.set(func() { f.takes = 0 })
		if _, err := s.KeyByHash(t.Context(), hash(1)); err != nil {
			t.Errorf("database recovered: error = %v, want nil", err)
		}
	})
}
