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

func destinationLimit(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	create := func(n store.NewDestination) error {
		n.MaxDestinations = 3 // including the account's own
		_, err := st.CreateDestination(t.Context(), n)
		return err
	}
	search := mustCreate(t, st, newSearch(a.ID, 1))
	mustDo(t, create(newHook(a.ID, hook+"1")))
	mustDo(t, create(forSearch(newMailbox(a.ID, "x@example.com"), search)))
	if err := create(newHook(a.ID, hook+"3")); !errors.Is(err, store.ErrLimit) {
		t.Errorf("CreateDestination over the limit: error = %v, want ErrLimit", err)
	}
	mustDo(t, create(newHook(b.ID, hook+"3")))
	mustDo(t, st.DeleteDestination(t.Context(), a.ID, mustOwn(t, st, a.ID).UUID))
	mustDo(t, create(newHook(a.ID, hook+"3")))
	checkEqual(t, "number of destinations", 3, len(mustDestinations(t, st, a.ID)))
}

// addUntilLimit adds webhooks, starting at number n, up to the limit, and returns how many it
// added.
func addUntilLimit(
	ctx context.Context, st store.Store, account cola.AccountID, n, maxDestinations int,
) (added int, err error) {
	for ; ; added++ {
		next := newHook(account, fmt.Sprint(hook, n+added))
		next.MaxDestinations = maxDestinations
		_, err := st.CreateDestination(ctx, next)
		switch {
		case errors.Is(err, store.ErrLimit):
			return added, nil
		case err != nil:
			return added, fmt.Errorf("create destination: %w", err)
		}
	}
}

// processDestinationLimit is the limit in tests with several processes. It is high enough that they
// all add destinations at the same time.
const processDestinationLimit = 120

// childAdd adds destinations to the account up to the limit and prints how many it added.
func childAdd(ctx context.Context, st store.Store, out io.Writer) error {
	account, err := st.AccountByEmail(ctx, chargedAccount)
	if err != nil {
		return err
	}
	added, err := addUntilLimit(ctx, st, account.ID, 1_000*os.Getpid(), processDestinationLimit)
	fmt.Fprintf(out, "added %d\n", added)
	return err
}

// addAcrossProcesses checks that two processes, and goroutines of a third, together add exactly as
// many destinations as the limit allows.
func addAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	total := runTogether(t, dsn, "add", "added %d", func(i int) (int, error) {
		return addUntilLimit(t.Context(), db, account.ID, 1_000*i, processDestinationLimit)
	})
	if stored := mustDestinations(t, db, account.ID); len(stored) != processDestinationLimit ||
		total != processDestinationLimit-1 {
		t.Errorf("%d destinations added, %d stored; want %d including the account's own", total, len(stored),
			processDestinationLimit)
	}
}

func destinationLimitConcurrent(t *testing.T, st store.Store, _ *clock) {
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
	if stored := mustDestinations(t, st, a.ID); len(stored) != cola.MaxDestinations ||
		added.Load() != cola.MaxDestinations-1 {
		t.Errorf("%d destinations added, %d stored; want %d including the account's own", added.Load(), len(stored),
			cola.MaxDestinations)
	}
}
