package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testArrivals(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"nothing has arrived where nothing is", nothingHasArrived},
		{"a label arrives with its first approval date", arrivesWithFirstDate},
		{"what has arrived is told as it is now", arrivedAsItIs},
		{"those of a day and later are told", arrivedByDay},
		{"history does not arrive", historyDoesNotArrive},
		{"a label arrives once", arrivesOnce},
		{"any sequence of writes arrives like the model", arrivesLikeTheModel},
		{"nothing arrives at a revision that was told, or before", nothingArrivesBehind},
		{"an error of the reader ends it", func(t *testing.T, st store.Store, _ *clock) {
			mustKeep(t, st, dated(1, dayOne), dated(2, dayOne))
			calls := 0
			_, err := st.ArrivedSince(t.Context(), 0, func(store.Arrival) error { calls++; return errEnough })
			if !errors.Is(err, errEnough) || calls != 1 {
				t.Errorf("ArrivedSince: %v after %d calls, want the reader's error after one", err, calls)
			}
			mustKeep(t, st, dated(3, dayOne)) // the store still accepts writes
		}},
	})
}

// dayOne is an approval date.
var dayOne = cola.NewDate(2026, time.November, 16)

// dated returns a small label with an approval date. A zero date means none.
func dated(n int, approved cola.Date) cola.Cola {
	c := label(n)
	c.ApprovalDate = approved
	return c
}

// mustWrite writes complete labels in one call.
func mustWrite(t tb, st store.Store, mode store.Mode, labels ...cola.Cola) []store.Outcome {
	t.Helper()
	outcomes, err := st.UpsertColas(context.Background(), wholes(labels...), mode)
	return must(t, outcomes, err)
}

// arrivals returns the revisions of arrived labels approved on or after a day, by ID, and the
// revision up to which the result is complete.
func arrivals(t tb, st store.Store, since cola.Date) (map[cola.TTBID]cola.Revision, cola.Revision) {
	t.Helper()
	at := map[cola.TTBID]cola.Revision{}
	upto, err := st.ArrivedSince(context.Background(), since, func(a store.Arrival) error {
		id := a.Label.Summary.TTBID
		if _, twice := at[id]; twice {
			return fmt.Errorf("label %s was told twice", id)
		}
		at[id] = a.At
		return nil
	})
	return at, must(t, upto, err)
}

// mustHaveArrived checks which labels have arrived, and at which revisions.
func mustHaveArrived(t tb, st store.Store, what string, want map[cola.TTBID]cola.Revision) {
	t.Helper()
	got, upto := arrivals(t, st, 0)
	same(t, what, want, got)
	same(t, what+": revision", mustRevision(t, st), upto)
}

func nothingHasArrived(t *testing.T, st store.Store, _ *clock) {
	mustHaveArrived(t, st, "in an empty store", map[cola.TTBID]cola.Revision{})
	has, err := st.HasColas(t.Context())
	if must(t, has, err) {
		t.Error("an empty store has labels")
	}
	mustWrite(t, st, store.DryRun, dated(1, dayOne))
	mustWrite(t, st, store.Commit, cola.Cola{ColaSummary: cola.ColaSummary{TTBID: firstID, ApprovalDate: dayOne}}) // rejected
	if has, err = st.HasColas(t.Context()); must(t, has, err) {
		t.Error("a store has labels that it was not to keep")
	}
	mustHaveArrived(t, st, "after a rehearsal", map[cola.TTBID]cola.Revision{})
	mustKeep(t, st, label(1))
	mustHaveArrived(t, st, "without a date", map[cola.TTBID]cola.Revision{})
	if has, err = st.HasColas(t.Context()); !must(t, has, err) {
		t.Error("a store with a label has none")
	}
}

