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

func testClaimedDeliveries(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"what is due is claimed, longest first", dueDeliveries},
		{"a claim tells all of a delivery", deliveryClaimTellsAll},
		{"what is held is not claimed before the hold has passed", heldDeliveries},
		{"many are claimed in order", manyDeliveries},
		{"claimed by many at once, each delivery has one claim", deliveriesClaimedByMany},
		{"what is let go is claimed again", deliveriesLetGo},
		{"what is for a suspended account waits", suspendedWait},
		{"what is for a destination that is not active is not claimed", inactiveWait},
		{"how long something has been due is told", oldestPending},
		{"what is deleted while it is claimed is gone", deletedWhileClaimed},
		{"a hold that was taken over notes nothing", takenOverNotesNothing},
	})
}

func dueDeliveries(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mail, post := mustOwn(t, st, a.ID), mustDestination(t, st, newHook(b.ID, hook))
	add := func(to store.Destination, before time.Duration) int64 {
		return mustMessage(t, st, to, duePast.Add(-before)).ID
	}
	same(t, "without any", []int64{}, deliveryIDs(claimDeliveries(t, st, everyID)))
	third, second, first := add(mail, 0), add(post, time.Microsecond), add(mail, time.Hour)
	add(mail, -time.Microsecond)
	fourth := add(post, 0)
	kinds := func(kinds ...string) []int64 {
		claimed, err := st.ClaimDeliveries(t.Context(), duePast, kinds, everyID, anHour)
		must(t, claimed, err)
		mustDo(t, st.ReleaseDeliveries(t.Context(), claimed))
		return deliveryIDs(claimed)
	}
	same(t, "webhooks", []int64{second, fourth}, kinds(cola.KindWebhook))
	same(t, "mail", []int64{first, third}, kinds(cola.KindEmail))
	same(t, "mail, asked for twice", []int64{first, third}, kinds(cola.KindEmail, cola.KindEmail))
	same(t, "of no kind", []int64{}, kinds())
	same(t, "of another kind", []int64{}, kinds("pigeon"))
	same(t, "the first two", []int64{first, second}, deliveryIDs(claimDeliveries(t, st, 2)))
	same(t, "none", []int64{}, deliveryIDs(claimDeliveries(t, st, 0)))
	same(t, "the others", []int64{third, fourth}, deliveryIDs(claimDeliveries(t, st, 3)))
}

func deliveryClaimTellsAll(t *testing.T, st store.Store, c *clock) {
	a := mustNotify(t, st, "Ann@example.com", 1, 1)
	d := mustClaimDelivery(t, st)
	want := deliveriesOf(t, st, a.ID, store.DeliveryFilter{State: cola.DeliveryPending})[0]
	if d.Hold == 0 {
		t.Error("the claim has no hold")
	}
	same(t, "the claim", store.DueDelivery{ID: want.ID, Hold: d.Hold, MessageID: want.MessageID, Event: cola.EventRan, Kind: cola.KindWebhook, Run: a.run,
		Destination: a.hook, AccountEmail: "Ann@example.com", CreatedAt: duePast, DueAt: duePast}, d)
	mustNote(t, st, retried(d, duePast.Add(time.Minute)))
	again, err := st.ClaimDeliveries(t.Context(), duePast.Add(2*anHour), allKinds, everyID, anHour)
	if len(must(t, again, err)) != 1 || again[0].Hold == d.Hold {
		t.Fatalf("claimed %+v, want the same with another hold", again)
	}
	d.Hold, d.Attempts, d.FirstAttemptAt, d.DueAt = again[0].Hold, 1, duePast.Add(time.Minute), duePast.Add(time.Minute+anHour)
	d.Destination = mustDestinationNow(t, st, a.hook)
	same(t, "the next claim", d, again[0])

	named := mustAccountOf(t, st, anIssuer, "1", "")
	hooked := mustDestination(t, st, forSearch(newHook(named.ID, hook), mustCreate(t, st, newSearch(named.ID, 2))))
	test := mustMessage(t, st, hooked, duePast)
	d = mustClaimDelivery(t, st)
	same(t, "of an account without an address", store.DueDelivery{ID: test.ID, Hold: d.Hold, MessageID: test.MessageID, Event: cola.EventTest, Kind: cola.KindWebhook,
		Destination: hooked, CreatedAt: duePast, DueAt: duePast}, d)
}

