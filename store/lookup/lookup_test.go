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

// fake is a database with keys and sessions that counts its queries. It takes its time, as a real one does.
type fake struct {
	store.Store
	mu       sync.Mutex
	keys     map[store.KeyHash]store.Key
	sessions map[string]bool // whether they hold
	batches  []int           // sizes
	reads    int
	takes    time.Duration
	err      error
}

// inTime runs a test on a made-up clock, and lets the pauses after its last batches pass.
func inTime(t *testing.T, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		test(t)
		time.Sleep(batchInterval)
	})
}

func newFake() *fake {
	return &fake{keys: map[store.KeyHash]store.Key{}, sessions: map[string]bool{}}
}

// KnownSecrets answers with the state at the start of the query, which is the least a database does.
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

// TestFloodCostsFewQueries sends wrong keys from 10,000 connections for a second: the number of queries follows from the
// time alone, and a valid key that this process has never seen passes among them.
func TestFloodCostsFewQueries(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFake()
		f.takes = 2 * time.Millisecond
		f.keys[hash(-1)] = store.Key{ID: 7}
		metrics := prometheus.NewRegistry()
		s := New(f, metrics)
		const connections, lasts = 10_000, time.Second
		end := time.Now().Add(lasts)
		var flood sync.WaitGroup
		for c := range connections {
			flood.Go(func() {
				for n := 0; time.Now().Before(end); n++ {
					if _, err := s.KeyByHash(t.Context(), hash(c+n*connections)); !errors.Is(err, store.ErrNotFound) {
						t.Errorf("a wrong key: %v", err)
					}
				}
			})
		}
		time.Sleep(lasts / 2)
		begun := time.Now()
		if key, err := s.KeyByHash(t.Context(), hash(-1)); err != nil || key.ID != 7 {
			t.Errorf("a valid key in the flood: %+v, %v", key, err)
		}
		if waited := time.Since(begun); waited > (connections/maxBatch+2)*batchInterval {
			t.Errorf("a valid key waited for %v", waited)
		}
		flood.Wait()
		if most := int(lasts/batchInterval) + connections/maxBatch + 2; len(f.batches) > most || f.reads != 1 {
			t.Errorf("%d batches and %d reads in %v", len(f.batches), f.reads, lasts)
		}
		for _, size := range f.batches {
			if size > maxBatch {
				t.Fatalf("a batch asks about %d keys", size)
			}
		}
		queries := testutil.ToFloat64(s.gates[store.SecretKey].queries)
		if int(queries) != len(f.batches) {
			t.Errorf("%v queries were counted, %d made", queries, len(f.batches))
		}
	})
}

// TestFoundSecretsAreReadDirectly checks that a known secret costs one query and does not wait.
func TestFoundSecretsAreReadDirectly(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFake()
		f.sessions["a"] = true
		s := New(f, nil)
		for range 5 {
			if data, err := s.Session(t.Context(), "a"); err != nil || string(data) != "a" {
				t.Fatalf("%q, %v", data, err)
			}
		}
		if len(f.batches) != 1 || f.reads != 5 {
			t.Errorf("%d batches, %d reads", len(f.batches), f.reads)
		}
	})
}

// TestNewSecretsWorkAtOnce makes a key right after it was refused, also while a query about it is under way.
func TestNewSecretsWorkAtOnce(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFake()
		f.takes = 5 * time.Millisecond
		s := New(f, nil)
		for n := range 100 {
			early := make(chan error)
			go func() {
				_, err := s.KeyByHash(t.Context(), hash(n))
				early <- err
			}()
			synctest.Wait() // the query has begun, without the key
			f.set(func() { f.keys[hash(n)] = store.Key{ID: int64(n)} })
			if _, err := s.KeyByHash(t.Context(), hash(n)); err != nil {
				t.Fatalf("key %d, just made: %v", n, err)
			}
			if err := <-early; err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("key %d before it was made: %v", n, err)
			}
			time.Sleep(batchInterval)
		}
	})
}

// TestVoidSecrets checks that a secret with a row that does not hold any more costs a query a second.
func TestVoidSecrets(t *testing.T) {
	inTime(t, func(t *testing.T) {
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
			t.Errorf("%d batches and %d reads in 2.5 s", len(f.batches), f.reads)
		}
		f.set(func() { f.sessions["a"] = true })
		time.Sleep(voidFor)
		if _, err := s.Session(t.Context(), "a"); err != nil {
			t.Errorf("once it holds again: %v", err)
		}
	})
}

// TestSameSecretIsAskedOnce checks that requests with one secret share a place in a batch.
func TestSameSecretIsAskedOnce(t *testing.T) {
	inTime(t, func(t *testing.T) {
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
		if total > 2 { // one may be on its way when the others come
			t.Errorf("the database was asked %d times about one key", total)
		}
	})
}

// TestGoneRequestsAreDropped checks that requests canceled while waiting cause no lookup.
func TestGoneRequestsAreDropped(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFake()
		f.takes = time.Second
		s := New(f, nil)
		go func() { _, _ = s.KeyByHash(t.Context(), hash(0)) }()
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for n := range 5_000 {
			all.Go(func() {
				if _, err := s.KeyByHash(gone, hash(n+1)); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		leave()
		all.Wait()
		if _, err := s.KeyByHash(t.Context(), hash(9_999)); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
		if len(f.batches) != 2 || f.batches[1] != 1 {
			t.Errorf("batches of %v", f.batches)
		}
	})
}

// TestFailedLookups checks that lookups recover after the database failed or hung.
func TestFailedLookups(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFake()
		f.keys[hash(1)] = store.Key{ID: 1}
		f.err = store.ErrUnavailable
		s := New(f, nil)
		if _, err := s.KeyByHash(t.Context(), hash(1)); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("without a database: %v", err)
		}
		f.set(func() { f.err, f.takes = nil, time.Hour })
		if _, err := s.KeyByHash(t.Context(), hash(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a silent database: %v", err)
		}
		f.set(func() { f.takes = 0 })
		if _, err := s.KeyByHash(t.Context(), hash(1)); err != nil {
			t.Errorf("with a database: %v", err)
		}
	})
}
