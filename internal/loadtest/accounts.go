// Package loadtest sends requests from many callers to several processes, records the responses,
// and compares the ledger with them. It computes the expected charges only from the responses,
// never from ledger rows or quota headers. The one exception is a killed process: its metrics show
// which of its 503s may have been charged (Ending.Clear).
//
// The package is for tests of process and database failures. They check that the charges are exact,
// not that every request succeeds.
package loadtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Account is an account with a key and its usage before the run.
type Account struct {
	store.Account
	Key   auth.Secret
	KeyID int64
	Spent cola.Used
}

// Registry contains the store methods that create accounts.
type Registry interface {
	store.Accounts
	store.Keys
	store.Ledger
}

// NewAccount creates an account that has already used part of this month's quota.
func NewAccount(ctx context.Context, st Registry, email string, tier cola.Tier, spent cola.Used) (*Account, error) {
	a := &Account{Key: auth.NewSecret(), Spent: spent}
	var err error
	if a.Account, err = st.CreateAccount(ctx, email, tier); err != nil {
		return nil, fmt.Errorf("create account %s: %w", email, err)
	}
	key := a.Key.Key()
	key.AccountID, key.Name = a.ID, "traffic"
	if key, err = st.CreateKey(ctx, key, a.Key.Hash(), 0); err != nil {
		return nil, fmt.Errorf("create a key for %s: %w", email, err)
	}
	a.KeyID = key.ID
	if err := a.spend(ctx, st); err != nil {
		return nil, fmt.Errorf("spend quota for %s: %w", email, err)
	}
	return a, nil
}

// spend charges the initial usage without requests.
func (a *Account) spend(ctx context.Context, st store.Ledger) error {
	entry := store.Entry{Account: a.ID}
	for meter, units := range map[cola.Meter]int{
		cola.MeterDetailViews: a.Spent.DetailViews, cola.MeterListRecords: a.Spent.ListRecords,
	} {
		if units > 0 {
			entry.Units = append(entry.Units,
				store.Units{Channel: cola.ChannelREST, Credential: a.credential(), Meter: meter, Units: units})
		}
	}
	if len(entry.Units) == 0 {
		return nil
	}
	batch := store.Batch{Accounts: []cola.AccountID{a.ID}, Credentials: []cola.Credential{a.credential()}}
	rand.Read(batch.ID[:]) // never fails
	return st.Settle(ctx, batch, func(time.Time, []store.AccountState) []store.Entry { return []store.Entry{entry} })
}

func (a *Account) credential() cola.Credential {
	return cola.Credential{Kind: cola.CredentialKey, ID: a.KeyID}
}

// nearlyUsedUp is the remaining quota of accounts near their limit: small enough to run out
// within a few minutes of traffic.
var nearlyUsedUp = map[cola.Tier]cola.Used{
	cola.TierFree:    {DetailViews: 3, ListRecords: 90},
	cola.TierStarter: {DetailViews: 9, ListRecords: 450},
	cola.TierPro:     {DetailViews: 18, ListRecords: 900},
}

// NewAccounts creates accounts of every tier, mostly the higher ones. A third of them are near
// their quota.
func NewAccounts(ctx context.Context, st Registry, n int) ([]*Account, error) {
	tiers := []cola.Tier{cola.TierFree, cola.TierStarter, cola.TierPro, cola.TierStarter, cola.TierPro}
	accounts := make([]*Account, n)
	for i := range accounts {
		tier, spent := tiers[i%len(tiers)], cola.Used{}
		if i%3 == 0 {
			limits, left := tier.Limits(), nearlyUsedUp[tier]
			spent = cola.Used{
				DetailViews: limits.DetailViews - left.DetailViews, ListRecords: limits.ListRecords - left.ListRecords,
			}
		}
		var err error
		if accounts[i], err = NewAccount(ctx, st, fmt.Sprintf("%s%d@example.com", tier, i), tier, spent); err != nil {
			return nil, err
		}
	}
	return accounts, nil
}
