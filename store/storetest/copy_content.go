package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// furnishRuns creates two searches, runs one and leaves the other claimed. One label arrives after
// both marks, one arrived before, and one is history.
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

// movedRunsDoTheSame checks that arrivals after a mark stay after it, that new arrivals come after
// every mark, and that runs continue.
func movedRunsDoTheSame(t *testing.T, from, to store.Store) {
	want, _ := arrivals(t, from, 0)
	got, upto := arrivals(t, to, 0)
	same(t, "arrivals", want, got)
	for id, at := range got {
		if at > upto {
			t.Errorf("label %s has arrived at %d, after %d, up to which all is told", id, at, upto)
		}
	}
	claimed, err := to.ClaimDue(t.Context(), duePast.Add(2*week), everyID, anHour)                                          // claims are not copied
	claimed = slices.DeleteFunc(must(t, claimed, err), func(d store.DueSearch) bool { return d.Search.Name == "search 3" }) // never claimed before
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

// movedToSlowClock checks that a new store whose clock is behind still assigns revisions after
// every mark and arrival.
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

// movedFeed is the feed hash in the moved registry.
var movedFeed = store.FeedHash{7, 31: 9}

// movedStranger is an address that was asked to confirm before the move. Its destination has been
// deleted.
const movedStranger = "Stranger@example.com"

// furnishDestinations creates a destination of every kind and state.
func furnishDestinations(t *testing.T, st store.Store, account cola.AccountID) {
	t.Helper()
	search := mustSearches(t, st, account)[0]
	hooked := mustDestination(t, st, newHook(account, hook))
	changeDestination(t, st, hooked, func(d *store.Destination) {
		d.SendEmpty, d.Secrets = true, store.Secrets{Current: "whsec_new", Old: secret, OldUntil: epoch.Add(time.Hour)}
	})
	asked := forSearch(newMailbox(account, "O'Brien@Example.com"), search)
	asked.State = cola.DestinationUnconfirmed
	mustDestination(t, st, asked)
	mustDo(t, askOnce(t.Context(), st, asking(account, movedStranger, limited)))
	failing := mustDestination(t, st, newHook(account, hook+"/2"))
	changeDestination(t, st, failing, func(d *store.Destination) {
		inState(cola.DestinationPaused, cola.ReasonFailing)(d)
		d.FailingSince = cola.Some(cola.TimestampOf(epoch))
	})
	mustMessage(t, st, hooked, epoch)
	pending := newHook(account, hook+"/pending")
	pending.State, pending.Challenge = cola.DestinationPending, "sealed:01234567:x"
	mustDestination(t, st, pending)
}

// furnishAttempts records a failed attempt at the account's own address and a delivery to its
// webhook, and leaves a test message to the webhook claimed.
func furnishAttempts(t *testing.T, st store.Store, account cola.AccountID) {
	t.Helper()
	claimed := mustClaimDeliveries(t, st)
	list := mustDestinations(t, st, account)
	attempt(t, st, claimed, list[0], cola.EventRan, unwell, cola.DeliveryPending)
	attempt(t, st, claimed, list[1], cola.EventRan, "", cola.DeliveryDelivered)
	if _, held := claimed[list[1].UUID+" "+cola.EventTest]; !held {
		t.Fatal("no delivery is held; the test shows nothing of it")
	}
}

// furnishSuspended creates a suspended account with a feed and an unscheduled search with a
// requested run, and an account with a limit of no active searches.
func furnishSuspended(t *testing.T, st store.Store) {
	t.Helper()
	c, d := mustAccount(t, st, "suspended@example.com", cola.TierFree), mustAccount(t, st, "downgraded@example.com", cola.TierFree)
	fed := mustCreate(t, st, dueSearch(c.ID, 20, epoch))
	mustDo(t, st.SetFeed(t.Context(), c.ID, fed.UUID, &movedFeed))
	unscheduled := newSearch(c.ID, 21)
	unscheduled.Search.Schedule = nil
	asked, err := st.RequestRun(t.Context(), c.ID, mustCreate(t, st, unscheduled).UUID, epoch, everyID)
	must(t, asked, err)
	mustDo(t, st.Suspend(t.Context(), c.ID, "Ünpaid."))
	mustCreate(t, st, dueSearch(d.ID, 22, epoch))
	mustDo(t, st.SetActiveLimit(t.Context(), d.ID, 0))
}

// movedDeliveriesDoTheSame checks that past deliveries are known and that pending ones, claimed or
// not, are still pending.
func movedDeliveriesDoTheSame(t *testing.T, from, to store.Store, account cola.AccountID) {
	list := mustDestinations(t, to, account)
	same(t, "destinations", mustDestinations(t, from, account), list)
	pending := slices.IndexFunc(list, func(d store.Destination) bool { return d.State == cola.DestinationPending })
	if pending < 0 || list[pending].Challenge.Sealed == "" {
		t.Errorf("destinations %+v, want one that is pending; the test shows nothing of it", list)
	}
	sent, all := deliveriesOf(t, from, account, store.DeliveryFilter{}), deliveriesOf(t, to, account, store.DeliveryFilter{})
	same(t, "deliveries", sent, all)
	var unsent, claimed []int64
	for _, d := range all {
		same(t, "delivery", mustDelivery(t, from, account, d.ID), mustDelivery(t, to, account, d.ID))
		if d.State == cola.DeliveryPending {
			unsent = append(unsent, d.ID)
		}
	}
	due, err := to.ClaimDeliveries(t.Context(), duePast.Add(2*week), allKinds, everyID, anHour)
	for _, d := range must(t, due, err) {
		claimed = append(claimed, d.ID)
		mustNote(t, to, delivered(d, duePast.Add(2*week)))
	}
	slices.Sort(claimed)
	if same(t, "what is sent", unsent, claimed); len(unsent) < 2 {
		t.Errorf("pending are %v, want what has failed and what was held; the test shows nothing of it", unsent)
	}
	if err := askOnce(t.Context(), to, asking(account, movedStranger, limited)); !errors.Is(err, store.ErrConfirmationLimit) {
		t.Errorf("whoever was asked before the move is asked again: %v, want ErrAsked", err)
	}
	made := mustDestination(t, to, newHook(account, hook+"/new"))
	if fresh, last := mustMessage(t, to, made, duePast), all[len(all)-1]; fresh.ID <= last.ID {
		t.Errorf("a new delivery has the id %d, not one after %d", fresh.ID, last.ID)
	}
	if last := mustDestinations(t, to, account); last[len(last)-1].UUID != made.UUID {
		t.Errorf("a new destination is not the last one of %+v", last)
	}
	if _, err := to.CreateDestination(t.Context(), newHook(account, hook)); err == nil {
		t.Error("a destination was made that has been moved")
	}
}

// movedSuspensionsDoTheSame checks that paused searches stay paused until their account may run
// them.
func movedSuspensionsDoTheSame(t *testing.T, from, to store.Store) {
	c, err := to.AccountByEmail(t.Context(), "suspended@example.com")
	must(t, c, err)
	d, err := to.AccountByEmail(t.Context(), "downgraded@example.com")
	must(t, d, err)
	same(t, "suspended", "Ünpaid.", mustUsage(t, to, c.ID).Suspended)
	for _, account := range []cola.AccountID{c.ID, d.ID} {
		same(t, "searches", mustSearches(t, from, account), mustSearches(t, to, account))
	}
	same(t, "due", []string{}, claimable(t, to))
	mustDo(t, to.Restore(t.Context(), c.ID))
	mustDo(t, to.SetActiveLimit(t.Context(), d.ID, 1))
	same(t, "due once they may be", []string{"search 20", "search 21", "search 22"}, claimable(t, to))
	feed, err := to.Feed(t.Context(), movedFeed, 1, 1)
	same(t, "the search of the feed", "search 20", must(t, feed, err).Search.Name)
}
