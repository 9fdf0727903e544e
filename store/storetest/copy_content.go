package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// populateRuns claims two searches, runs one and leaves the other claimed. One label arrives after
// both marks, one arrived before, and one is history.
func populateRuns(t *testing.T, st store.Store) {
	t.Helper()
	claimed, err := st.ClaimDue(t.Context(), duePast, 2, anHour)
	if len(must(t, claimed, err)) != 2 {
		t.Fatalf("ClaimDue = %v, want 2 searches", names(claimed))
	}
	run := runOf(t, st, claimed[0], 1, -2)
	run.Matches[0].Met = cola.FilterSetOf("brand_name", "container_jug")
	run.Manual, run.MaxNamed = true, 1
	mustRecord(t, st, run)
	mustAddColas(t, st, dated(8_000, dayOne))
	mustWriteColas(t, st, store.History, dated(8_001, dayOne))
	mustWriteColas(t, st, store.Commit, label(8_001))
}

// checkCopiedRuns checks that arrivals after a mark stay after it, that new arrivals come after
// every mark, and that runs continue.
func checkCopiedRuns(t *testing.T, from, to store.Store) {
	want, _ := arrivals(t, from, 0)
	got, upto := arrivals(t, to, 0)
	checkEqual(t, "arrivals", want, got)
	for id, at := range got {
		if at > upto {
			t.Errorf("label %s arrived at %d, want at most %d", id, at, upto)
		}
	}
	// Claims are not copied.
	claimed, err := to.ClaimDue(t.Context(), duePast.Add(2*week), noLimit, anHour)
	// Search 3 was not claimed before.
	claimed = slices.DeleteFunc(must(t, claimed, err),
		func(d store.DueSearch) bool { return d.Search.Name == "search 3" })
	original, err := from.ClaimDue(t.Context(), duePast.Add(2*week), noLimit, anHour)
	source := must(t, original, err)
	if len(claimed) != 2 || len(source) != 1 {
		t.Fatalf("ClaimDue = %v in the copy, %v in the source; want 2 and the one that was not claimed",
			names(claimed), names(source))
	}
	checkEqual(t, "search that has run", source, withHolds(claimed[1:], source))

	mustWriteColas(t, to, store.Commit, dated(8_001, dayOne), dated(8_002, dayOne))
	after, upto := arrivals(t, to, 0)
	for _, d := range claimed {
		if at := after[firstID+8_000]; at <= d.Mark.Revision {
			t.Errorf("label arrived at %d, want after the mark of %s, %d", at, d.Search.Name, d.Mark.Revision)
		}
		if at := after[firstID+8_002]; at <= d.Mark.Revision || at > upto {
			t.Errorf("label arrived at %d, want after the mark of %s, %d, and at most %d", at, d.Search.Name,
				d.Mark.Revision, upto)
		}
	}
	if at := after[firstID]; at == 0 || at > claimed[1].Mark.Revision {
		t.Errorf("label arrived at %d, want at most %d, the mark of the search that ran after it", at,
			claimed[1].Mark.Revision)
	}
	if at, arrived := after[firstID+8_001]; arrived {
		t.Errorf("history label arrived at %d, want no arrival", at)
	}
	run := runOf(t, to, claimed[1], 1, 2, 3)
	run.Mark.Revision = upto
	if o := mustRecord(t, to, run); o.New != 1 {
		t.Errorf("RecordRuns in the copy = %+v, want 1 new match", o)
	}
	list, _, err := to.RunsOf(t.Context(), claimed[1].Account, claimed[1].Search.UUID, store.Slice{Limit: 10})
	if runs := must(t, list, err); len(runs) != 2 || runs[0].ID <= runs[1].ID {
		t.Errorf("RunsOf = %+v, want the copied run and a newer one with a higher ID", runs)
	}
}

