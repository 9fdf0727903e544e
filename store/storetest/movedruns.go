package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// furnishRuns has one of two searches run, and the other held for a run. A label has arrived after the mark of both, one
// before, and one was history.
func furnishRuns(t *testing.T, st store.Store) {
	t.Helper()
	claimed, err := st.ClaimDue(t.Context(), duePast, 2, anHour)
	if len(must(t, claimed, err)) != 2 {
		t.Fatal("claimed", names(claimed), "want two")
	}
	run := runOf(t, st, claimed[0], 1, -2)
	run.Matches[0].Met = cola.FilterSetOf("brand_name", "container_jug")
	run.Manual, run.MaxNamed = true, 1
	mustRecord(t, st, run)
	mustKeep(t, st, dated(8_000, dayOne))
	mustWrite(t, st, store.History, dated(8_001, dayOne))
	mustWrite(t, st, store.Commit, label(8_001))
}

// movedRunsDoTheSame: what had arrived after a mark still has, what arrives in the new store has after every mark, and the runs go on.
func movedRunsDoTheSame(t *testing.T, from, to store.Store) {
	want, _ := arrivals(t, from, 0)
	got, upto := arrivals(t, to, 0)
	same(t, "arrivals", want, got)
	for id, at := range got {
		if at > upto {
			t.Errorf("label %s has arrived at %d, after %d, up to which all is told", id, at, upto)
		}
	}
	claimed, err := to.ClaimDue(t.Context(), duePast.Add(2*week), everyID, anHour)                                          // nobody holds any
	claimed = slices.DeleteFunc(must(t, claimed, err), func(d store.DueSearch) bool { return d.Search.Name == "search 3" }) // is new
	original, err := from.ClaimDue(t.Context(), duePast.Add(2*week), everyID, anHour)
	held := must(t, original, err)
	if len(claimed) != 2 || len(held) != 1 {
		t.Fatal("claimed", names(claimed), "and", names(held), "want both, and the one that nobody holds")
	}
	same(t, "the one that was run", held, withHolds(claimed[1:], held))

	mustWrite(t, to, store.Commit, dated(8_001, dayOne), dated(8_002, dayOne))
	after, upto := arrivals(t, to, 0)
	for _, d := range claimed {
		if at := after[firstID+8_000]; at <= d.Mark.Revision {
			t.Errorf("a label has arrived at %d, the mark of %s is %d", at, d.Search.Name, d.Mark.Revision)
		}
		if at := after[firstID+8_002]; at <= d.Mark.Revision || at > upto {
			t.Errorf("a label arrives at %d, the mark of %s is %d, told is %d", at, d.Search.Name, d.Mark.Revision, upto)
		}
	}
	if at := after[firstID]; at == 0 || at > claimed[1].Mark.Revision {
		t.Errorf("a label has arrived at %d, the mark of the search that was run after it is %d", at, claimed[1].Mark.Revision)
	}
	if at, arrived := after[firstID+8_001]; arrived {
		t.Errorf("a label that was history arrives at %d", at)
	}
	run := runOf(t, to, claimed[1], 1, 2, 3)
	run.Mark.Revision = upto
	if o := mustRecord(t, to, run); o.New != 1 {
		t.Errorf("%d labels are new to a search that was moved, want one: %+v", o.New, o)
	}
	list, _, err := to.RunsOf(t.Context(), claimed[1].Account, claimed[1].Search.UUID, store.Slice{Limit: 10})
	if runs := must(t, list, err); len(runs) != 2 || runs[0].ID <= runs[1].ID {
		t.Errorf("runs %+v, want the moved one and a newer one with a higher number", runs)
	}
}

// movedToSlowClock: a store whose clock lags behind still begins after every mark and arrival.
func movedToSlowClock(t *testing.T, st store.Store, c *clock, another func() store.Store) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustKeep(t, st, dated(1, dayOne))
	mustCreate(t, st, newSearch(a.ID, 1))
	mark := mustClaimOne(t, st).Mark
	c.advance(time.Second)
	mustKeep(t, st, dated(2, dayOne))
	last := mustRevision(t, st)
	c.advance(-24 * time.Hour)
	to := another()
	if err := to.Fill(t.Context(), store.Items(t.Context(), st)); err != nil {
		t.Fatal(err)
	}
	same(t, "the revision it begins with", last+1, mustRevision(t, to))
	d := mustClaimOne(t, to)
	same(t, "mark", mark, d.Mark)
	mustRecord(t, to, runOf(t, to, d, 2))
	mustKeep(t, to, dated(3, dayOne))
	at, _ := arrivals(t, to, 0)
	if at[firstID+2] <= mark.Revision || at[firstID+3] <= last+1 {
		t.Errorf("labels arrived at %v; the first mark is %d, the second %d", at, mark.Revision, last+1)
	}
}
