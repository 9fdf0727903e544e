package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// movedFeed is the hash of the feed that a moved registry has.
var movedFeed = store.FeedHash{7, 31: 9}

// movedStranger is an address that was asked to confirm before the move; its destination is gone.
const movedStranger = "Stranger@example.com"

// furnishDestinations gives an account a destination of every kind and state.
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

// furnishAttempts has something sent to the account's own address, without success, and to its webhook; what tries that is held.
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

// furnishSuspended makes an account that is suspended, with a feed and a search without a schedule that somebody has asked a run of, and
// one that may have no search run.
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

// movedDeliveriesDoTheSame: what was sent is known, and what was to be sent, held or not, still is.
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

// movedSuspensionsDoTheSame: what was paused is, until its account may have it run.
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
