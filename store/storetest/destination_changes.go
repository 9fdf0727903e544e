package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func destinationChangeChecks() []check {
	return []check{
		{"a changed destination comes back", changedDestinationComesBack},
		{"a change of a destination that is refused writes nothing", refusedDestinationChange},
		{"changes of a destination at once are all made", destinationChangedAtOnce},
		{"what waits for a destination that is not active any more is skipped", pausedSkipsPending},
		{"a destination is told once of a run", toldOnce},
		{"with a destination goes what was sent there", deletedDestination},
		{"with a search go its destinations, and what was sent of it", deletedSearchDestinations},
		{"destinations are deleted while runs are recorded", deletedWhileRecorded},
		{"a search has one feed at a time", feedIsSet},
	}
}

// changeDestination changes a destination and returns it.
func changeDestination(t tb, st store.Store, d store.Destination, change func(d *store.Destination)) store.Destination {
	t.Helper()
	changed, err := st.UpdateDestination(context.Background(), d.Account, d.UUID, func(d *store.Destination) error {
		change(d)
		return nil
	})
	return must(t, changed, err)
}

// inState sets the state of a destination, and its reason unless that is empty.
func inState(state, reason string) func(d *store.Destination) {
	return func(d *store.Destination) { d.State, d.Reason = state, cola.Opt[string]{V: reason, OK: reason != ""} }
}

func changedDestinationComesBack(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	want, own := mustDestination(t, st, newHook(a.ID, hook)), mustOwn(t, st, a.ID)
	for _, change := range []func(d *store.Destination){
		inState(cola.DestinationPaused, cola.ReasonFailing),
		func(d *store.Destination) { d.FailingSince = cola.Some(cola.TimestampOf(epoch.Add(-time.Hour))) },
		func(d *store.Destination) { d.SendEmpty = true },
		func(d *store.Destination) {
			d.Secrets = store.Secrets{Current: "whsec_new", Old: secret, OldUntil: epoch.Add(24 * time.Hour)}
		},
		func(d *store.Destination) { d.Challenge = store.Challenge{Sealed: "sealed:1", Tries: 3} },
		func(d *store.Destination) { d.VerifiedAt = epoch.Add(time.Minute) },
		inState(cola.DestinationDisabled, cola.ReasonGone),
		func(d *store.Destination) {
			d.State, d.Reason, d.FailingSince, d.Secrets = cola.DestinationActive, cola.Opt[string]{}, cola.Opt[cola.Timestamp]{}, store.Secrets{Current: "whsec_newer"}
		},
	} {
		shown := want
		change(&want)
		changed := changeDestination(t, st, shown, func(d *store.Destination) {
			same(t, "what is changed", shown, *d)
			change(d)
			d.UUID, d.Kind, d.Address, d.Own, d.Account, d.CreatedAt = "x", "x", cola.Some("x"), true, 42, 1 // ignored: changes cannot set these
		})
		same(t, "changed", want, changed)
		found, err := st.Destination(t.Context(), a.ID, want.UUID)
		same(t, "found", want, must(t, found, err))
	}
	own.SendEmpty = true
	same(t, "the own one, changed", own, changeDestination(t, st, own, func(d *store.Destination) { d.SendEmpty = true }))
	same(t, "destinations", []store.Destination{own, want}, mustDestinations(t, st, a.ID))
}

func refusedDestinationChange(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustDestination(t, st, newHook(a.ID, hook))
	refuse := func(spoil func(d *store.Destination), refusal error) error {
		changed, err := st.UpdateDestination(t.Context(), a.ID, made.UUID, func(d *store.Destination) error {
			d.State, d.SendEmpty = cola.DestinationPaused, true
			spoil(d)
			return refusal
		})
		same(t, "what is returned", store.Destination{}, changed)
		return err
	}
	for _, refusal := range []error{errors.New("not that"), cola.Errorf(cola.CodeValidation, "Not that."), store.ErrUnavailable, store.ErrNotFound} {
		if err := refuse(func(*store.Destination) {}, refusal); err != refusal {
			t.Errorf("%v: %v, want it as it is", refusal, err)
		}
	}
	for name, spoil := range map[string]func(d *store.Destination){
		"no state":               func(d *store.Destination) { d.State = "" },
		"a reason with a NUL":    func(d *store.Destination) { d.Reason = cola.Some("\x00") },
		"a secret of bytes":      func(d *store.Destination) { d.Secrets.Current = "\xff" },
		"an old secret of bytes": func(d *store.Destination) { d.Secrets.Old = "\xff" },
		"a challenge of bytes":   func(d *store.Destination) { d.Challenge.Sealed = "\xff" },
	} {
		if err := refuse(spoil, nil); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
	}
	found, err := st.Destination(t.Context(), a.ID, made.UUID)
	same(t, "the destination", made, must(t, found, err))
}