// copyToEarlierClock checks that a new store whose clock is behind still assigns revisions after
// every mark and arrival.
func copyToEarlierClock(t *testing.T, st store.Store, c *clock, another func() store.Store) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustAddColas(t, st, dated(1, dayOne))
	mustCreate(t, st, newSearch(a.ID, 1))
	mark := mustClaimOne(t, st).Mark
	c.advance(time.Second)
	mustAddColas(t, st, dated(2, dayOne))
	last := mustRevision(t, st)
	c.advance(-24 * time.Hour)
	to := another()
	if err := to.Fill(t.Context(), store.Items(t.Context(), st)); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "first revision of the copy", last+1, mustRevision(t, to))
	d := mustClaimOne(t, to)
	checkEqual(t, "mark of the claimed search", mark, d.Mark)
	mustRecord(t, to, runOf(t, to, d, 2))
	mustAddColas(t, to, dated(3, dayOne))
	at, _ := arrivals(t, to, 0)
	if at[firstID+2] <= mark.Revision || at[firstID+3] <= last+1 {
		t.Errorf("arrivals = %v, want label 2 after %d and label 3 after %d", at, mark.Revision, last+1)
	}
}

// copiedFeed is the feed hash in the copied registry.
var copiedFeed = store.FeedHash{7, 31: 9}

// copiedAddress is an address whose confirmation was requested before the copy. Its destination has
// been deleted.
const copiedAddress = "Stranger@example.com"

// populateDestinations creates destinations of every kind and in every state except disabled.
func populateDestinations(t *testing.T, st store.Store, account cola.AccountID) {
	t.Helper()
	search := mustSearches(t, st, account)[0]
	hooked := mustDestination(t, st, newHook(account, hook))
	changeDestination(t, st, hooked, func(d *store.Destination) {
		d.SendEmpty, d.Secrets = true, store.Secrets{Current: "whsec_new", Old: secret, OldUntil: epoch.Add(time.Hour)}
	})
	unconfirmed := forSearch(newMailbox(account, "O'Brien@Example.com"), search)
	unconfirmed.State = cola.DestinationUnconfirmed
	mustDestination(t, st, unconfirmed)
	mustDo(t, confirmOnce(t.Context(), st, unconfirmedMailbox(account, copiedAddress, confirmLimits)))
	failing := mustDestination(t, st, newHook(account, hook+"/2"))
	changeDestination(t, st, failing, func(d *store.Destination) {
		inState(cola.DestinationPaused, cola.ReasonFailing)(d)
		d.FailingSince = cola.Some(cola.TimestampOf(epoch))
	})
	mustSendTest(t, st, hooked, epoch)
	pending := newHook(account, hook+"/pending")
	pending.State, pending.Challenge = cola.DestinationPending, "sealed:01234567:x"
	mustDestination(t, st, pending)
}

// populateAttempts records a failed attempt to the account's own address and a delivery to its
// webhook, and leaves a test message to the webhook claimed.
func populateAttempts(t *testing.T, st store.Store, account cola.AccountID) {
	t.Helper()
	claimed := mustClaimDeliveries(t, st)
	list := mustDestinations(t, st, account)
	attempt(t, st, claimed, list[0], cola.EventRan, receiverError, cola.DeliveryPending)
	attempt(t, st, claimed, list[1], cola.EventRan, "", cola.DeliveryDelivered)
	if _, ok := claimed[list[1].UUID+" "+cola.EventTest]; !ok {
		t.Fatal("no test message claimed; the test needs one")
	}
}

// populateSuspended creates a suspended account with a feed and an unscheduled search with a
// requested run, and an account whose limit on active searches is 0.
func populateSuspended(t *testing.T, st store.Store) {
	t.Helper()
	c := mustAccount(t, st, "suspended@example.com", cola.TierFree)
	d := mustAccount(t, st, "downgraded@example.com", cola.TierFree)
	fed := mustCreate(t, st, dueSearch(c.ID, 20, epoch))
	mustDo(t, st.SetFeed(t.Context(), c.ID, fed.UUID, &copiedFeed))
	unscheduled := newSearch(c.ID, 21)
	unscheduled.Search.Schedule = nil
	requested, err := st.RequestRun(t.Context(), c.ID, mustCreate(t, st, unscheduled).UUID, epoch, noLimit)
	must(t, requested, err)
	mustDo(t, st.Suspend(t.Context(), c.ID, "Ünpaid."))
	mustCreate(t, st, dueSearch(d.ID, 22, epoch))
	mustDo(t, st.SetActiveLimit(t.Context(), d.ID, 0))
}

