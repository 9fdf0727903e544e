package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testConfirmations(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"a destination is made with the message that asks", madeAndAsked},
		{"an account asks an address once in a while", askedOnceInAWhile},
		{"an account asks a few times", accountAsksFew},
		{"an address is asked a few times, for whomever", addressIsAskedFew},
		{"the longest wait is told", longestWaitIsReturned},
		{"a destination is changed with the message that asks", changedAndAsked},
		{"who cannot be asked is not", notAskable},
		{"an address is asked a few times at once", askedAtOnce},
	})
}

// newAsk returns a confirmation request that is within all limits. Its message is due at an
// instant.
func newAsk(due time.Time) store.ConfirmationRequest {
	return store.ConfirmationRequest{Due: due, Limits: store.ConfirmationLimits{MaxByAccount: everyID, MaxOfAddress: everyID}}
}

// limited is the set of limits that most tests use.
var limited = store.ConfirmationLimits{RepeatWindow: time.Hour, Window: 24 * time.Hour, MaxByAccount: 4, MaxOfAddress: 3}

// asking returns a new email destination with a confirmation request under the given limits.
func asking(account cola.AccountID, address string, limits store.ConfirmationLimits) store.NewDestination {
	n := newMailbox(account, address)
	n.State, n.Confirm = cola.DestinationUnconfirmed, &store.ConfirmationRequest{Due: duePast, Limits: limits}
	return n
}

// mustAskToConfirm requests confirmation of a destination.
func mustAskToConfirm(t tb, st store.Store, to store.Destination, due time.Time) cola.Delivery {
	t.Helper()
	d, err := st.RequestConfirmation(context.Background(), to.Account, to.UUID, newAsk(due), inNoWay)
	return must(t, d, err)
}

// inNoWay leaves a destination unchanged.
func inNoWay(*store.Destination) error { return nil }

// askOnce creates a destination with a confirmation request, then deletes it.
func askOnce(ctx context.Context, st store.Store, n store.NewDestination) error {
	made, err := st.CreateDestination(ctx, n)
	if err != nil {
		return err
	}
	return st.DeleteDestination(ctx, n.Account, made.UUID)
}

// wantAsked checks for the error of a limit with the given wait, or for no error if wait is 0.
func wantAsked(t tb, what string, err error, limit store.ConfirmationLimit, wait time.Duration) {
	t.Helper()
	var got store.ConfirmationLimitError
	switch {
	case wait == 0 && err != nil:
		t.Errorf("%s: %v", what, err)
	case wait > 0 && (!errors.Is(err, store.ErrConfirmationLimit) || !errors.As(err, &got) || got.Limit != limit || got.Wait != wait):
		t.Errorf("%s: %v, want the limit %s and %v to wait", what, err, limit, wait)
	}
}

func madeAndAsked(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustDestination(t, st, asking(a.ID, "x@example.com", limited))
	same(t, "state", cola.DestinationUnconfirmed, made.State)
	list := deliveriesOf(t, st, a.ID, store.DeliveryFilter{})
	if len(list) != 1 || list[0].Event != cola.EventConfirm || list[0].Destination != made.UUID || list[0].NextAttemptAt != cola.Some(cola.TimestampOf(duePast)) {
		t.Errorf("to be sent are %+v, want a message that asks", list)
	}
	mustDo(t, st.DeleteDestination(t.Context(), a.ID, made.UUID))
	before := everything(t, st)
	_, err := st.CreateDestination(t.Context(), asking(a.ID, "x@example.com", limited))
	wantAsked(t, "again", err, store.LimitRepeats, time.Hour)
	if _, err := st.CreateDestination(t.Context(), asking(a.ID, "A@example.com", limited)); !errors.Is(err, store.ErrExists) {
		t.Errorf("what there is: %v, want ErrExists", err)
	}
	same(t, "what the store holds", before, everything(t, st))
}

