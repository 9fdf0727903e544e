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
		{"no arrivals", noArrivals},
		{"arrival on the first approval date", arrivalOnFirstDate},
		{"current label and permittee", arrivalHasCurrentRecord},
		{"filter by approval date", arrivalsByDate},
		{"history writes", historyWrites},
		{"arrival revision is stable", arrivalRevisionIsStable},
		{"random writes match the model", arrivalsMatchModel},
		{"no arrivals behind the reader", noArrivalsBehindReader},
		{"callback error", func(t *testing.T, st store.Store, _ *clock) {
			mustAddColas(t, st, dated(1, dayOne), dated(2, dayOne))
			calls := 0
			_, err := st.ArrivedSince(t.Context(), 0, func(store.Arrival) error { calls++; return errCallback })
			if !errors.Is(err, errCallback) || calls != 1 {
				t.Errorf("ArrivedSince error = %v after %d calls, want the callback's error after 1", err, calls)
			}
			mustAddColas(t, st, dated(3, dayOne)) // the store still accepts writes
		}},
	})
}

// dayOne is an arbitrary approval date.
var dayOne = cola.NewDate(2026, time.November, 16)

// dated returns a small label with an approval date. A zero date means none.
func dated(n int, approved cola.Date) cola.Cola {
	c := label(n)
	c.ApprovalDate = approved
	return c
}

// mustWriteColas writes complete labels in one call.
func mustWriteColas(t tb, st store.Store, mode store.Mode, labels ...cola.Cola) []store.Outcome {
	t.Helper()
	outcomes, err := st.UpsertColas(context.Background(), patchesOf(labels...), mode)
	return must(t, outcomes, err)
}

// arrivals returns the revisions of arrived labels approved on or after the given day, by ID, and
// the revision up to which the result is complete.
func arrivals(t tb, st store.Store, since cola.Date) (map[cola.TTBID]cola.Revision, cola.Revision) {
	t.Helper()
	at := map[cola.TTBID]cola.Revision{}
	upto, err := st.ArrivedSince(context.Background(), since, func(a store.Arrival) error {
		id := a.Label.Summary.TTBID
		if _, twice := at[id]; twice {
			return fmt.Errorf("label %s reported twice", id)
		}
		at[id] = a.At
		return nil
	})
	return at, must(t, upto, err)
}

// checkArrived checks which labels have arrived, and at which revisions.
func checkArrived(t tb, st store.Store, desc string, want map[cola.TTBID]cola.Revision) {
	t.Helper()
	got, upto := arrivals(t, st, 0)
	checkEqual(t, "arrivals "+desc, want, got)
	checkEqual(t, "ArrivedSince revision "+desc, mustRevision(t, st), upto)
}

func noArrivals(t *testing.T, st store.Store, _ *clock) {
	checkArrived(t, st, "in an empty store", map[cola.TTBID]cola.Revision{})
	has, err := st.HasColas(t.Context())
	if must(t, has, err) {
		t.Error("HasColas(empty store) = true, want false")
	}
	mustWriteColas(t, st, store.DryRun, dated(1, dayOne))
	// This label lacks required fields.
	mustWriteColas(t, st, store.Commit, cola.Cola{ColaSummary: cola.ColaSummary{TTBID: firstID, ApprovalDate: dayOne}})
	if has, err = st.HasColas(t.Context()); must(t, has, err) {
		t.Error("HasColas = true after a dry run and a rejected write, want false")
	}
	checkArrived(t, st, "after a dry run", map[cola.TTBID]cola.Revision{})
	mustAddColas(t, st, label(1))
	checkArrived(t, st, "without an approval date", map[cola.TTBID]cola.Revision{})
	if has, err = st.HasColas(t.Context()); !must(t, has, err) {
		t.Error("HasColas = false after adding a label, want true")
	}
}

func arrivalOnFirstDate(t *testing.T, st store.Store, c *clock) {
	mustAddColas(t, st, dated(1, dayOne))
	first := mustRevision(t, st)
	mustAddColas(t, st, label(2)) // in a separate call, because a slow write of both may use two revisions
	want := map[cola.TTBID]cola.Revision{firstID + 1: first}
	checkArrived(t, st, "after a write with a date", want)
	c.advance(time.Second)
	mustWriteColas(t, st, store.DryRun, dated(2, dayOne))
	checkArrived(t, st, "after a dry run", want)
	mustWriteColas(t, st, store.Commit, dated(2, dayOne))
	want[firstID+2] = mustRevision(t, st)
	checkArrived(t, st, "after adding a date", want)
	c.advance(time.Second)
	renamed := dated(1, dayOne.AddDays(1))
	renamed.BrandName = "ANOTHER"
	mustWriteColas(t, st, store.Commit, renamed, dated(2, dayOne))
	checkArrived(t, st, "after a date change", want)
}

func arrivalHasCurrentRecord(t *testing.T, st store.Store, _ *clock) {
	full := fullLabel()
	mustAddColas(t, st, full, dated(1, dayOne), label(2))
	full.BrandName = "ANOTHER"
	mustWriteColas(t, st, store.Commit, full)
	mustPermittees(t, st, []store.Outcome{store.Changed},
		permitteePatch(cola.Permittee{PermitNumber: full.PermitNumber, CompanyName: "ESTATE", Listed: true}))
	records, _ := indexRecords(t, st, 0)
	byNumber := permittees(t, st)
	seen := 0
	_, err := st.ArrivedSince(t.Context(), 0, func(a store.Arrival) error {
		seen++
		checkEqual(t, "arrival label", records[a.Label.Summary.TTBID], cloneRecord(a.Label))
		checkEqual(t, "arrival permittee", byNumber[a.Label.Summary.PermitNumber], *a.Permittee)
		return nil
	})
	if err != nil || seen != 2 {
		t.Errorf("ArrivedSince reported %d labels, error %v; want 2, nil", seen, err)
	}
}

