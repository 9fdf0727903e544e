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
		{"due deliveries, oldest first", dueDeliveries},
		{"claim contents", deliveryClaimContents},
		{"claims expire", deliveryClaimsExpire},
		{"many deliveries", manyDeliveries},
		{"concurrent claims", concurrentDeliveryClaims},
		{"release", releaseDeliveries},
		{"suspended account", suspendedDeliveriesWait},
		{"inactive destination", inactiveDestinationNotClaimed},
		{"oldest pending", oldestPending},
		{"deleted while claimed", deleteClaimedDeliveries},
		{"claim taken over", takenOverClaimRecordsNoAttempt},
	})
}

func dueDeliveries(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	email, webhook := mustOwn(t, st, a.ID), mustDestination(t, st, newHook(b.ID, hook))
	add := func(to store.Destination, before time.Duration) int64 {
		return mustSendTest(t, st, to, duePast.Add(-before)).ID
	}
	checkEqual(t, "claimed without deliveries", []int64{}, deliveryIDs(claimDeliveries(t, st, noLimit)))
	third, second, first := add(email, 0), add(webhook, time.Microsecond), add(email, time.Hour)
	add(email, -time.Microsecond)
	fourth := add(webhook, 0)
	kinds := func(kinds ...string) []int64 {
		claimed, err := st.ClaimDeliveries(t.Context(), duePast, kinds, noLimit, anHour)
		must(t, claimed, err)
		mustDo(t, st.ReleaseDeliveries(t.Context(), claimed))
		return deliveryIDs(claimed)
	}
	checkEqual(t, "claimed webhooks", []int64{second, fourth}, kinds(cola.KindWebhook))
	checkEqual(t, "claimed emails", []int64{first, third}, kinds(cola.KindEmail))
	checkEqual(t, "claimed emails, with a duplicate kind", []int64{first, third}, kinds(cola.KindEmail, cola.KindEmail))
	checkEqual(t, "claimed without a kind", []int64{}, kinds())
	checkEqual(t, "claimed with an unknown kind", []int64{}, kinds("pigeon"))
	checkEqual(t, "first two", []int64{first, second}, deliveryIDs(claimDeliveries(t, st, 2)))
	checkEqual(t, "limit 0", []int64{}, deliveryIDs(claimDeliveries(t, st, 0)))
	checkEqual(t, "remaining deliveries", []int64{third, fourth}, deliveryIDs(claimDeliveries(t, st, 3)))
}

func deliveryClaimContents(t *testing.T, st store.Store, c *clock) {
	a := mustNotify(t, st, "Ann@example.com", 1, 1)
	d := mustClaimDelivery(t, st)
	want := deliveriesOf(t, st, a.ID, store.DeliveryFilter{State: cola.DeliveryPending})[0]
	if d.Hold == 0 {
		t.Error("Hold = 0, want nonzero")
	}
	checkEqual(t, "claim", store.DueDelivery{
		ID:           want.ID,
		Hold:         d.Hold,
		MessageID:    want.MessageID,
		Event:        cola.EventRan,
		Kind:         cola.KindWebhook,
		Run:          a.run,
		Destination:  a.hook,
		AccountEmail: "Ann@example.com",
		CreatedAt:    duePast,
		DueAt:        duePast,
	}, d)
	mustRecordAttempt(t, st, retriedAttempt(d, duePast.Add(time.Minute)))
	claimed, err := st.ClaimDeliveries(t.Context(), duePast.Add(2*anHour), allKinds, noLimit, anHour)
	if len(must(t, claimed, err)) != 1 || claimed[0].Hold == d.Hold {
		t.Fatalf("ClaimDeliveries = %+v, want the same delivery with another hold", claimed)
	}
	d.Hold = claimed[0].Hold
	d.Attempts = 1
	d.FirstAttemptAt = duePast.Add(time.Minute)
	d.DueAt = duePast.Add(time.Minute + anHour)
	d.Destination = mustReload(t, st, a.hook)
	checkEqual(t, "second claim", d, claimed[0])

	named := mustAccountOf(t, st, testIssuer, "1", "")
	hooked := mustDestination(t, st, forSearch(newHook(named.ID, hook), mustCreate(t, st, newSearch(named.ID, 2))))
	test := mustSendTest(t, st, hooked, duePast)
	d = mustClaimDelivery(t, st)
	checkEqual(t, "claim for an account without email",
		store.DueDelivery{
			ID:          test.ID,
			Hold:        d.Hold,
			MessageID:   test.MessageID,
			Event:       cola.EventTest,
			Kind:        cola.KindWebhook,
			Destination: hooked,
			CreatedAt:   duePast,
			DueAt:       duePast,
		}, d)
}