func heldDeliveries(t *testing.T, st store.Store, c *clock) {
	mustNotify(t, st, "a@example.com", 1, 1)
	first := mustClaimDelivery(t, st)
	for _, step := range []time.Duration{0, time.Minute, anHour - time.Minute - time.Microsecond} {
		c.advance(step)
		same(t, "while it is held", []int64{}, deliveryIDs(claimDeliveries(t, st, everyID)))
	}
	c.advance(time.Microsecond)
	second := mustClaimDelivery(t, st)
	if second.Hold == first.Hold {
		t.Error("two claims have one hold")
	}
	second.Hold = first.Hold
	same(t, "what was not sent", first, second)
}

func manyDeliveries(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	to := []store.Destination{mustOwn(t, st, a.ID), mustDestination(t, st, newHook(a.ID, hook))}
	var want []int64
	for n := range 250 { // more than a backend claims at a time
		want = append(want, mustMessage(t, st, to[n%2], duePast.Add(time.Duration(n/3-200)*time.Second)).ID)
	}
	claimed := claimDeliveries(t, st, 230)
	same(t, "the first", want[:230], deliveryIDs(claimed))
	same(t, "the rest", want[230:], deliveryIDs(claimDeliveries(t, st, 230)))
	mustDo(t, st.ReleaseDeliveries(t.Context(), claimed))
	same(t, "those that were let go", want[:230], deliveryIDs(claimDeliveries(t, st, everyID)))
}

func deliveriesClaimedByMany(t *testing.T, st store.Store, _ *clock) {
	const messages = 120
	for n := range messages {
		mustMessage(t, st, mustOwn(t, st, mustAccount(t, st, fmt.Sprintf("%d@example.com", n), cola.TierFree).ID), epoch)
	}
	var mu sync.Mutex
	claims := map[int64]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				claimed := claimDeliveries(t, st, 3)
				mu.Lock()
				for _, d := range claimed {
					claims[d.ID]++
				}
				mu.Unlock()
				if len(claimed) == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	for id, n := range claims {
		if n != 1 {
			t.Errorf("delivery %d was claimed %d times", id, n)
		}
	}
	if left := claimDeliveries(t, st, everyID); len(claims)+len(left) != messages {
		t.Errorf("%d deliveries were claimed, %d are left; want %d in all", len(claims), len(left), messages)
	}
}

func deliveriesLetGo(t *testing.T, st store.Store, c *clock) {
	mustNotify(t, st, "a@example.com", 1, 2)
	release := func(claimed ...store.DueDelivery) {
		t.Helper()
		mustDo(t, st.ReleaseDeliveries(t.Context(), claimed))
	}
	release()
	both := claimDeliveries(t, st, everyID)
	release(both[1], store.DueDelivery{ID: both[1].ID + 1_000, Hold: 1})
	again := mustClaimDelivery(t, st)
	same(t, "what was let go", both[1].ID, again.ID)
	release(both[1]) // no longer the current claim
	same(t, "after the wrong claim was let go", []int64{}, deliveryIDs(claimDeliveries(t, st, everyID)))
	mustNotNote(t, st, "under a claim that was let go", delivered(both[1], duePast))
	release(again)
	mustNotNote(t, st, "under a claim that was let go, and that nobody has taken", delivered(again, duePast))
	release(again)
	c.advance(anHour)
	same(t, "all", deliveryIDs(both), deliveryIDs(claimDeliveries(t, st, everyID)))
}

