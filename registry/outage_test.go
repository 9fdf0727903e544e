package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/store"
)

// silent is a store that accepts every request and never responds, like a frozen server.
type silent struct {
	Store
	store.Ledger
	reads *atomic.Int64 // reads of the latest imports
}

func (silent) Cola(ctx context.Context, _ cola.TTBID) (cola.Cola, error) {
	<-ctx.Done()
	return cola.Cola{}, ctx.Err()
}

func (silent) ImageFile(ctx context.Context, _ string) (store.ImageFile, error) {
	<-ctx.Done()
	return store.ImageFile{}, ctx.Err()
}

// DailyUsage and MonthlyUsage are in both embedded interfaces, so silent must choose one.
func (s silent) DailyUsage(ctx context.Context, id cola.AccountID, first, last cola.Date) ([]store.DayUsage, error) {
	return s.Ledger.DailyUsage(ctx, id, first, last)
}

func (s silent) MonthlyUsage(ctx context.Context, id cola.AccountID, first, last cola.Period) ([]store.MonthUsage, error) {
	return s.Ledger.MonthlyUsage(ctx, id, first, last)
}

func (silent) Revision(ctx context.Context) (cola.Revision, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func (s silent) LastImports(ctx context.Context) ([]cola.LastImport, error) {
	if s.reads != nil {
		s.reads.Add(1)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) Settle(ctx context.Context, _ store.Batch, _ func(time.Time, []store.AccountState) []store.Entry) error {
	<-ctx.Done()
	return fmt.Errorf("%w: %v", store.ErrUnavailable, ctx.Err())
}

func (silent) Void(ctx context.Context, _ store.BatchID, _ []store.Entry) error {
	<-ctx.Done()
	return fmt.Errorf("%w: %v", store.ErrUnavailable, ctx.Err())
}

// newSilent returns a service whose index was built before its store stopped responding.
func newSilent(t *testing.T) *Service {
	t.Helper()
	ledger := quota.New(silent{}, quota.Options{})
	t.Cleanup(ledger.Close)
	s := New(Options{Store: silent{}, Ledger: ledger, Now: time.Now})
	s.ready.Store(true)
	return s
}

// TestUnresponsiveStore checks that reading a label or an image from an unresponsive store fails
// after three seconds, or earlier if the context ends, and returns a retry time.
func TestUnresponsiveStore(t *testing.T) {
	for name, request := range map[string]func(context.Context, *Service) error{
		"a label": func(ctx context.Context, s *Service) error {
			_, _, err := s.Cola(ctx, cola.Caller{Account: 7}, "11054001000049", "")
			return err
		},
		"an image": func(ctx context.Context, s *Service) error {
			s.ready.Store(false) // otherwise the index would report that the label does not exist
			_, _, err := s.DrawableImage(ctx, "11054001000049-0")
			return err
		},
		"an image file": func(ctx context.Context, s *Service) error {
			s.ready.Store(false)
			_, err := s.ImageFile(ctx, "11054001000049-0")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSilent(t)
				start := time.Now()
				err := request(t.Context(), s)
				var refusal *cola.Error
				if !errors.As(err, &refusal) || refusal.Code != cola.CodeUnavailable || refusal.RetryAfter <= 0 {
					t.Errorf("error = %v, want unavailable with Retry-After", err)
				}
				if took := time.Since(start); took != 3*time.Second {
					t.Errorf("returned after %v, want 3s", took)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := request(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("canceled request: error = %v, want context.DeadlineExceeded", err)
				}
			})
		})
	}
}