func deliveryClaimsExpire(t *testing.T, st store.Store, c *clock) {
	mustNotify(t, st, "a@example.com", 1, 1)
	first := mustClaimDelivery(t, st)
	for _, step := range []time.Duration{0, time.Minute, anHour - time.Minute - time.Microsecond} {
		c.advance(step)
		checkEqual(t, "claimed while held", []int64{}, deliveryIDs(claimDeliveries(t, st, noLimit)))
	}
	c.advance(time.Microsecond)
	second := mustClaimDelivery(t, st)
	if second.Hold == first.Hold {
		t.Errorf("second Hold = %v, want a different one", second.Hold)
	}
	second.Hold = first.Hold
	checkEqual(t, "second claim", first, second)
}

func manyDeliveries(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	to := []store.Destination{mustOwn(t, st, a.ID), mustDestination(t, st, newHook(a.ID, hook))}
	var want []int64
	for n := range 250 { // more than a backend claims at a time
		want = append(want, mustSendTest(t, st, to[n%2], duePast.Add(time.Duration(n/3-200)*time.Second)).ID)
	}
	claimed := claimDeliveries(t, st, 230)
	checkEqual(t, "first claims", want[:230], deliveryIDs(claimed))
	checkEqual(t, "remaining claims", want[230:], deliveryIDs(claimDeliveries(t, st, 230)))
	mustDo(t, st.ReleaseDeliveries(t.Context(), claimed))
	checkEqual(t, "claims after the release", want[:230], deliveryIDs(claimDeliveries(t, st, noLimit)))
}

func concurrentDeliveryClaims(t *testing.T, st store.Store, _ *clock) {
	const messages = 120
	for n := range messages {
		mustSendTest(t, st, mustOwn(t, st, mustAccount(t, st, fmt.Sprintf("%d@example.com", n), cola.TierFree).ID),
			epoch)
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
			t.Errorf("delivery %d claimed %d times, want 1", id, n)
		}
	}
	if left := claimDeliveries(t, st, noLimit); len(claims)+len(left) != messages {
		t.Errorf("%d deliveries claimed, %d left; want %d in all", len(claims), len(left), messages)
	}
}

func releaseDeliveries(t *testing.T, st store.Store, c *clock) {
	mustNotify(t, st, "a@example.com", 1, 2)
	release := func(claimed ...store.DueDelivery) {
		t.Helper()
		mustDo(t, st.ReleaseDeliveries(t.Context(), claimed))
	}
	release()
	both := claimDeliveries(t, st, noLimit)
	release(both[1], store.DueDelivery{ID: both[1].ID + 1_000, Hold: 1})
	second := mustClaimDelivery(t, st)
	checkEqual(t, "claim after the release", both[1].ID, second.ID)
	release(both[1]) // no longer the current claim
	checkEqual(t, "claims after releasing an outdated claim", []int64{}, deliveryIDs(claimDeliveries(t, st, noLimit)))
	checkAttemptRejected(t, st, "released claim, taken over", deliveredAttempt(both[1], duePast))
	release(second)
	checkAttemptRejected(t, st, "released claim", deliveredAttempt(second, duePast))
	release(second)
	c.advance(anHour)
	checkEqual(t, "claims after the hold", deliveryIDs(both), deliveryIDs(claimDeliveries(t, st, noLimit)))
}

func suspendedDeliveriesWait(t *testing.T, st store.Store, c *clock) {
	a, b := mustNotify(t, st, "a@example.com", 1, 1), mustNotify(t, st, "b@example.com", 2, 1)
	first := claimDeliveries(t, st, noLimit)
	mustDo(t, st.Suspend(t.Context(), a.ID, "unpaid"))
	mustRecordAttempt(t, st, retriedAttempt(first[0], duePast)) // an attempt already in progress
	mustDo(t, st.ReleaseDeliveries(t.Context(), first[1:]))
	claimed, err := st.ClaimDeliveries(t.Context(), duePast.Add(week), allKinds, noLimit, anHour)
	checkEqual(t, "claims while suspended", []int64{first[1].ID}, deliveryIDs(must(t, claimed, err)))
	mustRecordAttempt(t, st, deliveredAttempt(claimed[0], duePast))
	oldest, err := st.OldestPending(t.Context(), allKinds)
	checkEqual(t, "OldestPending", time.Time{}, must(t, oldest, err))
	mustDo(t, st.Restore(t.Context(), a.ID))
	claimed, err = st.ClaimDeliveries(t.Context(), duePast.Add(week), allKinds, noLimit, anHour)
	checkEqual(t, "claims after Restore", []int64{first[0].ID}, deliveryIDs(must(t, claimed, err)))
	checkEqual(t, "accounts", []cola.AccountID{a.ID, b.ID},
		[]cola.AccountID{first[0].Destination.Account, first[1].Destination.Account})
}

