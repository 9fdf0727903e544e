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
		{"create with a confirmation request", createAndConfirm},
		{"repeat window", confirmRepeatWindow},
		{"limit per account", confirmAccountLimit},
		{"limit per address", confirmAddressLimit},
		{"longest wait", confirmLongestWait},
		{"change with a confirmation request", changeAndConfirm},
		{"account without email", confirmWithoutEmail},
		{"concurrent requests", concurrentConfirms},
	})
}

// newConfirmation returns a confirmation request that no limit rejects. Its message is due at the
// given time.
func newConfirmation(due time.Time) store.ConfirmationRequest {
	return store.ConfirmationRequest{
		Due:    due,
		Limits: store.ConfirmationLimits{MaxPerAccount: noLimit, MaxPerAddress: noLimit},
	}
}

// confirmLimits contains the limits that most tests use.
var confirmLimits = store.ConfirmationLimits{
	RepeatWindow:  time.Hour,
	Window:        24 * time.Hour,
	MaxPerAccount: 4,
	MaxPerAddress: 3,
}

// unconfirmedMailbox returns a new email destination with a confirmation request under the given
// limits.
func unconfirmedMailbox(account cola.AccountID, address string, limits store.ConfirmationLimits) store.NewDestination {
	n := newMailbox(account, address)
	n.State, n.Confirm = cola.DestinationUnconfirmed, &store.ConfirmationRequest{Due: duePast, Limits: limits}
	return n
}

// mustRequestConfirmation requests confirmation of a destination.
func mustRequestConfirmation(t tb, st store.Store, to store.Destination, due time.Time) cola.Delivery {
	t.Helper()
	d, err := st.RequestConfirmation(context.Background(), to.Account, to.UUID, newConfirmation(due),
		unchangedDestination)
	return must(t, d, err)
}

// unchangedDestination leaves a destination unchanged.
func unchangedDestination(*store.Destination) error { return nil }

// confirmOnce creates a destination with a confirmation request, then deletes it.
func confirmOnce(ctx context.Context, st store.Store, n store.NewDestination) error {
	dest, err := st.CreateDestination(ctx, n)
	if err != nil {
		return err
	}
	return st.DeleteDestination(ctx, n.Account, dest.UUID)
}

// checkConfirmLimit checks that err reports the given limit and wait, or that it is nil if wait is
// 0.
func checkConfirmLimit(t tb, desc string, err error, limit store.ConfirmationLimit, wait time.Duration) {
	t.Helper()
	var got store.ConfirmationLimitError
	switch {
	case wait == 0 && err != nil:
		t.Errorf("%s: error = %v, want nil", desc, err)
	case wait > 0 && (!errors.Is(err, store.ErrConfirmationLimit) || !errors.As(err, &got) || got.Limit != limit ||
		got.Wait != wait):
		t.Errorf("%s: error = %v, want limit %s with wait %v", desc, err, limit, wait)
	}
}

func createAndConfirm(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	dest := mustDestination(t, st, unconfirmedMailbox(a.ID, "x@example.com", confirmLimits))
	checkEqual(t, "destination state", cola.DestinationUnconfirmed, dest.State)
	list := deliveriesOf(t, st, a.ID, store.DeliveryFilter{})
	if len(list) != 1 || list[0].Event != cola.EventConfirm || list[0].Destination != dest.UUID ||
		list[0].NextAttemptAt != cola.Some(cola.TimestampOf(duePast)) {
		t.Errorf("deliveries = %+v, want one confirmation message", list)
	}
	mustDo(t, st.DeleteDestination(t.Context(), a.ID, dest.UUID))
	before := storeContents(t, st)
	_, err := st.CreateDestination(t.Context(), unconfirmedMailbox(a.ID, "x@example.com", confirmLimits))
	checkConfirmLimit(t, "repeated request", err, store.LimitRepeats, time.Hour)
	if _, err := st.CreateDestination(t.Context(),
		unconfirmedMailbox(a.ID, "A@example.com", confirmLimits)); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateDestination(duplicate) error = %v, want ErrExists", err)
	}
	checkEqual(t, "store contents", before, storeContents(t, st))
}

func confirmRepeatWindow(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	for _, k := range []struct {
		desc    string
		after   time.Duration
		account cola.AccountID
		address string
		wait    time.Duration
	}{
		{"first request", 0, a.ID, "X.O@example.com", 0},
		{"deleted and added again", time.Minute, a.ID, "X.O@example.com", 59 * time.Minute},
		{"different case", time.Minute, a.ID, "x.o@Example.com", 58 * time.Minute},
		{"another address", 0, a.ID, "y@example.com", 0},
		{"another account", 0, b.ID, "x.o@example.com", 0},
		{"almost an hour later", 58*time.Minute - time.Microsecond, a.ID, "x.o@example.com", time.Microsecond},
		{"an hour later", time.Microsecond, a.ID, "x.o@example.com", 0},
		{"right after that", 0, a.ID, "x.o@example.com", time.Hour},
	} {
		c.advance(k.after)
		limits := confirmLimits
		limits.MaxPerAddress = noLimit
		checkConfirmLimit(t, k.desc, confirmOnce(t.Context(), st, unconfirmedMailbox(k.account, k.address, limits)),
			store.LimitRepeats, k.wait)
	}
}