// checkCopiedDeliveries checks that past deliveries are copied and that pending ones, claimed or
// not, are still pending.
func checkCopiedDeliveries(t *testing.T, from, to store.Store, account cola.AccountID) {
	list := mustDestinations(t, to, account)
	checkEqual(t, "Destinations", mustDestinations(t, from, account), list)
	pending := slices.IndexFunc(list, func(d store.Destination) bool { return d.State == cola.DestinationPending })
	if pending < 0 || list[pending].Challenge.Sealed == "" {
		t.Errorf("destinations = %+v, want a pending one", list)
	}
	deliveries, all := deliveriesOf(t, from, account, store.DeliveryFilter{}),
		deliveriesOf(t, to, account, store.DeliveryFilter{})
	checkEqual(t, "DeliveriesOf", deliveries, all)
	var unsent, claimed []int64
	for _, d := range all {
		checkEqual(t, "DeliveryOf", mustDelivery(t, from, account, d.ID), mustDelivery(t, to, account, d.ID))
		if d.State == cola.DeliveryPending {
			unsent = append(unsent, d.ID)
		}
	}
	due, err := to.ClaimDeliveries(t.Context(), duePast.Add(2*week), allKinds, noLimit, anHour)
	for _, d := range must(t, due, err) {
		claimed = append(claimed, d.ID)
		mustRecordAttempt(t, to, deliveredAttempt(d, duePast.Add(2*week)))
	}
	slices.Sort(claimed)
	if checkEqual(t, "sent deliveries", unsent, claimed); len(unsent) < 2 {
		t.Errorf("pending deliveries = %v, want at least the retried one and the claimed one", unsent)
	}
	err = confirmOnce(t.Context(), to, unconfirmedMailbox(account, copiedAddress, confirmLimits))
	if !errors.Is(err, store.ErrConfirmationLimit) {
		t.Errorf("repeated confirmation request in the copy: error = %v, want ErrConfirmationLimit", err)
	}
	dest := mustDestination(t, to, newHook(account, hook+"/new"))
	if fresh, last := mustSendTest(t, to, dest, duePast), all[len(all)-1]; fresh.ID <= last.ID {
		t.Errorf("new delivery ID = %d, want one after %d", fresh.ID, last.ID)
	}
	if last := mustDestinations(t, to, account); last[len(last)-1].UUID != dest.UUID {
		t.Errorf("destinations = %+v, want the new one last", last)
	}
	if _, err := to.CreateDestination(t.Context(), newHook(account, hook)); err == nil {
		t.Error("CreateDestination(copied destination) error = nil, want an error")
	}
}

// checkCopiedSuspensions checks that paused searches stay paused until their account may run
// them.
func checkCopiedSuspensions(t *testing.T, from, to store.Store) {
	c, err := to.AccountByEmail(t.Context(), "suspended@example.com")
	must(t, c, err)
	d, err := to.AccountByEmail(t.Context(), "downgraded@example.com")
	must(t, d, err)
	checkEqual(t, "AccountUsage.Suspended", "Ünpaid.", mustUsage(t, to, c.ID).Suspended)
	for _, account := range []cola.AccountID{c.ID, d.ID} {
		checkEqual(t, "SavedSearches", mustSearches(t, from, account), mustSearches(t, to, account))
	}
	checkEqual(t, "due searches", []string{}, claimable(t, to))
	mustDo(t, to.Restore(t.Context(), c.ID))
	mustDo(t, to.SetActiveLimit(t.Context(), d.ID, 1))
	checkEqual(t, "due searches after Restore and SetActiveLimit", []string{"search 20", "search 21", "search 22"},
		claimable(t, to))
	feed, err := to.Feed(t.Context(), copiedFeed, 1, 1)
	checkEqual(t, "search of the feed", "search 20", must(t, feed, err).Search.Name)
}