func arrivesWithFirstDate(t *testing.T, st store.Store, c *clock) {
	mustKeep(t, st, dated(1, dayOne), label(2))
	first := mustRevision(t, st)
	want := map[cola.TTBID]cola.Revision{firstID + 1: first}
	mustHaveArrived(t, st, "with a date", want)
	c.advance(time.Second)
	mustWrite(t, st, store.DryRun, dated(2, dayOne))
	mustHaveArrived(t, st, "after a rehearsal", want)
	mustWrite(t, st, store.Commit, dated(2, dayOne))
	want[firstID+2] = mustRevision(t, st)
	mustHaveArrived(t, st, "with a date that came later", want)
	c.advance(time.Second)
	renamed := dated(1, dayOne.AddDays(1))
	renamed.BrandName = "ANOTHER"
	mustWrite(t, st, store.Commit, renamed, dated(2, dayOne))
	mustHaveArrived(t, st, "after a change", want)
}

func arrivedAsItIs(t *testing.T, st store.Store, _ *clock) {
	full := fullLabel()
	mustKeep(t, st, full, dated(1, dayOne), label(2))
	full.BrandName = "ANOTHER"
	mustWrite(t, st, store.Commit, full)
	mustPermittees(t, st, []store.Outcome{store.Changed},
		wholePermittee(cola.Permittee{PermitNumber: full.PermitNumber, CompanyName: "ESTATE", Listed: true}))
	records, _ := indexRecords(t, st, 0)
	holders := permittees(t, st)
	told := 0
	_, err := st.ArrivedSince(t.Context(), 0, func(a store.Arrival) error {
		told++
		same(t, "label", records[a.Label.Summary.TTBID], cloneRecord(a.Label))
		same(t, "permittee", holders[a.Label.Summary.PermitNumber], *a.Permittee)
		return nil
	})
	if err != nil || told != 2 {
		t.Errorf("%d labels were told, %v; want 2", told, err)
	}
}

func arrivedByDay(t *testing.T, st store.Store, _ *clock) {
	var labels []cola.Cola
	for n := range 1_300 { // more than one write batch
		labels = append(labels, dated(n+1, dayOne.AddDays(n%100)))
	}
	mustKeep(t, st, labels...)
	for day, want := range map[int]int{-10: 1_300, 0: 1_300, 1: 1_287, 99: 13, 100: 0} {
		if got, _ := arrivals(t, st, dayOne.AddDays(day)); len(got) != want {
			t.Errorf("%d labels are told since day %d, want %d", len(got), day, want)
		}
	}
	labels[0].ApprovalDate, labels[99].ApprovalDate = dayOne.AddDays(99), dayOne
	mustWrite(t, st, store.Commit, labels[0], labels[99])
	got, _ := arrivals(t, st, dayOne.AddDays(99))
	if _, moved := got[labels[0].TTBID]; !moved || len(got) != 13 {
		t.Errorf("%d labels are told, the one whose date was changed among them: %v; want 13 with it", len(got), moved)
	}
}

func historyDoesNotArrive(t *testing.T, st store.Store, _ *clock) {
	none := map[cola.TTBID]cola.Revision{}
	same(t, "outcomes", []store.Outcome{store.Added, store.Added}, mustWrite(t, st, store.History, dated(1, dayOne), label(2)))
	same(t, "the label", dated(1, dayOne), mustCola(t, st, firstID+1))
	before := mustRevision(t, st)
	same(t, "outcomes", []store.Outcome{store.Unchanged, store.Changed}, mustWrite(t, st, store.History, dated(1, dayOne), dated(2, dayOne)))
	if mustRevision(t, st) == before {
		t.Error("a change of history took no revision")
	}
	mustHaveArrived(t, st, "history", none)
	mustWrite(t, st, store.Commit, dated(1, dayOne), dated(2, dayOne.AddDays(1)))
	mustHaveArrived(t, st, "written again", none)
	mustWrite(t, st, store.Commit, label(1))
	mustWrite(t, st, store.History, label(2))
	mustWrite(t, st, store.Commit, dated(1, dayOne), dated(2, dayOne))
	mustHaveArrived(t, st, "that had lost its date", none)
	mustWrite(t, st, store.Commit, dated(3, dayOne))
	want := map[cola.TTBID]cola.Revision{firstID + 3: mustRevision(t, st)}
	mustWrite(t, st, store.History, dated(3, dayOne.AddDays(1)))
	mustHaveArrived(t, st, "what has arrived before", want)
}