// destinationChangedAtOnce checks that concurrent changes each see the result of the previous one.
func destinationChangedAtOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustDestination(t, st, newHook(a.ID, hook))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			changeDestination(t, st, made, func(d *store.Destination) { d.Secrets.Old += "." })
		})
	}
	wg.Wait()
	found, err := st.Destination(t.Context(), a.ID, made.UUID)
	same(t, "the old secret", "..........", must(t, found, err).Secrets.Old)
}

// tell runs the n-th search of an account with a match, and returns the search.
func tell(t tb, st store.Store, account cola.AccountID, n int) cola.SavedSearch {
	t.Helper()
	made := mustCreate(t, st, dueSearch(account, n, epoch))
	mustRecord(t, st, runOf(t, st, mustClaimOne(t, st), 1))
	return made
}

// mustDeliveries returns an account's deliveries, newest first.
func mustDeliveries(t tb, st store.Store, account cola.AccountID) []cola.Delivery {
	t.Helper()
	list, _, err := st.DeliveriesOf(context.Background(), account, store.DeliveryFilter{}, store.Slice{Limit: everyID})
	return must(t, list, err)
}

// mustClaimDeliveries claims all due deliveries and returns them by destination and event.
func mustClaimDeliveries(t tb, st store.Store) map[string]store.DueDelivery {
	t.Helper()
	claimed, err := st.ClaimDeliveries(context.Background(), duePast.Add(week), []string{cola.KindEmail, cola.KindWebhook}, everyID, anHour)
	all := map[string]store.DueDelivery{}
	for _, d := range must(t, claimed, err) {
		all[d.Destination.UUID+" "+d.Event] = d
	}
	return all
}

func pausedSkipsPending(t *testing.T, st store.Store, c *clock) {
	for i, state := range []string{cola.DestinationPaused, cola.DestinationDisabled} {
		a := mustAccount(t, st, fmt.Sprintf("%d@example.com", i), cola.TierFree)
		own, hooked := mustOwn(t, st, a.ID), mustDestination(t, st, newHook(a.ID, hook))
		_, err := st.AddTest(t.Context(), a.ID, hooked.UUID, duePast)
		mustDo(t, err)
		tell(t, st, a.ID, 10*i)
		changeDestination(t, st, hooked, func(d *store.Destination) { d.SendEmpty = true })
		for _, d := range mustDeliveries(t, st, a.ID) {
			same(t, "of a destination that is active still", cola.DeliveryPending, d.State)
		}
		claimed := mustClaimDeliveries(t, st)
		c.advance(time.Hour)
		changeDestination(t, st, hooked, inState(state, cola.ReasonHolder))
		skipped := 0
		for _, d := range mustDeliveries(t, st, a.ID) {
			if d.Destination == own.UUID {
				same(t, "of another destination", cola.DeliveryPending, d.State)
				continue
			}
			skipped++
			got := [...]any{d.State, d.Error, d.NextAttemptAt, d.SettledAt, d.AttemptCount}
			same(t, d.Event, [...]any{cola.DeliverySkipped, cola.Some("The destination was " + state + "."), cola.Opt[cola.Timestamp]{},
				cola.Some(cola.TimestampOf(c.now())), 0}, got)
		}
		same(t, "skipped", 2, skipped)
		for _, under := range []struct{ event, failure, state, becomes string }{ // attempts in progress are recorded
			{cola.EventRan, "", cola.DeliveryDelivered, cola.DeliveryDelivered},
			{cola.EventTest, "The receiver answered 503.", cola.DeliveryPending, cola.DeliverySkipped},
		} {
			attempt(t, st, claimed, hooked, under.event, under.failure, under.state)
			detail, err := st.DeliveryOf(t.Context(), a.ID, claimed[hooked.UUID+" "+under.event].ID)
			same(t, "attempted since", under.becomes, must(t, detail, err).State)
		}
		before := mustDeliveries(t, st, a.ID)
		changeDestination(t, st, hooked, inState(cola.DestinationActive, ""))
		same(t, "once it is active again", before, mustDeliveries(t, st, a.ID))
	}
}

