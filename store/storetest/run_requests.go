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
		{"a run that is asked for is due", askedIsDue},
		{"a run is asked for of what nothing schedules", unscheduledIsAsked},
		{"a run of a search that may not run is not asked for", pausedIsNotAsked},
		{"asking leaves a run that is under way alone", askedWhileHeld},
		{"a trace tells what is known of a label", traceTellsAll},
		{"a trace is its account's and its search's", traceOfAnother},
		{"a trace finds the run that saw a label first", firstRunThatSaw},
		{"the filters that a match met are kept", metIsKept},
	})
}

// mustAsk requests a run at duePast and claims it. No other search may be due.
func mustAsk(t tb, st store.Store, account cola.AccountID, search cola.SavedSearch) store.DueSearch {
	t.Helper()
	asked := ask(t, st, account, search, duePast)
	d := mustClaimOne(t, st)
	same(t, "what is claimed", asked, d.Search)
	return d
}

func ask(t tb, st store.Store, account cola.AccountID, search cola.SavedSearch, due time.Time) cola.SavedSearch {
	t.Helper()
	asked, err := st.RequestRun(context.Background(), account, search.UUID, due, everyID)
	return must(t, asked, err)
}

func askedIsDue(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, dueSearch(a.ID, 1, duePast.Add(week)))
	mustCreate(t, st, dueSearch(a.ID, 2, duePast.Add(week)))
	same(t, "before anybody asks", []string{}, names(mustClaim(t, st, everyID, anHour)))
	want := search
	plan := *search.Schedule
	want.Schedule = &plan
	plan.NextRunAt = cola.Some(cola.TimestampOf(duePast))
	same(t, "asked for", want, ask(t, st, a.ID, search, duePast.Add(789*time.Nanosecond))) // stored in whole microseconds
	same(t, "asked for later", want, ask(t, st, a.ID, search, duePast.Add(time.Hour)))
	next, err := st.NextDue(t.Context())
	same(t, "due next", duePast, must(t, next, err))
	d := mustClaimOne(t, st)
	same(t, "the claim", want, d.Search)
	run := runOf(t, st, d, 1)
	run.Next = cola.TimestampOf(duePast.Add(week))
	mustRecord(t, st, run)
	plan.NextRunAt, plan.LastRunAt = cola.Some(run.Next), cola.Some(cola.TimestampOf(duePast))
	found, err := st.SavedSearch(t.Context(), a.ID, search.UUID)
	same(t, "once it ran", want, must(t, found, err))
}

func unscheduledIsAsked(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	unscheduled, paused := newSearch(a.ID, 1), newSearch(a.ID, 2)
	unscheduled.Search.Schedule = nil
	paused.Search.Schedule.Active, paused.Search.Schedule.NextRunAt = false, cola.Opt[cola.Timestamp]{}
	for _, n := range []store.NewSavedSearch{unscheduled, paused} {
		search := mustCreate(t, st, n)
		for label := range 2 {
			run := runOf(t, st, mustAsk(t, st, a.ID, search), label)
			run.Next = 0
			mustRecord(t, st, run)
			due, err := st.NextDue(t.Context())
			same(t, "due next", time.Time{}, must(t, due, err))
		}
		list, total, err := st.RunsOf(t.Context(), a.ID, search.UUID, store.Slice{Limit: 10})
		if must(t, list, err); total != 2 {
			t.Errorf("%s has run %d times, want twice: %+v", search.Name, total, list)
		}
	}
	same(t, "told of", 4, len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{})))
	search := ask(t, st, a.ID, unscheduled.Search, duePast)
	mustChange(t, st, a.ID, search.UUID, renamed("renamed")) // does not cancel the request
	same(t, "due", []string{"renamed"}, names(mustClaim(t, st, everyID, anHour)))
}

func pausedIsNotAsked(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	search, later := mustCreate(t, st, dueSearch(a.ID, 1, duePast.Add(week))), mustCreate(t, st, dueSearch(a.ID, 2, duePast.Add(week)))
	refuse := func(account cola.AccountID, uuid string, want error) {
		t.Helper()
		before := everything(t, st)
		if asked, err := st.RequestRun(t.Context(), account, uuid, duePast, everyID); !errors.Is(err, want) {
			t.Errorf("RequestRun(%d, %q): %+v, %v; want %v", account, uuid, asked, err, want)
		}
		same(t, "what the store holds", before, everything(t, st))
	}
	for _, uuid := range []string{"", "x", search.UUID + "\x00", "\xff"} {
		refuse(a.ID, uuid, store.ErrNotFound)
	}
	refuse(b.ID, search.UUID, store.ErrNotFound)
	refuse(b.ID+100, search.UUID, store.ErrNotFound)
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, 1))
	refuse(a.ID, later.UUID, store.ErrNotActive)
	ask(t, st, a.ID, search, duePast)
	mustDo(t, st.Suspend(t.Context(), a.ID, "unpaid"))
	refuse(a.ID, search.UUID, store.ErrNotActive)
	same(t, "while it is suspended", []string{}, names(mustClaim(t, st, everyID, anHour)))
	mustDo(t, st.Restore(t.Context(), a.ID))
	same(t, "once it is restored", []string{"search 1"}, names(mustClaim(t, st, everyID, anHour)))
}