func confirmAccountLimit(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	request := func(account cola.AccountID, n int) error {
		return confirmOnce(t.Context(), st,
			unconfirmedMailbox(account, fmt.Sprintf("x%d@example.com", n), confirmLimits))
	}
	for n := range confirmLimits.MaxPerAccount {
		mustDo(t, request(a.ID, n))
		c.advance(time.Hour)
	}
	for range 2 { // rejected requests do not count
		checkConfirmLimit(t, "request over the limit", request(a.ID, 9), store.LimitPerAccount, 20*time.Hour)
	}
	mustDo(t, request(b.ID, 9))
	c.advance(20 * time.Hour)
	checkConfirmLimit(t, "a day after the first request", request(a.ID, 9), store.LimitPerAccount, 0)
	checkConfirmLimit(t, "right after that", request(a.ID, 10), store.LimitPerAccount, time.Hour)
}

func confirmAddressLimit(t *testing.T, st store.Store, c *clock) {
	var accounts []cola.AccountID
	for n := range confirmLimits.MaxPerAddress + 1 {
		accounts = append(accounts, mustAccount(t, st, fmt.Sprintf("a%d@example.com", n), cola.TierFree).ID)
	}
	last := accounts[confirmLimits.MaxPerAddress]
	for _, account := range accounts[:confirmLimits.MaxPerAddress] {
		mustDo(t, confirmOnce(t.Context(), st, unconfirmedMailbox(account, "Stranger@example.com", confirmLimits)))
		c.advance(time.Hour)
	}
	checkConfirmLimit(t, "request over the limit",
		confirmOnce(t.Context(), st, unconfirmedMailbox(last, "stranger@EXAMPLE.com", confirmLimits)),
		store.LimitPerAddress, 21*time.Hour)
	mustDo(t, confirmOnce(t.Context(), st, unconfirmedMailbox(last, "other@example.com", confirmLimits)))
	c.advance(21 * time.Hour)
	mustDo(t, confirmOnce(t.Context(), st, unconfirmedMailbox(last, "stranger@example.com", confirmLimits)))
}

func confirmLongestWait(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	limits := store.ConfirmationLimits{
		RepeatWindow:  time.Hour,
		Window:        24 * time.Hour,
		MaxPerAccount: 1,
		MaxPerAddress: noLimit,
	}
	mustDo(t, confirmOnce(t.Context(), st, unconfirmedMailbox(a.ID, "x@example.com", limits)))
	checkConfirmLimit(t, "longer wait for the account limit",
		confirmOnce(t.Context(), st, unconfirmedMailbox(a.ID, "x@example.com", limits)), store.LimitPerAccount,
		24*time.Hour)
	limits.RepeatWindow = 25 * time.Hour
	checkConfirmLimit(t, "longer wait for the repeat window",
		confirmOnce(t.Context(), st, unconfirmedMailbox(a.ID, "x@example.com", limits)), store.LimitRepeats,
		25*time.Hour)
}

func changeAndConfirm(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	dest := changeDestination(t, st, mustDestination(t, st, newMailbox(a.ID, "x@example.com")),
		inState(cola.DestinationPaused, cola.ReasonUnsubscribed))
	request := store.ConfirmationRequest{Due: duePast, Limits: confirmLimits}
	markAsked := func(d *store.Destination) error {
		d.Destination = d.Asked()
		return nil
	}
	d, err := st.RequestConfirmation(t.Context(), a.ID, dest.UUID, request, markAsked)
	checkEqual(t, "confirmation event", cola.EventConfirm, must(t, d, err).Event)
	checkEqual(t, "destination after the request", dest.Asked(), mustReload(t, st, dest).Destination)
	changeDestination(t, st, dest, inState(cola.DestinationPaused, cola.ReasonUnsubscribed))
	before := storeContents(t, st)
	_, err = st.RequestConfirmation(t.Context(), a.ID, dest.UUID, request, markAsked)
	checkConfirmLimit(t, "repeated request", err, store.LimitRepeats, time.Hour)
	c.advance(time.Hour)
	for _, k := range []struct {
		desc    string
		account cola.AccountID
		uuid    string
		change  func(*store.Destination) error
		want    error
	}{
		{"another account", b.ID, dest.UUID, markAsked, store.ErrNotFound},
		{"unknown account", b.ID + 100, dest.UUID, markAsked, store.ErrNotFound},
		{"unknown destination", a.ID, "x\x00", markAsked, store.ErrNotFound},
		{
			"change returns an error", a.ID, dest.UUID,
			func(*store.Destination) error { return errCallback }, errCallback,
		},
		{
			"malformed change", a.ID, dest.UUID,
			func(d *store.Destination) error { d.State = ""; return nil }, store.ErrMalformed,
		},
	} {
		if d, err := st.RequestConfirmation(t.Context(), k.account, k.uuid, request, k.change); !errors.Is(err, k.want) {
			t.Errorf("%s: RequestConfirmation = %+v, %v; want %v", k.desc, d, err, k.want)
		}
	}
	checkEqual(t, "store contents", before, storeContents(t, st))
	d, err = st.RequestConfirmation(t.Context(), a.ID, dest.UUID, request, markAsked) // the rejected requests did not count
	must(t, d, err)
}

