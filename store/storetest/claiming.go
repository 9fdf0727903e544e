package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// sharedSearches is how many searches processes share that run them: enough for all to be at it together.
const sharedSearches = 300

// runUntilDone claims and records until no search is due, calls told with how many runs it has recorded so far, and returns how many
// that are.
func runUntilDone(ctx context.Context, st store.Store, hold time.Duration, told func(n int)) (recorded int, err error) {
	for {
		claimed, err := st.ClaimDue(ctx, duePast, 4, hold)
		if err != nil || len(claimed) == 0 {
			return recorded, err
		}
		runs := make([]store.RunRecord, len(claimed))
		for i, d := range claimed {
			runs[i] = store.RunRecord{Due: d, Mark: store.Mark{At: duePast}, Next: cola.TimestampOf(duePast.Add(week)),
				From: cola.DateOf(d.Mark.At), To: cola.DateOf(duePast), Matches: []store.RunMatch{{TTBID: firstID}}}
		}
		outcomes, err := st.RecordRuns(ctx, runs)
		if err != nil {
			return recorded, err
		}
		for _, o := range outcomes {
			if !o.Recorded || o.New != 1 {
				return recorded, fmt.Errorf("a run whose search nobody else can have was left out, or its label is not new: %+v", o)
			}
			recorded++
		}
		told(recorded)
	}
}

func mustShareSearches(t *testing.T, db Database) cola.AccountID {
	t.Helper()
	account := roomyAccount(t, db, chargedAccount)
	for n := range sharedSearches {
		mustCreate(t, db, dueSearch(account.ID, n, epoch))
	}
	return account.ID
}

// mustHaveRunOnce holds a database to one run of every search.
func mustHaveRunOnce(t *testing.T, db Database, account cola.AccountID) {
	t.Helper()
	for _, s := range mustSearches(t, db, account) {
		list, total, err := db.RunsOf(t.Context(), account, s.UUID, store.Slice{Limit: 10})
		if must(t, list, err); total != 1 || list[0].MatchCount != 1 {
			t.Errorf("%s has run %d times: %+v", s.Name, total, list)
		}
	}
}

// running is the running of searches, as work that processes share.
var running = sharedWork{
	jobs: sharedSearches, work: "run", briefly: "run briefly", claim: "claim",
	share: mustShareSearches, done: mustHaveRunOnce, untilDone: runUntilDone,
	claimAll: func(ctx context.Context, st store.Store) (int, error) {
		claimed, err := st.ClaimDue(ctx, duePast, everyID, shortHold)
		return len(claimed), err
	},
	left: func(ctx context.Context, st store.Store) (bool, error) {
		due, err := st.NextDue(ctx)
		return !due.After(duePast), err
	},
}