func suspendedWait(t *testing.T, st store.Store, c *clock) {
	a, b := mustNotify(t, st, "a@example.com", 1, 1), mustNotify(t, st, "b@example.com", 2, 1)
	held := claimDeliveries(t, st, everyID)
	mustDo(t, st.Suspend(t.Context(), a.ID, "unpaid"))
	mustNote(t, st, retried(held[0], duePast)) // an attempt already in progress
	mustDo(t, st.ReleaseDeliveries(t.Context(), held[1:]))
	claimed, err := st.ClaimDeliveries(t.Context(), duePast.Add(week), allKinds, everyID, anHour)
	same(t, "while it is suspended", []int64{held[1].ID}, deliveryIDs(must(t, claimed, err)))
	mustNote(t, st, delivered(claimed[0], duePast))
	oldest, err := st.OldestPending(t.Context(), allKinds)
	same(t, "what may be sent", time.Time{}, must(t, oldest, err))
	mustDo(t, st.Restore(t.Context(), a.ID))
	claimed, err = st.ClaimDeliveries(t.Context(), duePast.Add(week), allKinds, everyID, anHour)
	same(t, "once it is restored", []int64{held[0].ID}, deliveryIDs(must(t, claimed, err)))
	same(t, "accounts", []cola.AccountID{a.ID, b.ID}, []cola.AccountID{held[0].Destination.Account, held[1].Destination.Account})
}

func inactiveWait(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	test := mustMessage(t, st, a.hook, duePast)
	held := claimDeliveries(t, st, everyID)
	same(t, "claimed", 2, len(held))
	mustTurn(t, st, a.hook, false)
	mustDo(t, st.ReleaseDeliveries(t.Context(), held))
	same(t, "once it is paused", []int64{}, deliveryIDs(claimDeliveries(t, st, everyID)))
	mustTurn(t, st, a.hook, true)
	same(t, "what was skipped, once it is active again", []int64{}, deliveryIDs(claimDeliveries(t, st, everyID)))
	if _, err := st.Replay(t.Context(), a.ID, test.ID, duePast); err != nil {
		t.Fatal(err)
	}
	same(t, "what is asked for again", test.ID, mustClaimDelivery(t, st).ID)

	asked := newMailbox(a.ID, "x@example.com")
	asked.State = cola.DestinationUnconfirmed
	confirm := mustAskToConfirm(t, st, mustDestination(t, st, asked), duePast)
	same(t, "what asks an address to agree", confirm.ID, mustClaimDelivery(t, st).ID)
}

func oldestPending(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mail, post := mustOwn(t, st, a.ID), mustDestination(t, st, newHook(a.ID, hook))
	oldest := func(what string, want time.Time, kinds ...string) {
		t.Helper()
		due, err := st.OldestPending(t.Context(), kinds)
		if must(t, due, err); !due.Equal(want) {
			t.Errorf("%s: the oldest is due since %s, want %s", what, due, want)
		}
	}
	oldest("without any", time.Time{}, allKinds...)
	mustMessage(t, st, mail, duePast)
	mustMessage(t, st, post, duePast.Add(-time.Hour))
	mustMessage(t, st, mail, duePast.Add(time.Hour))
	oldest("of all", duePast.Add(-time.Hour), allKinds...)
	oldest("of mail", duePast, cola.KindEmail)
	oldest("of none", time.Time{})
	claimed := claimDeliveries(t, st, everyID)
	oldest("with those held that are due", duePast.Add(-time.Hour), allKinds...)
	mustNote(t, st, delivered(claimed[0], duePast))
	oldest("with the first delivered", duePast, allKinds...)
	mustNote(t, st, retried(claimed[1], duePast.Add(time.Hour)))
	oldest("with the second to be tried again", duePast.Add(time.Hour), allKinds...)
	mustTurn(t, st, mail, false)
	oldest("with none that may be sent", time.Time{}, allKinds...)
}

// deletedWhileClaimed checks that an attempt is not recorded if its delivery was deleted meanwhile,
// and that releasing it is not an error.
func deletedWhileClaimed(t *testing.T, st store.Store, _ *clock) {
	for n, remove := range []func(a notified) error{
		func(a notified) error { return st.DeleteSavedSearch(t.Context(), a.ID, a.search.UUID) },
		func(a notified) error { return st.DeleteDestination(t.Context(), a.ID, a.hook.UUID) },
		func(notified) error {
			_, err := st.DeleteOldDeliveries(t.Context(), duePast.Add(time.Microsecond))
			return err
		},
	} {
		a := mustNotify(t, st, fmt.Sprintf("%d@example.com", n), n, 2)
		claimed := claimDeliveries(t, st, everyID)
		same(t, "claimed", 2, len(claimed))
		mustNote(t, st, retried(claimed[1], duePast))
		same(t, "attempts", 1, len(mustDelivery(t, st, a.ID, claimed[1].ID).Attempts))
		mustDo(t, remove(a))
		mustNotNote(t, st, "of what is deleted", delivered(claimed[0], duePast))
		mustDo(t, st.ReleaseDeliveries(t.Context(), claimed))
		if d, err := st.DeliveryOf(t.Context(), a.ID, claimed[0].ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the delivery: %+v, %v; want ErrNotFound", d, err)
		}
		claimed, err := st.ClaimDeliveries(t.Context(), duePast.Add(week), allKinds, everyID, anHour)
		same(t, "due in a week", []int64{}, deliveryIDs(must(t, claimed, err)))
	}
	sizes, err := st.Sizes(t.Context())
	same(t, "attempts that are left", 0, must(t, sizes, err)[store.ItemAttempt])
}