func askedWhileHeld(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	d := mustClaimOne(t, st)
	ask(t, st, a.ID, search, duePast)
	same(t, "while it is held", []string{}, names(mustClaim(t, st, everyID, anHour)))
	mustRecord(t, st, runOf(t, st, d, 1))
	same(t, "once it ran", []string{}, names(mustClaim(t, st, everyID, anHour)))
}

func traceTellsAll(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustWrite(t, st, store.History, dated(1, dayOne))
	mustKeep(t, st, dated(2, dayOne))
	search := mustCreate(t, st, newSearch(a.ID, 1))
	created := store.Mark{At: c.now(), Revision: mustRevision(t, st)}
	trace := func(label int) store.Trace {
		t.Helper()
		found, err := st.Trace(t.Context(), a.ID, search.UUID, firstID+cola.TTBID(label))
		return must(t, found, err)
	}
	same(t, "of no label", store.Trace{Search: search, Mark: created}, trace(9))
	same(t, "of history", store.Trace{Search: search, Mark: created}, trace(1))
	same(t, "before a run", store.Trace{Search: search, Mark: created, Arrived: created.Revision}, trace(2))
	run := runOf(t, st, mustClaimOne(t, st), -2, 9)
	run.Matches[0].Met = cola.FilterSetOf("query")
	number := mustRecord(t, st, run).Run
	now, err := st.SavedSearch(t.Context(), a.ID, search.UUID)
	must(t, now, err)
	match := cola.SavedSearchMatch{RunID: number, TTBID: firstID + 2, Late: true, Met: run.Matches[0].Met}
	same(t, "of what was found", store.Trace{Search: now, Mark: run.Mark, Match: &match, Arrived: created.Revision, Seen: duePast, SeenFrom: run.From}, trace(2))
	same(t, "of what was found and is gone", cola.TTBID(firstID+9), trace(9).Match.TTBID)
	mustKeep(t, st, dated(3, dayOne))
	same(t, "of what arrived since", store.Trace{Search: now, Mark: run.Mark, Arrived: mustRevision(t, st)}, trace(3))
}

func traceOfAnother(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustKeep(t, st, dated(1, dayOne))
	search, other := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, dueSearch(b.ID, 2, duePast.Add(week)))
	mustFind(t, st, search, 1)
	found, err := st.Trace(t.Context(), b.ID, other.UUID, firstID+1)
	if must(t, found, err); found.Match != nil || !found.Seen.IsZero() {
		t.Errorf("another search has seen the label: %+v", found)
	}
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
	}{{b.ID, search.UUID}, {a.ID, other.UUID}, {a.ID + 100, search.UUID}, {a.ID, ""}, {a.ID, "\x00"}, {a.ID, "\xff"}} {
		if found, err := st.Trace(t.Context(), k.account, k.uuid, firstID+1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Trace(%d, %q): %+v, %v; want ErrNotFound", k.account, k.uuid, found, err)
		}
	}
}

// firstRunThatSaw checks that Trace finds the earliest of several runs that had seen the arrival.
func firstRunThatSaw(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	mustKeep(t, st, dated(1, dayOne))
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
		mustKeep(t, st, dated(n+2, dayOne))
	}
	want[4] = time.Time{}
	for label, seen := range want {
		found, err := st.Trace(t.Context(), a.ID, search.UUID, firstID+cola.TTBID(label))
		if must(t, found, err); !found.Seen.Equal(seen) {
			t.Errorf("label %d was seen at %s, want %s", label, found.Seen, seen)
		}
	}
}

func metIsKept(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	run := runOf(t, st, mustClaimOne(t, st), 1, -2, 3, -4, 5)
	sets := []cola.FilterSet{0, cola.FilterSetOf("query"), cola.FilterSetOf(cola.FilterNames()...), cola.FilterSetOf("query"), 1 << 62}
	want := make([]cola.SavedSearchMatch, len(sets))
	for i, met := range sets {
		run.Matches[i].Met = met
	}
	o := mustRecord(t, st, run)
	for i, m := range run.Matches {
		want[i] = cola.SavedSearchMatch{RunID: o.Run, TTBID: m.TTBID, Late: m.Late, Met: m.Met}
	}
	for _, number := range []int64{0, o.Run} {
		list, _, err := st.MatchesOf(t.Context(), a.ID, search.UUID, number, store.Slice{Limit: 10})
		same(t, "matches", want, must(t, list, err))
	}
}
