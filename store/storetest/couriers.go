package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// sharedMessages is how many messages processes share that send them: enough for all to be at it together.
const sharedMessages = 300

// deliverUntilDone claims messages and notes that they got through until none is due, calls told with how many it has noted so far, and
// returns how many those are.
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

// childDeliver delivers what is due and says how many messages it has delivered.
func childDeliver(hold time.Duration) func(ctx context.Context, st store.Store, out io.Writer) error {
	return func(ctx context.Context, st store.Store, out io.Writer) error {
		_, err := deliverUntilDone(ctx, st, hold, func(n int) { fmt.Fprintf(out, "delivered %d\n", n) })
		return err
	}
}

// childClaimDeliveries claims messages that are due, says how many those are, and neither sends them nor lets them go.
func childClaimDeliveries(ctx context.Context, st store.Store, out io.Writer) error {
	claimed, err := st.ClaimDeliveries(ctx, duePast, allKinds, everyID, shortHold)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "claimed %d\n", len(claimed))
	time.Sleep(time.Hour)
	return errors.New("nobody has killed the process")
}

func mustShareMessages(t *testing.T, db Database) cola.AccountID {
	t.Helper()
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	to := []store.Destination{mustOwn(t, db, account.ID), mustDestination(t, db, newHook(account.ID, hook))}
	for n := range sharedMessages {
		mustMessage(t, db, to[n%2], cola.EventTest, epoch)
	}
	return account.ID
}

// mustHaveDeliveredOnce holds a database to one attempt of every message.
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

// deliverTogether: two processes, and goroutines of a third, deliver every message once.
func deliverTogether(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := mustShareMessages(t, db)
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		p := start(t, "deliver", place)
		wg.Go(func() {
			total.Add(int64(p.lastNumber(t, "delivered %d")))
			p.wait(t)
		})
	}
	for range 2 {
		wg.Go(func() {
			noted, err := deliverUntilDone(t.Context(), db, anHour, func(int) {})
			if err != nil {
				t.Error(err)
			}
			total.Add(int64(noted))
		})
	}
	wg.Wait()
	if total.Load() != sharedMessages {
		t.Errorf("%d messages were delivered, want %d", total.Load(), sharedMessages)
	}
	mustHaveDeliveredOnce(t, db, account)
}

// killedCourier: what a killed process held is delivered by others once its hold has passed, and what it has noted is not delivered again.
func killedCourier(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := mustShareMessages(t, db)
	for round := range 3 {
		p := start(t, "deliver briefly", place)
		for p.number(t, "delivered %d") < 10+15*round {
		}
		p.Kill()
	}
	p := start(t, "claim deliveries", place)
	if n := p.number(t, "claimed %d"); n == 0 {
		t.Error("there was nothing left to claim; the test shows nothing")
	}
	p.Kill()
	until, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, err := deliverUntilDone(until, db, anHour, func(int) {}); err != nil {
			t.Fatal(err)
		}
		if oldest, err := db.OldestPending(until, allKinds); must(t, oldest, err).IsZero() {
			break
		}
		time.Sleep(50 * time.Millisecond) // some are still held
	}
	mustHaveDeliveredOnce(t, db, account)
}