func inactiveDestinationNotClaimed(t *testing.T, st store.Store, _ *clock) {
	a := mustNotify(t, st, "a@example.com", 1, 1)
	test := mustSendTest(t, st, a.hook, duePast)
	first := claimDeliveries(t, st, noLimit)
	checkEqual(t, "number of claims", 2, len(first))
	mustSetActive(t, st, a.hook, false)
	mustDo(t, st.ReleaseDeliveries(t.Context(), first))
	checkEqual(t, "claims while paused", []int64{}, deliveryIDs(claimDeliveries(t, st, noLimit)))
	mustSetActive(t, st, a.hook, true)
	checkEqual(t, "claims after reactivation", []int64{}, deliveryIDs(claimDeliveries(t, st, noLimit)))
	if _, err := st.Replay(t.Context(), a.ID, test.ID, duePast); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "claim after Replay", test.ID, mustClaimDelivery(t, st).ID)

	unconfirmed := newMailbox(a.ID, "x@example.com")
	unconfirmed.State = cola.DestinationUnconfirmed
	confirm := mustRequestConfirmation(t, st, mustDestination(t, st, unconfirmed), duePast)
	checkEqual(t, "claimed confirmation", confirm.ID, mustClaimDelivery(t, st).ID)
}

func oldestPending(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	email, webhook := mustOwn(t, st, a.ID), mustDestination(t, st, newHook(a.ID, hook))
	oldest := func(desc string, want time.Time, kinds ...string) {
		t.Helper()
		due, err := st.OldestPending(t.Context(), kinds)
		if must(t, due, err); !due.Equal(want) {
			t.Errorf("%s: OldestPending = %s, want %s", desc, due, want)
		}
	}
	oldest("no deliveries", time.Time{}, allKinds...)
	mustSendTest(t, st, email, duePast)
	mustSendTest(t, st, webhook, duePast.Add(-time.Hour))
	mustSendTest(t, st, email, duePast.Add(time.Hour))
	oldest("all kinds", duePast.Add(-time.Hour), allKinds...)
	oldest("email", duePast, cola.KindEmail)
	oldest("no kinds", time.Time{})
	claimed := claimDeliveries(t, st, noLimit)
	oldest("all claimed", duePast.Add(-time.Hour), allKinds...)
	mustRecordAttempt(t, st, deliveredAttempt(claimed[0], duePast))
	oldest("first delivered", duePast, allKinds...)
	mustRecordAttempt(t, st, retriedAttempt(claimed[1], duePast.Add(time.Hour)))
	oldest("second to be retried", duePast.Add(time.Hour), allKinds...)
	mustSetActive(t, st, email, false)
	oldest("email destination paused", time.Time{}, allKinds...)
}

// deleteClaimedDeliveries checks that an attempt is not recorded if its delivery was deleted in the
// meantime, and that releasing the claim is not an error.
func deleteClaimedDeliveries(t *testing.T, st store.Store, _ *clock) {
	for n, remove := range []func(a notified) error{
		func(a notified) error { return st.DeleteSavedSearch(t.Context(), a.ID, a.search.UUID) },
		func(a notified) error { return st.DeleteDestination(t.Context(), a.ID, a.hook.UUID) },
		func(notified) error {
			_, err := st.DeleteOldDeliveries(t.Context(), duePast.Add(time.Microsecond))
			return err
		},
	} {
		a := mustNotify(t, st, fmt.Sprintf("%d@example.com", n), n, 2)
		claimed := claimDeliveries(t, st, noLimit)
		checkEqual(t, "number of claims", 2, len(claimed))
		mustRecordAttempt(t, st, retriedAttempt(claimed[1], duePast))
		checkEqual(t, "number of attempts", 1, len(mustDelivery(t, st, a.ID, claimed[1].ID).Attempts))
		mustDo(t, remove(a))
		checkAttemptRejected(t, st, "deleted delivery", deliveredAttempt(claimed[0], duePast))
		mustDo(t, st.ReleaseDeliveries(t.Context(), claimed))
		if d, err := st.DeliveryOf(t.Context(), a.ID, claimed[0].ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("DeliveryOf(deleted) = %+v, %v; want ErrNotFound", d, err)
		}
		claimed, err := st.ClaimDeliveries(t.Context(), duePast.Add(week), allKinds, noLimit, anHour)
		checkEqual(t, "claims a week later", []int64{}, deliveryIDs(must(t, claimed, err)))
	}
	sizes, err := st.Sizes(t.Context())
	checkEqual(t, "remaining attempts", 0, must(t, sizes, err)[store.ItemAttempt])
}