func askedOnceInAWhile(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	for _, k := range []struct {
		what    string
		after   time.Duration
		account cola.AccountID
		address string
		wait    time.Duration
	}{
		{"the first time", 0, a.ID, "X.O@example.com", 0},
		{"deleted and added again", time.Minute, a.ID, "X.O@example.com", 59 * time.Minute},
		{"in another case", time.Minute, a.ID, "x.o@Example.com", 58 * time.Minute},
		{"another address", 0, a.ID, "y@example.com", 0},
		{"another account", 0, b.ID, "x.o@example.com", 0},
		{"almost an hour later", 58*time.Minute - time.Microsecond, a.ID, "x.o@example.com", time.Microsecond},
		{"an hour later", time.Microsecond, a.ID, "x.o@example.com", 0},
		{"just after that", 0, a.ID, "x.o@example.com", time.Hour},
	} {
		c.advance(k.after)
		limits := limited
		limits.MaxOfAddress = everyID
		wantAsked(t, k.what, askOnce(t.Context(), st, asking(k.account, k.address, limits)), store.LimitRepeats, k.wait)
	}
}

func accountAsksFew(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	ask := func(account cola.AccountID, n int) error {
		return askOnce(t.Context(), st, asking(account, fmt.Sprintf("x%d@example.com", n), limited))
	}
	for n := range limited.MaxByAccount {
		mustDo(t, ask(a.ID, n))
		c.advance(time.Hour)
	}
	for range 2 { // rejected requests do not count
		wantAsked(t, "one more", ask(a.ID, 9), store.LimitByAccount, 20*time.Hour)
	}
	mustDo(t, ask(b.ID, 9))
	c.advance(20 * time.Hour)
	wantAsked(t, "a day after the first", ask(a.ID, 9), store.LimitByAccount, 0)
	wantAsked(t, "and again", ask(a.ID, 10), store.LimitByAccount, time.Hour)
}

func addressIsAskedFew(t *testing.T, st store.Store, c *clock) {
	var accounts []cola.AccountID
	for n := range limited.MaxOfAddress + 1 {
		accounts = append(accounts, mustAccount(t, st, fmt.Sprintf("a%d@example.com", n), cola.TierFree).ID)
	}
	last := accounts[limited.MaxOfAddress]
	for _, account := range accounts[:limited.MaxOfAddress] {
		mustDo(t, askOnce(t.Context(), st, asking(account, "Stranger@example.com", limited)))
		c.advance(time.Hour)
	}
	wantAsked(t, "one more", askOnce(t.Context(), st, asking(last, "stranger@EXAMPLE.com", limited)), store.LimitOfAddress, 21*time.Hour)
	mustDo(t, askOnce(t.Context(), st, asking(last, "other@example.com", limited)))
	c.advance(21 * time.Hour)
	mustDo(t, askOnce(t.Context(), st, asking(last, "stranger@example.com", limited)))
}

func longestWaitIsReturned(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	limits := store.ConfirmationLimits{RepeatWindow: time.Hour, Window: 24 * time.Hour, MaxByAccount: 1, MaxOfAddress: everyID}
	mustDo(t, askOnce(t.Context(), st, asking(a.ID, "x@example.com", limits)))
	wantAsked(t, "two limits", askOnce(t.Context(), st, asking(a.ID, "x@example.com", limits)), store.LimitByAccount, 24*time.Hour)
	limits.RepeatWindow = 25 * time.Hour
	wantAsked(t, "two limits the other way round", askOnce(t.Context(), st, asking(a.ID, "x@example.com", limits)), store.LimitRepeats, 25*time.Hour)
}

func changedAndAsked(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	made := changeDestination(t, st, mustDestination(t, st, newMailbox(a.ID, "x@example.com")), inState(cola.DestinationPaused, cola.ReasonUnsubscribed))
	ask := store.ConfirmationRequest{Due: duePast, Limits: limited}
	toAsked := func(d *store.Destination) error {
		d.Destination = d.Asked()
		return nil
	}
	d, err := st.RequestConfirmation(t.Context(), a.ID, made.UUID, ask, toAsked)
	same(t, "message", cola.EventConfirm, must(t, d, err).Event)
	same(t, "destination", made.Asked(), mustDestinationNow(t, st, made).Destination)
	changeDestination(t, st, made, inState(cola.DestinationPaused, cola.ReasonUnsubscribed))
	before := everything(t, st)
	_, err = st.RequestConfirmation(t.Context(), a.ID, made.UUID, ask, toAsked)
	wantAsked(t, "again", err, store.LimitRepeats, time.Hour)
	c.advance(time.Hour)
	for _, k := range []struct {
		what    string
		account cola.AccountID
		uuid    string
		change  func(*store.Destination) error
		want    error
	}{
		{"by another account", b.ID, made.UUID, toAsked, store.ErrNotFound}, {"by no account", b.ID + 100, made.UUID, toAsked, store.ErrNotFound},
		{"what is not there", a.ID, "x\x00", toAsked, store.ErrNotFound},
		{"what is refused", a.ID, made.UUID, func(*store.Destination) error { return errEnough }, errEnough},
		{"what cannot be kept", a.ID, made.UUID, func(d *store.Destination) error { d.State = ""; return nil }, store.ErrMalformed},
	} {
		if d, err := st.RequestConfirmation(t.Context(), k.account, k.uuid, ask, k.change); !errors.Is(err, k.want) {
			t.Errorf("%s: %+v, %v; want %v", k.what, d, err, k.want)
		}
	}
	same(t, "what the store holds", before, everything(t, st))
	d, err = st.RequestConfirmation(t.Context(), a.ID, made.UUID, ask, toAsked) // the rejected requests did not count
	must(t, d, err)
}