func confirmWithoutEmail(t *testing.T, st store.Store, _ *clock) {
	named := mustAccountOf(t, st, testIssuer, "1", "")
	before := storeContents(t, st)
	_, err := st.RequestConfirmation(t.Context(), named.ID, mustOwn(t, st, named.ID).UUID, newConfirmation(duePast),
		unchangedDestination)
	if !errors.Is(err, store.ErrNotActive) {
		t.Errorf("RequestConfirmation(account without email) error = %v, want ErrNotActive", err)
	}
	checkEqual(t, "store contents", before, storeContents(t, st))
}

// processConfirmLimits limits only the requests per address. The limit is high enough that all
// processes send requests at the same time.
var processConfirmLimits = store.ConfirmationLimits{Window: time.Hour, MaxPerAccount: noLimit, MaxPerAddress: 120}

// confirmUntilLimit requests confirmations of one address from one account until it reaches the
// limit, and returns how many succeeded.
func confirmUntilLimit(ctx context.Context, st store.Store, account cola.AccountID,
	limits store.ConfirmationLimits) (requested int, err error) {
	for ; ; requested++ {
		err := confirmOnce(ctx, st, unconfirmedMailbox(account, "stranger@example.com", limits))
		switch {
		case errors.Is(err, store.ErrConfirmationLimit):
			return requested, nil
		case err != nil:
			return requested, fmt.Errorf("request: %w", err)
		}
	}
}

// childConfirm requests confirmations of the address from its own account until it reaches the
// limit, and prints how many succeeded.
func childConfirm(ctx context.Context, st store.Store, out io.Writer) error {
	account, err := st.CreateAccount(ctx, fmt.Sprintf("process%d@example.com", os.Getpid()), cola.TierFree)
	if err != nil {
		return err
	}
	requested, err := confirmUntilLimit(ctx, st, account.ID, processConfirmLimits)
	fmt.Fprintf(out, "requested %d\n", requested)
	return err
}

// confirmAcrossProcesses checks that two processes, and goroutines of a third, together send
// exactly as many requests as the limit allows.
func confirmAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		p := start(t, "confirm", dsn)
		wg.Go(func() {
			total.Add(int64(p.lastNumber(t, "requested %d")))
			p.wait(t)
		})
	}
	confirmFromAccounts(t, db, processConfirmLimits, &total, &wg)
	if wg.Wait(); total.Load() != int64(processConfirmLimits.MaxPerAddress) {
		t.Errorf("%d confirmation requests succeeded, want %d", total.Load(), processConfirmLimits.MaxPerAddress)
	}
}

// confirmFromAccounts starts goroutines in wg that request confirmations of an address, each from
// its own account, until the limit is reached. It adds the number that succeeded to total.
func confirmFromAccounts(t *testing.T, st store.Store, limits store.ConfirmationLimits, total *atomic.Int64,
	wg *sync.WaitGroup) {
	for n := range 4 {
		account := mustAccount(t, st, fmt.Sprintf("asks%d@example.com", n), cola.TierFree)
		wg.Go(func() {
			requested, err := confirmUntilLimit(t.Context(), st, account.ID, limits)
			if err != nil {
				t.Error(err)
			}
			total.Add(int64(requested))
		})
	}
}

func concurrentConfirms(t *testing.T, st store.Store, _ *clock) {
	limits := store.ConfirmationLimits{Window: time.Hour, MaxPerAccount: noLimit, MaxPerAddress: 20}
	var total atomic.Int64
	var wg sync.WaitGroup
	confirmFromAccounts(t, st, limits, &total, &wg)
	if wg.Wait(); total.Load() != int64(limits.MaxPerAddress) {
		t.Errorf("%d confirmation requests succeeded, want %d", total.Load(), limits.MaxPerAddress)
	}
}