func arrivesOnce(t *testing.T, st store.Store, c *clock) {
	mustKeep(t, st, dated(1, dayOne))
	want := map[cola.TTBID]cola.Revision{firstID + 1: mustRevision(t, st)}
	c.advance(time.Second)
	mustWrite(t, st, store.Commit, label(1))
	mustHaveArrived(t, st, "without its date", map[cola.TTBID]cola.Revision{})
	mustWrite(t, st, store.Commit, dated(1, dayOne.AddDays(7)))
	mustHaveArrived(t, st, "with another", want)
	mustWrite(t, st, store.Commit, label(1), dated(1, dayOne))
	mustHaveArrived(t, st, "with another in one call", want)
}

// arrivalModel is the expected state of one label.
type arrivalModel struct {
	known, had, arrived bool // had: it has had a date before
	date                cola.Date
}

// arrivesLikeTheModel checks that a label arrives with its first date unless that date is history,
// also with several dates in one call.
func arrivesLikeTheModel(t *testing.T, st store.Store, _ *clock) {
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		models := map[cola.TTBID]*arrivalModel{}
		for range rapid.IntRange(1, 6).Draw(rt, "calls") {
			mode := rapid.SampledFrom([]store.Mode{store.Commit, store.Commit, store.History, store.DryRun}).Draw(rt, "mode")
			var labels []cola.Cola
			for range rapid.IntRange(1, 5).Draw(rt, "labels") {
				c := dated(10*run+rapid.IntRange(0, 1).Draw(rt, "label"), rapid.SampledFrom([]cola.Date{0, 0, dayOne, dayOne.AddDays(1)}).Draw(rt, "date"))
				labels = append(labels, c)
				if models[c.TTBID] == nil {
					models[c.TTBID] = &arrivalModel{}
				}
				if m := models[c.TTBID]; mode.Writes() {
					m.known, m.date = true, c.ApprovalDate
					m.arrived = m.arrived || !m.had && m.date != 0 && mode == store.Commit
					m.had = m.had || m.date != 0
				}
			}
			mustWrite(rt, st, mode, labels...)
		}
		got, _ := arrivals(rt, st, 0)
		later, _ := arrivals(rt, st, dayOne.AddDays(1))
		for id, m := range models {
			_, told := got[id]
			_, toldLater := later[id]
			if told != (m.arrived && m.date != 0) || toldLater != (m.arrived && m.date > dayOne) {
				rt.Errorf("label %s: told %v, of the later day %v; want what becomes of %+v", id, told, toldLater, *m)
			}
		}
	})
}

// nothingArrivesBehind checks that a reader that has read up to a revision misses no arrival at or
// before it while several writers run.
func nothingArrivesBehind(t *testing.T, st store.Store, _ *clock) {
	const writers, each = 4, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				labels := wholes(dated(1_000*w+2*n, dayOne), dated(1_000*w+2*n+1, dayOne))
				if _, err := st.UpsertColas(t.Context(), labels, store.Commit); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	type reading struct {
		upto cola.Revision
		at   map[cola.TTBID]cola.Revision
	}
	var readings []reading
	for written := 0; written < 2*writers*each && !t.Failed(); written = len(readings[len(readings)-1].at) {
		at, upto := arrivals(t, st, 0)
		readings = append(readings, reading{upto, at})
	}
	wg.Wait()
	last, _ := arrivals(t, st, 0)
	for _, r := range readings {
		want := map[cola.TTBID]cola.Revision{}
		for id, at := range last {
			if at <= r.upto {
				want[id] = at
			}
		}
		if diff := cmp.Diff(want, r.at); diff != "" {
			t.Fatalf("read up to revision %d (-arrived by then +read):\n%s", r.upto, diff)
		}
	}
	if len(readings) < 3 {
		t.Errorf("the writers were read %d times, which shows little", len(readings))
	}
}
