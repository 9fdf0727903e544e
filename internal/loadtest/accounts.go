// Package loadtest makes the requests of many callers against several processes, keeps books of what the callers were
// answered, and holds the ledger against these books. Nothing in the books is taken from the ledger's side, neither its rows
// nor the quota headers. Only for a process that was killed its metrics tell which of its refusals may count (Ending.Clear).
//
// It is for tests of what happens when processes and databases fail, where the question is not whether everything was
// answered but whether exactly that was charged.
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

// Account is one who calls: an account with a key, and what it had used before its first call.
type Account struct {
	store.Account
	Key   auth.Secret
	KeyID int64
	Spent cola.Used
}

// Registry is what the making of accounts needs of a store.
type Registry interface {
	store.Accounts
	store.Keys
	store.Ledger
}

// NewAccount makes an account that has spent something of this month's quota already.
func NewAccount(ctx context.Context, st Registry, email string, tier cola.Tier, spent cola.Used) (*Account, error) {
	a := &Account{Key: auth.NewSecret(), Spent: spent}
	var err error
	if a.Account, err = st.CreateAccount(ctx, email, tier); err != nil {
		return nil, fmt.Errorf("make account %s: %w", email, err)
	}
	key := a.Key.Key()
	key.AccountID, key.Name = a.ID, "traffic"
	if key, err = st.CreateKey(ctx, key, a.Key.Hash(), 0); err != nil {
		return nil, fmt.Errorf("make a key of %s: %w", email, err)
	}
	a.KeyID = key.ID
	if err := a.spend(ctx, st); err != nil {
		return nil, fmt.Errorf("spend quota of %s: %w", email, err)
	}
	return a, nil
}

// spend charges what the account is to have used, in no request.
func (a *Account) spend(ctx context.Context, st store.Ledger) error {
	entry := store.Entry{Account: a.ID}
	for meter, units := range map[cola.Meter]int{cola.MeterDetailViews: a.Spent.DetailViews, cola.MeterListRecords: a.Spent.ListRecords} {
		if units > 0 {
			entry.Units = append(entry.Units, store.Units{Channel: cola.ChannelREST, Credential: a.credential(), Meter: meter, Units: units})
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

// nearlyUsedUp is what accounts near the end of their month have left: so little that some minutes of traffic use it up.
var nearlyUsedUp = map[cola.Tier]cola.Used{
	cola.TierFree:    {DetailViews: 3, ListRecords: 90},
	cola.TierStarter: {DetailViews: 9, ListRecords: 450},
	cola.TierPro:     {DetailViews: 18, ListRecords: 900},
}

// NewAccounts creates accounts of every tier, most of them of the larger ones, a third of them near the end of their month.
func NewAccounts(ctx context.Context, st Registry, n int) ([]*Account, error) {
	tiers := []cola.Tier{cola.TierFree, cola.TierStarter, cola.TierPro, cola.TierStarter, cola.TierPro}
	crowd := make([]*Account, n)
	for i := range crowd {
		tier, spent := tiers[i%len(tiers)], cola.Used{}
		if i%3 == 0 {
			limits, left := tier.Limits(), nearlyUsedUp[tier]
			spent = cola.Used{DetailViews: limits.DetailViews - left.DetailViews, ListRecords: limits.ListRecords - left.ListRecords}
		}
		var err error
		if crowd[i], err = NewAccount(ctx, st, fmt.Sprintf("%s%d@example.com", tier, i), tier, spent); err != nil {
			return nil, err
		}
	}
	return crowd, nil
}