func arrivalsByDate(t *testing.T, st store.Store, _ *clock) {
	var labels []cola.Cola
	for n := range 1_300 { // more than one write batch
		labels = append(labels, dated(n+1, dayOne.AddDays(n%100)))
	}
	mustAddColas(t, st, labels...)
	for day, want := range map[int]int{-10: 1_300, 0: 1_300, 1: 1_287, 99: 13, 100: 0} {
		if got, _ := arrivals(t, st, dayOne.AddDays(day)); len(got) != want {
			t.Errorf("ArrivedSince(day %d) reported %d labels, want %d", day, len(got), want)
		}
	}
	labels[0].ApprovalDate, labels[99].ApprovalDate = dayOne.AddDays(99), dayOne
	mustWriteColas(t, st, store.Commit, labels[0], labels[99])
	got, _ := arrivals(t, st, dayOne.AddDays(99))
	if _, moved := got[labels[0].TTBID]; !moved || len(got) != 13 {
		t.Errorf("ArrivedSince(day 99) reported %d labels, including the redated one: %v; want 13, true", len(got),
			moved)
	}
}

func historyWrites(t *testing.T, st store.Store, _ *clock) {
	empty := map[cola.TTBID]cola.Revision{}
	checkEqual(t, "UpsertColas outcomes", []store.Outcome{store.Added, store.Added},
		mustWriteColas(t, st, store.History, dated(1, dayOne), label(2)))
	checkEqual(t, "Cola", dated(1, dayOne), mustCola(t, st, firstID+1))
	before := mustRevision(t, st)
	checkEqual(t, "UpsertColas outcomes", []store.Outcome{store.Unchanged, store.Changed},
		mustWriteColas(t, st, store.History, dated(1, dayOne), dated(2, dayOne)))
	if mustRevision(t, st) == before {
		t.Errorf("revision after a history change = %d, want a later one", before)
	}
	checkArrived(t, st, "after a history write", empty)
	mustWriteColas(t, st, store.Commit, dated(1, dayOne), dated(2, dayOne.AddDays(1)))
	checkArrived(t, st, "after rewriting history labels", empty)
	mustWriteColas(t, st, store.Commit, label(1))
	mustWriteColas(t, st, store.History, label(2))
	mustWriteColas(t, st, store.Commit, dated(1, dayOne), dated(2, dayOne))
	checkArrived(t, st, "after removing and restoring the dates", empty)
	mustWriteColas(t, st, store.Commit, dated(3, dayOne))
	want := map[cola.TTBID]cola.Revision{firstID + 3: mustRevision(t, st)}
	mustWriteColas(t, st, store.History, dated(3, dayOne.AddDays(1)))
	checkArrived(t, st, "after a history write to an arrived label", want)
}

func arrivalRevisionIsStable(t *testing.T, st store.Store, c *clock) {
	mustAddColas(t, st, dated(1, dayOne))
	want := map[cola.TTBID]cola.Revision{firstID + 1: mustRevision(t, st)}
	c.advance(time.Second)
	mustWriteColas(t, st, store.Commit, label(1))
	checkArrived(t, st, "after removing the date", map[cola.TTBID]cola.Revision{})
	mustWriteColas(t, st, store.Commit, dated(1, dayOne.AddDays(7)))
	checkArrived(t, st, "after restoring a date", want)
	mustWriteColas(t, st, store.Commit, label(1), dated(1, dayOne))
	checkArrived(t, st, "after removing and restoring the date in one call", want)
}

// arrivalModel is the expected state of one label.
type arrivalModel struct {
	known, had, arrived bool // had: whether it has ever had a date
	date                cola.Date
}

// arrivalsMatchModel checks that a label arrives with its first date unless a history write sets
// it, even with several dates in one call.
func arrivalsMatchModel(t *testing.T, st store.Store, _ *clock) {
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		models := map[cola.TTBID]*arrivalModel{}
		for range rapid.IntRange(1, 6).Draw(rt, "calls") {
			mode := rapid.SampledFrom([]store.Mode{store.Commit, store.Commit, store.History, store.DryRun}).Draw(rt,
				"mode")
			var labels []cola.Cola
			for range rapid.IntRange(1, 5).Draw(rt, "labels") {
				c := dated(10*run+rapid.IntRange(0, 1).Draw(rt, "label"),
					rapid.SampledFrom([]cola.Date{0, 0, dayOne, dayOne.AddDays(1)}).Draw(rt, "date"))
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
			mustWriteColas(rt, st, mode, labels...)
		}
		got, _ := arrivals(rt, st, 0)
		later, _ := arrivals(rt, st, dayOne.AddDays(1))
		for id, m := range models {
			_, seen := got[id]
			_, seenLater := later[id]
			if seen != (m.arrived && m.date != 0) || seenLater != (m.arrived && m.date > dayOne) {
				rt.Errorf("label %s: reported = %v, since the later day = %v; want them to match the model %+v", id,
					seen, seenLater, *m)
			}
		}
	})
}

// noArrivalsBehindReader checks that a reader that has read up to a revision misses no arrival at
// or before that revision while several writers run.
func noArrivalsBehindReader(t *testing.T, st store.Store, _ *clock) {
	const writers, each = 4, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				labels := patchesOf(dated(1_000*w+2*n, dayOne), dated(1_000*w+2*n+1, dayOne))
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
			t.Fatalf("arrivals up to revision %d (-want +got):\n%s", r.upto, diff)
		}
	}
	if len(readings) < 3 {
		t.Errorf("%d reads during the writes, want at least 3", len(readings))
	}
}