func takenOverNotesNothing(t *testing.T, st store.Store, c *clock) {
	mustNotify(t, st, "a@example.com", 1, 1)
	first := mustClaimDelivery(t, st)
	c.advance(anHour)
	second := mustClaimDelivery(t, st)
	for what, a := range map[string]store.Attempt{"delivered": delivered(first, duePast), "to be tried again": retried(first, duePast),
		"given up": givenUp(first, duePast, cola.ReasonGone)} {
		mustNotNote(t, st, what+" under the first claim", a)
	}
	mustDo(t, st.ReleaseDeliveries(t.Context(), []store.DueDelivery{first}))
	c.advance(100 * anHour) // no other process has claimed it
	mustNote(t, st, delivered(second, duePast))
	mustNotNote(t, st, "under the second claim, again", delivered(second, duePast))
	mustNotNote(t, st, "under the first claim, later", delivered(first, duePast))
}

// sharedMessages is the number of messages that processes share, enough for all of them to overlap.
const sharedMessages = 300

// deliverUntilDone claims messages and records successful attempts until none is due, reporting the
// running total to told. It returns the total.
func deliverUntilDone(ctx context.Context, st store.Store, hold time.Duration, told func(n int)) (noted int, err error) {
	for {
		claimed, err := st.ClaimDeliveries(ctx, duePast, allKinds, 4, hold)
		if err != nil || len(claimed) == 0 {
			return noted, err
		}
		for _, d := range claimed {
			recorded, err := st.RecordAttempt(ctx, delivered(d, duePast))
			if err == nil && !recorded {
				err = errors.New("an attempt at a message that nobody else can have was left out")
			}
			if err != nil {
				return noted, err
			}
			noted++
		}
		told(noted)
	}
}

func mustShareMessages(t *testing.T, db Database) cola.AccountID {
	t.Helper()
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	to := []store.Destination{mustOwn(t, db, account.ID), mustDestination(t, db, newHook(account.ID, hook))}
	for n := range sharedMessages {
		mustMessage(t, db, to[n%2], epoch)
	}
	return account.ID
}

// mustHaveDeliveredOnce checks that every message has exactly one attempt.
func mustHaveDeliveredOnce(t *testing.T, db Database, account cola.AccountID) {
	t.Helper()
	all := deliveriesOf(t, db, account, store.DeliveryFilter{})
	same(t, "messages", sharedMessages, len(all))
	for _, d := range all {
		if detail := mustDelivery(t, db, account, d.ID); d.State != cola.DeliveryDelivered || d.AttemptCount != 1 || len(detail.Attempts) != 1 {
			t.Errorf("message %d is %s after %d attempts: %+v", d.ID, d.State, d.AttemptCount, detail.Attempts)
		}
	}
}

// delivering is the delivery of messages as shared work.
var delivering = sharedWork{
	jobs: sharedMessages, work: "deliver", briefly: "deliver briefly", claim: "claim deliveries",
	share: mustShareMessages, done: mustHaveDeliveredOnce, untilDone: deliverUntilDone,
	claimAll: func(ctx context.Context, st store.Store) (int, error) {
		claimed, err := st.ClaimDeliveries(ctx, duePast, allKinds, everyID, shortHold)
		return len(claimed), err
	},
	left: func(ctx context.Context, st store.Store) (bool, error) {
		oldest, err := st.OldestPending(ctx, allKinds)
		return !oldest.IsZero(), err
	},
}
