package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testRunRequests(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"requested run is due", requestedRunIsDue},
		{"request without a schedule", requestUnscheduled},
		{"requests for searches that may not run", requestNotAllowed},
		{"request during a run", requestDuringRun},
		{"trace", traceContents},
		{"trace of another account and search", traceErrors},
		{"first run that saw a label", traceFirstRun},
		{"filters met by a match", matchFilters},
	})
}

// mustRequestRun requests a run at duePast and claims it. No other search may be due.
func mustRequestRun(t tb, st store.Store, account cola.AccountID, search cola.SavedSearch) store.DueSearch {
	t.Helper()
	requested := requestRun(t, st, account, search, duePast)
	d := mustClaimOne(t, st)
	checkEqual(t, "claimed search", requested, d.Search)
	return d
}

func requestRun(t tb, st store.Store, account cola.AccountID, search cola.SavedSearch, due time.Time) cola.SavedSearch {
	t.Helper()
	requested, err := st.RequestRun(context.Background(), account, search.UUID, due, noLimit)
	return must(t, requested, err)
}

func requestedRunIsDue(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, dueSearch(a.ID, 1, duePast.Add(week)))
	mustCreate(t, st, dueSearch(a.ID, 2, duePast.Add(week)))
	checkEqual(t, "claims before the request", []string{}, names(mustClaim(t, st, noLimit, anHour)))
	want := search
	schedule := *search.Schedule
	want.Schedule = &schedule
	schedule.NextRunAt = cola.Some(cola.TimestampOf(duePast))
	// Stored in whole microseconds.
	checkEqual(t, "RequestRun", want, requestRun(t, st, a.ID, search, duePast.Add(789*time.Nanosecond)))
	checkEqual(t, "RequestRun, later", want, requestRun(t, st, a.ID, search, duePast.Add(time.Hour)))
	next, err := st.NextDue(t.Context())
	checkEqual(t, "NextDue", duePast, must(t, next, err))
	d := mustClaimOne(t, st)
	checkEqual(t, "claimed search", want, d.Search)
	run := runOf(t, st, d, 1)
	run.Next = cola.TimestampOf(duePast.Add(week))
	mustRecord(t, st, run)
	schedule.NextRunAt, schedule.LastRunAt = cola.Some(run.Next), cola.Some(cola.TimestampOf(duePast))
	found, err := st.SavedSearch(t.Context(), a.ID, search.UUID)
	checkEqual(t, "SavedSearch after the run", want, must(t, found, err))
}

func requestUnscheduled(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	unscheduled, paused := newSearch(a.ID, 1), newSearch(a.ID, 2)
	unscheduled.Search.Schedule = nil
	paused.Search.Schedule.Active, paused.Search.Schedule.NextRunAt = false, cola.Opt[cola.Timestamp]{}
	for _, n := range []store.NewSavedSearch{unscheduled, paused} {
		search := mustCreate(t, st, n)
		for label := range 2 {
			run := runOf(t, st, mustRequestRun(t, st, a.ID, search), label)
			run.Next = 0
			mustRecord(t, st, run)
			due, err := st.NextDue(t.Context())
			checkEqual(t, "NextDue", time.Time{}, must(t, due, err))
		}
		list, total, err := st.RunsOf(t.Context(), a.ID, search.UUID, store.Slice{Limit: 10})
		if must(t, list, err); total != 2 {
			t.Errorf("RunsOf search %s: total %d, want 2: %+v", search.Name, total, list)
		}
	}
	checkEqual(t, "number of deliveries", 4, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{})))
	search := requestRun(t, st, a.ID, unscheduled.Search, duePast)
	mustChange(t, st, a.ID, search.UUID, rename("renamed")) // does not cancel the request
	checkEqual(t, "claimed searches", []string{"renamed"}, names(mustClaim(t, st, noLimit, anHour)))
}

func requestNotAllowed(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	search := mustCreate(t, st, dueSearch(a.ID, 1, duePast.Add(week)))
	later := mustCreate(t, st, dueSearch(a.ID, 2, duePast.Add(week)))
	checkRejected := func(account cola.AccountID, uuid string, want error) {
		t.Helper()
		before := storeContents(t, st)
		if requested, err := st.RequestRun(t.Context(), account, uuid, duePast, noLimit); !errors.Is(err, want) {
			t.Errorf("RequestRun(%d, %q) = %+v, %v; want %v", account, uuid, requested, err, want)
		}
		checkEqual(t, "store contents", before, storeContents(t, st))
	}
	for _, uuid := range []string{"", "x", search.UUID + "\x00", "\xff"} {
		checkRejected(a.ID, uuid, store.ErrNotFound)
	}
	checkRejected(b.ID, search.UUID, store.ErrNotFound)
	checkRejected(b.ID+100, search.UUID, store.ErrNotFound)
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, 1))
	checkRejected(a.ID, later.UUID, store.ErrNotActive)
	requestRun(t, st, a.ID, search, duePast)
	mustDo(t, st.Suspend(t.Context(), a.ID, "unpaid"))
	checkRejected(a.ID, search.UUID, store.ErrNotActive)
	checkEqual(t, "claims while suspended", []string{}, names(mustClaim(t, st, noLimit, anHour)))
	mustDo(t, st.Restore(t.Context(), a.ID))
	checkEqual(t, "claims after Restore", []string{"search 1"}, names(mustClaim(t, st, noLimit, anHour)))
}

