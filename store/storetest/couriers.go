package storetest

import (
	"context"
	"errors"
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

func mustShareMessages(t *testing.T, db Database) cola.AccountID {
	t.Helper()
	account := mustAccount(t, db, chargedAccount, cola.TierFree)
	to := []store.Destination{mustOwn(t, db, account.ID), mustDestination(t, db, newHook(account.ID, hook))}
	for n := range sharedMessages {
		mustMessage(t, db, to[n%2], epoch)
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

// delivering is the delivering of messages, as work that processes share.
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
