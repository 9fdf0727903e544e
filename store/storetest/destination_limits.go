package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func destinationsAreLimited(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	limited := func(n store.NewDestination) error {
		n.MaxDestinations = 3 // including the account's own
		_, err := st.CreateDestination(t.Context(), n)
		return err
	}
	search := mustCreate(t, st, newSearch(a.ID, 1))
	mustDo(t, limited(newHook(a.ID, hook+"1")))
	mustDo(t, limited(forSearch(newMailbox(a.ID, "x@example.com"), search)))
	if err := limited(newHook(a.ID, hook+"3")); !errors.Is(err, store.ErrLimit) {
		t.Errorf("one more: %v, want ErrLimit", err)
	}
	mustDo(t, limited(newHook(b.ID, hook+"3")))
	mustDo(t, st.DeleteDestination(t.Context(), a.ID, mustOwn(t, st, a.ID).UUID))
	mustDo(t, limited(newHook(a.ID, hook+"3")))
	same(t, "destinations", 3, len(mustDestinations(t, st, a.ID)))
}

// addUntilLimit adds webhooks, starting at number n, until the limit, and returns how many it has
// added.
func addUntilLimit(ctx context.Context, st store.Store, account cola.AccountID, n, maxDestinations int) (added int, err error) {
	for ; ; added++ {
		next := newHook(account, fmt.Sprint(hook, n+added))
		next.MaxDestinations = maxDestinations
		_, err := st.CreateDestination(ctx, next)
		switch {
		case errors.Is(err, store.ErrLimit):
			return added, nil
		case err != nil:
			return added, fmt.Errorf("creation: %w", err)
		}
	}
}

// manyDestinations is the limit in tests with several processes, high enough for all of them to
// overlap.
const manyDestinations = 120

// childAdd adds destinations to the account until the limit and prints how many it has added.
func childAdd(ctx context.Context, st store.Store, out io.Writer) error {
	account, err := st.AccountByEmail(ctx, chargedAccount)
	if err != nil {
		return err
	}
	added, err := addUntilLimit(ctx, st, account.ID, 1_000*os.Getpid(), manyDestinations)
	fmt.Fprintf(out, "added %d\n", added)
	return err
}

// addTogether checks that two processes, and goroutines of a third, together add exactly as many
// destinations as the limit allows.
func addTogether(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	total := together(t, place, "add", "added %d", func(i int) (int, error) { return addUntilLimit(t.Context(), db, account.ID, 1_000*i, manyDestinations) })
	if kept := mustDestinations(t, db, account.ID); len(kept) != manyDestinations || total != manyDestinations-1 {
		t.Errorf("%d destinations are kept, %d were added; want %d with the account's own", len(kept), total, manyDestinations)
	}
}

func destinationsAreLimitedAtOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	var added atomic.Int64
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			n, err := addUntilLimit(t.Context(), st, a.ID, 100*i, cola.MaxDestinations)
			if err != nil {
				t.Error(err)
			}
			added.Add(int64(n))
		})
	}
	wg.Wait()
	if kept := mustDestinations(t, st, a.ID); len(kept) != cola.MaxDestinations || added.Load() != cola.MaxDestinations-1 {
		t.Errorf("%d destinations were added, %d are kept; want %d with the account's own", added.Load(), len(kept), cola.MaxDestinations)
	}
}