func requestDuringRun(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	d := mustClaimOne(t, st)
	requestRun(t, st, a.ID, search, duePast)
	checkEqual(t, "claims during the run", []string{}, names(mustClaim(t, st, noLimit, anHour)))
	mustRecord(t, st, runOf(t, st, d, 1))
	checkEqual(t, "claims after the run", []string{}, names(mustClaim(t, st, noLimit, anHour)))
}

func traceContents(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustWriteColas(t, st, store.History, dated(1, dayOne))
	mustAddColas(t, st, dated(2, dayOne))
	search := mustCreate(t, st, newSearch(a.ID, 1))
	created := store.Mark{At: c.now(), Revision: mustRevision(t, st)}
	trace := func(label int) store.Trace {
		t.Helper()
		found, err := st.Trace(t.Context(), a.ID, search.UUID, firstID+cola.TTBID(label))
		return must(t, found, err)
	}
	checkEqual(t, "trace of an unknown label", store.Trace{Search: search, Mark: created}, trace(9))
	checkEqual(t, "trace of a history label", store.Trace{Search: search, Mark: created}, trace(1))
	checkEqual(t, "trace before a run", store.Trace{Search: search, Mark: created, Arrived: created.Revision}, trace(2))
	run := runOf(t, st, mustClaimOne(t, st), -2, 9)
	run.Matches[0].Met = cola.FilterSetOf("query")
	id := mustRecord(t, st, run).Run
	now, err := st.SavedSearch(t.Context(), a.ID, search.UUID)
	must(t, now, err)
	match := cola.SavedSearchMatch{RunID: id, TTBID: firstID + 2, Late: true, Met: run.Matches[0].Met}
	checkEqual(t, "trace of a match", store.Trace{
		Search:   now,
		Mark:     run.Mark,
		Match:    &match,
		Arrived:  created.Revision,
		Seen:     duePast,
		SeenFrom: run.From,
	}, trace(2))
	checkEqual(t, "trace of a match whose label is not stored", cola.TTBID(firstID+9), trace(9).Match.TTBID)
	mustAddColas(t, st, dated(3, dayOne))
	checkEqual(t, "trace of a later arrival", store.Trace{Search: now, Mark: run.Mark, Arrived: mustRevision(t, st)},
		trace(3))
}

func traceErrors(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustAddColas(t, st, dated(1, dayOne))
	search, other := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, dueSearch(b.ID, 2, duePast.Add(week)))
	mustRun(t, st, search, 1)
	found, err := st.Trace(t.Context(), b.ID, other.UUID, firstID+1)
	if must(t, found, err); found.Match != nil || !found.Seen.IsZero() {
		t.Errorf("Trace of another search = %+v, want no match and a zero Seen", found)
	}
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
	}{{b.ID, search.UUID}, {a.ID, other.UUID}, {a.ID + 100, search.UUID}, {a.ID, ""}, {a.ID, "\x00"}, {a.ID, "\xff"}} {
		if found, err := st.Trace(t.Context(), k.account, k.uuid, firstID+1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Trace(%d, %q) = %+v, %v; want ErrNotFound", k.account, k.uuid, found, err)
		}
	}
}

// traceFirstRun checks that Trace finds the earliest of several runs that covered the arrival.
func traceFirstRun(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	mustAddColas(t, st, dated(1, dayOne))
	want := map[int]time.Time{}
	for n := range 4 {
		at := duePast.Add(time.Duration(n) * week)
		claimed, err := st.ClaimDue(t.Context(), at, 1, anHour)
		run := runOf(t, st, must(t, claimed, err)[0])
		if want[n+1] = at; n%2 == 1 {
			run.Mark.Revision = claimed[0].Mark.Revision // the label had not arrived yet
			want[n+1] = at.Add(week)
		}
		run.Mark.At, run.Next = at, cola.TimestampOf(at)
		mustRecord(t, st, run)
		mustAddColas(t, st, dated(n+2, dayOne))
	}
	want[4] = time.Time{}
	for label, seen := range want {
		found, err := st.Trace(t.Context(), a.ID, search.UUID, firstID+cola.TTBID(label))
		if must(t, found, err); !found.Seen.Equal(seen) {
			t.Errorf("Trace(label %d).Seen = %s, want %s", label, found.Seen, seen)
		}
	}
}

func matchFilters(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	run := runOf(t, st, mustClaimOne(t, st), 1, -2, 3, -4, 5)
	sets := []cola.FilterSet{
		0, cola.FilterSetOf("query"), cola.FilterSetOf(cola.FilterNames()...),
		cola.FilterSetOf("query"), 1 << 62,
	}
	want := make([]cola.SavedSearchMatch, len(sets))
	for i, met := range sets {
		run.Matches[i].Met = met
	}
	o := mustRecord(t, st, run)
	for i, m := range run.Matches {
		want[i] = cola.SavedSearchMatch{RunID: o.Run, TTBID: m.TTBID, Late: m.Late, Met: m.Met}
	}
	for _, id := range []int64{0, o.Run} {
		list, _, err := st.MatchesOf(t.Context(), a.ID, search.UUID, id, store.Slice{Limit: 10})
		checkEqual(t, "MatchesOf", want, must(t, list, err))
	}
}