// takenOverClaimRecordsNoAttempt checks that an attempt is not recorded if another sender took over
// its claim, but is recorded if the claim merely expired.
func takenOverClaimRecordsNoAttempt(t *testing.T, st store.Store, c *clock) {
	mustNotify(t, st, "a@example.com", 1, 1)
	first := mustClaimDelivery(t, st)
	c.advance(anHour)
	second := mustClaimDelivery(t, st)
	for desc, a := range map[string]store.Attempt{
		"delivered": deliveredAttempt(first, duePast),
		"retried":   retriedAttempt(first, duePast),
		"failed":    failedAttempt(first, duePast, cola.ReasonGone),
	} {
		checkAttemptRejected(t, st, desc+" under the first claim", a)
	}
	mustDo(t, st.ReleaseDeliveries(t.Context(), []store.DueDelivery{first}))
	c.advance(100 * anHour) // the second claim expires, but no one takes it over
	mustRecordAttempt(t, st, deliveredAttempt(second, duePast))
	checkAttemptRejected(t, st, "second claim, again", deliveredAttempt(second, duePast))
	checkAttemptRejected(t, st, "first claim, later", deliveredAttempt(first, duePast))
}

// sharedMessages is the number of messages that processes share, large enough that all of them send
// at the same time.
const sharedMessages = 300

// deliverUntilDone claims messages and records successful attempts until no message is due,
// reporting the running total to progress. It returns the total.
func deliverUntilDone(
	ctx context.Context, st store.Store, hold time.Duration, progress func(n int),
) (total int, err error) {
	for {
		claimed, err := st.ClaimDeliveries(ctx, duePast, allKinds, 4, hold)
		if err != nil || len(claimed) == 0 {
			return total, err
		}
		for _, d := range claimed {
			recorded, err := st.RecordAttempt(ctx, deliveredAttempt(d, duePast))
			if err == nil && !recorded {
				err = errors.New("attempt for a claimed delivery was not recorded")
			}
			if err != nil {
				return total, err
			}
			total++
		}
		progress(total)
	}
}

func mustShareMessages(t *testing.T, db Database) cola.AccountID {
	t.Helper()
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	to := []store.Destination{mustOwn(t, db, account.ID), mustDestination(t, db, newHook(account.ID, hook))}
	for n := range sharedMessages {
		mustSendTest(t, db, to[n%2], epoch)
	}
	return account.ID
}

// checkDeliveredOnce checks that every message has exactly one attempt.
func checkDeliveredOnce(t *testing.T, db Database, account cola.AccountID) {
	t.Helper()
	all := deliveriesOf(t, db, account, store.DeliveryFilter{})
	checkEqual(t, "number of messages", sharedMessages, len(all))
	for _, d := range all {
		if detail := mustDelivery(t, db, account, d.ID); d.State != cola.DeliveryDelivered || d.AttemptCount != 1 ||
			len(detail.Attempts) != 1 {
			t.Errorf("message %d: state %s, %d attempts: %+v; want delivered, 1 attempt", d.ID, d.State, d.AttemptCount,
				detail.Attempts)
		}
	}
}

// delivering defines message delivery as shared work for RunProcesses.
var delivering = sharedWork{
	jobs:      sharedMessages,
	work:      "deliver",
	briefly:   "deliver briefly",
	claim:     "claim deliveries",
	create:    mustShareMessages,
	done:      checkDeliveredOnce,
	untilDone: deliverUntilDone,
	claimAll: func(ctx context.Context, st store.Store) (int, error) {
		claimed, err := st.ClaimDeliveries(ctx, duePast, allKinds, noLimit, shortClaim)
		return len(claimed), err
	},
	left: func(ctx context.Context, st store.Store) (bool, error) {
		oldest, err := st.OldestPending(ctx, allKinds)
		return !oldest.IsZero(), err
	},
}
