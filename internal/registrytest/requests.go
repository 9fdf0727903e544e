package registrytest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// week is how long the registry keeps requests.
const week = 7 * 24 * time.Hour

// RecordRequest stores a caller's request, received now, and returns its ID.
func (r *Registry) RecordRequest(t testing.TB, c cola.Caller, l cola.LoggedRequest) (id int64) {
	t.Helper()
	l.At, l.Credential = r.Now(), c.Credential
	if l.Channel == "" {
		l.Channel = c.Channel
	}
	request := store.RecordedRequest{Account: c.Account, ExpiresAt: l.At.Add(week), LoggedRequest: l}
	if err := r.Store.RecordRequests(t.Context(), []store.RecordedRequest{request}, nil); err != nil {
		t.Fatal(err)
	}
	list, err := r.Store.Requests(t.Context(), c.Account, store.RequestFilter{}, 1)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d requests, %v", len(list), err)
	}
	return list[0].ID
}

// LeaveOut counts requests from the current hour as missing from an account's request log.
func (r *Registry) LeaveOut(t testing.TB, account cola.AccountID, successes, failures int) {
	t.Helper()
	hour := r.Now().Truncate(time.Hour)
	gap := store.RequestGap{
		Account: account, Hour: hour, ExpiresAt: hour.Add(week), Successes: successes, Errors: failures,
	}
	if err := r.Store.RecordRequests(t.Context(), nil, []store.RequestGap{gap}); err != nil {
		t.Fatal(err)
	}
}

// Charge adds to a caller's usage, regardless of the quota.
func (r *Registry) Charge(t testing.TB, c cola.Caller, units map[cola.Meter]int) {
	t.Helper()
	entry := store.Entry{Account: c.Account}
	for meter, n := range units {
		entry.Units = append(entry.Units, store.Units{Channel: c.Channel, Credential: c.Credential, Meter: meter, Units: n})
	}
	batch := store.Batch{ID: store.BatchID(uuid.New()), Accounts: []cola.AccountID{c.Account}, Credentials: []cola.Credential{c.Credential}}
	err := r.Store.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry { return []store.Entry{entry} })
	if err != nil {
		t.Fatal(err)
	}
}