// toldOnce checks that an address receives one message per run, even if several destinations have
// it.
func toldOnce(t *testing.T, st store.Store, _ *clock) {
	named := mustAccountOf(t, st, anIssuer, "1", "")
	mailbox := mustDestination(t, st, newMailbox(named.ID, "Me@example.com"))
	tell(t, st, named.ID, 1)
	mustAccountOf(t, st, anIssuer, "1", "me@example.com") // now it is also the account's own
	tell(t, st, named.ID, 2)
	var told []string
	for _, d := range mustDeliveries(t, st, named.ID) {
		told = append(told, d.Destination)
	}
	same(t, "told, newest first", []string{mustOwn(t, st, named.ID).UUID, mailbox.UUID}, told)

	b := mustAccount(t, st, "b@example.com", cola.TierFree)
	search := mustCreate(t, st, dueSearch(b.ID, 3, epoch))
	asked := forSearch(newMailbox(b.ID, "B@example.com"), search)
	asked.State = cola.DestinationUnconfirmed
	unconfirmed := mustDestination(t, st, asked)
	mustDestination(t, st, newHook(b.ID, hook+"/A"))
	mustDestination(t, st, forSearch(newHook(b.ID, hook+"/a"), search)) // a different address
	kinds := map[string]int{}
	mustRecord(t, st, runOf(t, st, mustClaimOne(t, st), 1))
	for _, d := range mustDeliveries(t, st, b.ID) {
		if kinds[d.Kind]++; d.Destination == unconfirmed.UUID {
			t.Error("whoever has not agreed is told")
		}
	}
	same(t, "told", map[string]int{cola.KindEmail: 1, cola.KindWebhook: 2}, kinds)
}

// attempt records an attempt of the claimed delivery of an event to a destination.
func attempt(t tb, st store.Store, claimed map[string]store.DueDelivery, d store.Destination, event, failure, state string) {
	t.Helper()
	due, found := claimed[d.UUID+" "+event]
	if !found {
		t.Fatal("nothing is due to", d.UUID, "of", event)
	}
	recorded, err := st.RecordAttempt(context.Background(), store.Attempt{Due: due, At: duePast, Took: 184_123 * time.Microsecond, Status: 503, Error: failure,
		State: state, Next: duePast.Add(2 * week)})
	if !recorded || err != nil {
		t.Errorf("an attempt was not recorded: %v", err)
	}
}

func feedIsSet(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	one, two := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, newSearch(a.ID, 2))
	hashes := []*store.FeedHash{{1}, {2}, {3}}
	feeds := func() (names [3]string) {
		for i, h := range hashes {
			feed, err := st.Feed(t.Context(), *h, 1, 1)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
			names[i] = feed.Search.Name
		}
		return names
	}
	for _, k := range []struct {
		search cola.SavedSearch
		hash   *store.FeedHash
		want   [3]string
	}{
		{one, hashes[0], [3]string{one.Name}}, {two, hashes[1], [3]string{one.Name, two.Name}}, {one, hashes[2], [3]string{"", two.Name, one.Name}},
		{one, hashes[2], [3]string{"", two.Name, one.Name}}, {one, nil, [3]string{"", two.Name}}, {one, nil, [3]string{"", two.Name}}, {one, hashes[0], [3]string{one.Name, two.Name}},
	} {
		mustDo(t, st.SetFeed(t.Context(), a.ID, k.search.UUID, k.hash))
		same(t, "feeds", k.want, feeds())
	}
	mustChange(t, st, a.ID, one.UUID, renamed("renamed")) // does not affect the feed
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
	}{{b.ID, one.UUID}, {b.ID + 100, one.UUID}, {a.ID, ""}, {a.ID, one.UUID + "\x00"}, {a.ID, newSearch(a.ID, 3).Search.UUID}} {
		if err := st.SetFeed(t.Context(), k.account, k.uuid, hashes[2]); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("SetFeed(%d, %q): %v, want ErrNotFound", k.account, k.uuid, err)
		}
	}
	mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, two.UUID))
	same(t, "feeds of what is left", [3]string{"renamed"}, feeds())
}