// TestImportsUnresponsiveStore checks that concurrent callers share one read of the latest imports,
// that each stops waiting when its context ends (after one second for a metrics collection), and
// that a failure is cached for importsInterval.
func TestImportsUnresponsiveStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSilent(t)
		var reads atomic.Int64
		s.imports.store = silent{reads: &reads}
		start := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := s.imports.last(t.Context()); !errors.Is(err, store.ErrUnavailable) || time.Since(start) != importsTimeout {
					t.Errorf("error = %v after %v, want unavailable after %v", err, time.Since(start), importsTimeout)
				}
			})
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if _, err := s.imports.last(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
				t.Errorf("canceled request: error = %v after %v, want context.DeadlineExceeded after 2s", err, time.Since(start))
			}
		})
		wg.Go(func() {
			newImportCollector(s).Collect(nil)
			if took := time.Since(start); took != time.Second {
				t.Errorf("Collect took %v, want 1s", took)
			}
		})
		wg.Wait()
		time.Sleep(importsInterval - time.Nanosecond)
		if _, err := s.imports.last(t.Context()); !errors.Is(err, store.ErrUnavailable) || reads.Load() != 1 {
			t.Errorf("error = %v after %d reads, want the first failure", err, reads.Load())
		}
		time.Sleep(time.Nanosecond)
		if _, err := s.imports.last(t.Context()); !errors.Is(err, store.ErrUnavailable) || reads.Load() != 2 {
			t.Errorf("error = %v after %d reads, want another read", err, reads.Load())
		}
	})
}

// TestFollowerUnresponsiveStore checks that the follower times out as quickly as a
// request.
func TestFollowerUnresponsiveStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFollower(newSilent(t), FollowerOptions{})
		start := time.Now()
		if _, err := f.latestRevision(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("error = %v after %v, want context.DeadlineExceeded after 3s", err, time.Since(start))
		}
	})
}

// TestReadsWithoutCommits checks that reads fail immediately once the ledger has found that the
// store does not commit.
func TestReadsWithoutCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSilent(t)
		caller := cola.Caller{Account: 7}
		start := time.Now()
		if _, err := s.Admit(t.Context(), caller); cola.CodeOf(err) != cola.CodeUnavailable || time.Since(start) != 5*time.Second {
			t.Fatalf("Admit = %v after %v, want unavailable after 5s", err, time.Since(start))
		}
		start = time.Now()
		if _, _, err := s.Cola(t.Context(), caller, "11054001000049", ""); cola.CodeOf(err) != cola.CodeUnavailable || time.Since(start) != 0 {
			t.Errorf("Cola = %v after %v, want unavailable immediately", err, time.Since(start))
		}
	})
}

// admittingStore is a store whose ledger admits every request and whose other methods never
// respond.
type admittingStore struct{ silent }

func (admittingStore) Settle(_ context.Context, b store.Batch, decide func(time.Time, []store.AccountState) []store.Entry) error {
	var states []store.AccountState
	for _, id := range b.Accounts {
		state := store.AccountState{Account: id, Exists: true, Tier: cola.TierPro, Valid: map[cola.Credential]bool{},
			Keys: map[cola.Credential]store.KeyAccess{}}
		for _, c := range b.Credentials {
			state.Valid[c] = true
			state.Keys[c] = store.KeyAccess{Scopes: cola.Scopes()}
		}
		states = append(states, state)
	}
	decide(time.Now(), states)
	return nil
}

func (admittingStore) CreateSavedSearch(ctx context.Context, _ store.NewSavedSearch) (cola.SavedSearch, bool, error) {
	<-ctx.Done()
	return cola.SavedSearch{}, false, ctx.Err()
}

// TestSaveUnresponsiveStore checks that saving times out as quickly as a charge.
func TestSaveUnresponsiveStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := quota.New(admittingStore{}, quota.Options{})
		t.Cleanup(ledger.Close)
		s := New(Options{Store: admittingStore{}, Ledger: ledger, Now: time.Now})
		caller := cola.Caller{Account: 7, Credential: cola.Credential{Kind: cola.CredentialKey, ID: 1}, Scopes: cola.Scopes()}
		search := cola.SavedSearchParams{Name: "n", Filters: &cola.SavedSearchFilters{}}
		if _, _, err := s.CreateSavedSearch(t.Context(), caller, search); cola.CodeOf(err) != cola.CodeUnavailable {
			t.Errorf("before the index is built: error = %v, want unavailable", err)
		}
		s.ready.Store(true)
		start := time.Now()
		_, state, err := s.CreateSavedSearch(t.Context(), caller, search)
		if cola.CodeOf(err) != cola.CodeUnavailable || !state.Known() || time.Since(start) != 5*time.Second {
			t.Errorf("error = %v after %v, want unavailable after 5s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := s.CreateSavedSearch(ctx, caller, search); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("canceled request: error = %v, want context.DeadlineExceeded", err)
		}
	})
}