func notAskable(t *testing.T, st store.Store, _ *clock) {
	named := mustAccountOf(t, st, anIssuer, "1", "")
	before := everything(t, st)
	_, err := st.RequestConfirmation(t.Context(), named.ID, mustOwn(t, st, named.ID).UUID, newAsk(duePast), inNoWay)
	if !errors.Is(err, store.ErrNotActive) {
		t.Errorf("an account without an address: %v, want ErrNotActive", err)
	}
	same(t, "what the store holds", before, everything(t, st))
}

// manyAsked limits only the requests per address. The limit is high enough for all processes to
// overlap.
var manyAsked = store.ConfirmationLimits{Window: time.Hour, MaxByAccount: everyID, MaxOfAddress: 120}

// askUntilLimit requests confirmations of one address from one account until the limit, and returns
// how many succeeded.
func askUntilLimit(ctx context.Context, st store.Store, account cola.AccountID, limits store.ConfirmationLimits) (asked int, err error) {
	for ; ; asked++ {
		err := askOnce(ctx, st, asking(account, "stranger@example.com", limits))
		switch {
		case errors.Is(err, store.ErrConfirmationLimit):
			return asked, nil
		case err != nil:
			return asked, fmt.Errorf("request: %w", err)
		}
	}
}

// childAsk requests confirmations of the address from its own account until the limit, and prints
// how many succeeded.
func childAsk(ctx context.Context, st store.Store, out io.Writer) error {
	account, err := st.CreateAccount(ctx, fmt.Sprintf("process%d@example.com", os.Getpid()), cola.TierFree)
	if err != nil {
		return err
	}
	asked, err := askUntilLimit(ctx, st, account.ID, manyAsked)
	fmt.Fprintf(out, "asked %d\n", asked)
	return err
}

// askTogether checks that two processes, and goroutines of a third, together send exactly as many
// requests as the limit allows.
func askTogether(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		p := start(t, "ask", place)
		wg.Go(func() {
			total.Add(int64(p.lastNumber(t, "asked %d")))
			p.wait(t)
		})
	}
	askFromAll(t, db, manyAsked, &total, &wg)
	if wg.Wait(); total.Load() != int64(manyAsked.MaxOfAddress) {
		t.Errorf("the address was asked %d times, want %d", total.Load(), manyAsked.MaxOfAddress)
	}
}

// askFromAll requests confirmations of an address from several accounts until the limit, and
// returns how many succeeded.
func askFromAll(t *testing.T, st store.Store, limits store.ConfirmationLimits, total *atomic.Int64, wg *sync.WaitGroup) {
	for n := range 4 {
		account := mustAccount(t, st, fmt.Sprintf("asks%d@example.com", n), cola.TierFree)
		wg.Go(func() {
			asked, err := askUntilLimit(t.Context(), st, account.ID, limits)
			if err != nil {
				t.Error(err)
			}
			total.Add(int64(asked))
		})
	}
}

func askedAtOnce(t *testing.T, st store.Store, _ *clock) {
	limits := store.ConfirmationLimits{Window: time.Hour, MaxByAccount: everyID, MaxOfAddress: 20}
	var total atomic.Int64
	var wg sync.WaitGroup
	askFromAll(t, st, limits, &total, &wg)
	if wg.Wait(); total.Load() != int64(limits.MaxOfAddress) {
		t.Errorf("the address was asked %d times, want %d", total.Load(), limits.MaxOfAddress)
	}
}
