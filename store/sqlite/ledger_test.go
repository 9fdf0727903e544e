package sqlite

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func randomBatchID() (id store.BatchID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// childLimit is what childCharge and its like charge an account up to.
const childLimit = 2_000

// childCharge charges the first account one list record at a time until its limit, and says how many it was granted.
func childCharge(ctx context.Context, s *Store, out io.Writer) error {
	n, err := chargeToLimit(ctx, s, 1)
	fmt.Fprintf(out, "granted %d\n", n)
	return err
}

func chargeToLimit(ctx context.Context, s *Store, account cola.AccountID) (granted int, err error) {
	for {
		got := 0
		err := s.Settle(ctx, store.Batch{ID: randomBatchID(), Accounts: []cola.AccountID{account}},
			func(_ time.Time, states []store.AccountState) []store.Entry {
				got = min(1, childLimit-states[0].Used.ListRecords)
				return []store.Entry{{Account: account, Units: []store.Units{{
					Channel: cola.ChannelREST, Credential: cola.Credential{Kind: cola.CredentialKey, ID: 1},
					Meter: cola.MeterListRecords, Units: got, Requests: 1,
				}}}}
			})
		granted += got
		if err != nil || got == 0 {
			return granted, err
		}
	}
}
