package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testLedger(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"account states", accountStates},
		{"month change", monthChange},
		{"key validity", keyValidity},
		{"tier change", func(t *testing.T, st store.Store, _ *clock) {
			a := mustAccount(t, st, "a@example.com", cola.TierFree)
			if err := st.SetTier(t.Context(), a.ID, cola.TierStarter); err != nil {
				t.Fatal(err)
			}
			if got := settle(t, st, a.ID)[0]; got.Tier != cola.TierStarter {
				t.Errorf("Tier = %q, want %q", got.Tier, cola.TierStarter)
			}
		}},
		{"last use of a key, once a minute", keyLastUsed},
		{"last use without a charge", lastUsedWithoutCharge},
		{"link validity", linkValidity},
		{"key and link with the same ID", keyAndLinkWithSameID},
		{"last use of a link, once a minute", linkLastUsed},
		{"sign-in charges", signInCharges},
		{"concurrent link changes and charges", concurrentLinkChangesAndCharges},
		{"unknown account", func(t *testing.T, st store.Store, _ *clock) {
			if _, err := st.AccountUsage(t.Context(), 42); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("AccountUsage(unknown account) error = %v, want ErrNotFound", err)
			}
		}},
		{"concurrent charges stop at the limit", chargesStopAtLimit},
	})
}

// NewBatchID returns an ID that is unique across processes.
func NewBatchID() (id store.BatchID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// settle commits a batch with the entries and returns the account states passed to decide.
func settle(t tb, st store.Store, account cola.AccountID, entries ...store.Entry) []store.AccountState {
	t.Helper()
	var got []store.AccountState
	err := st.Settle(context.Background(), store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{account}},
		func(_ time.Time, states []store.AccountState) []store.Entry { got = states; return entries })
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func keyCredential(id int64) cola.Credential {
	return cola.Credential{Kind: cola.CredentialKey, ID: id}
}

// rest returns the units of one REST request with a key.
func rest(key int64, meter cola.Meter, units int) store.Units {
	return restBy(keyCredential(key), meter, units)
}

func restBy(by cola.Credential, meter cola.Meter, units int) store.Units {
	return store.Units{Channel: cola.ChannelREST, Credential: by, Meter: meter, Units: units, Requests: 1}
}

func charge(account cola.AccountID, requests int, units ...store.Units) store.Entry {
	return store.Entry{Account: account, Requests: requests, Units: units}
}

func mustUsage(t tb, st store.Store, account cola.AccountID) store.AccountState {
	t.Helper()
	state, err := st.AccountUsage(context.Background(), account)
	return must(t, state, err)
}

func accountStates(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierPro)
	ka, kb := mustKey(t, st, a.ID, 1), mustKey(t, st, b.ID, 2)
	settle(t, st, b.ID, charge(b.ID, 2, rest(kb.ID, cola.MeterListRecords, 20), rest(kb.ID, cola.MeterDetailViews, 3)))
	granted := c.now()
	c.set(granted.Add(time.Second + 789*time.Nanosecond)) // database clocks have microsecond precision
	unknown := b.ID + 100
	batch := store.Batch{
		ID:       NewBatchID(),
		Accounts: []cola.AccountID{a.ID, b.ID, unknown},
		Credentials: []cola.Credential{
			keyCredential(kb.ID), keyCredential(ka.ID), keyCredential(kb.ID + 100),
			{Kind: "other", ID: ka.ID},
		},
	}
	calls := 0
	err := st.Settle(t.Context(), batch, func(now time.Time, got []store.AccountState) []store.Entry {
		calls++
		if want := granted.Add(time.Second); !now.Equal(want) {
			t.Errorf("now = %v, want %v", now, want)
		}
		checkEqual(t, "account states", []store.AccountState{
			{
				Account: a.ID,
				Exists:  true,
				Tier:    cola.TierFree,
				Valid:   map[cola.Credential]bool{keyCredential(ka.ID): true},
				Keys:    map[cola.Credential]store.KeyAccess{keyCredential(ka.ID): fullAccess},
			},
			{
				Account: b.ID,
				Exists:  true,
				Tier:    cola.TierPro,
				Used:    cola.Used{DetailViews: 3, ListRecords: 20},
				Grants:  []store.Grant{{At: granted, Requests: 2}},
				Valid:   map[cola.Credential]bool{keyCredential(kb.ID): true},
				Keys:    map[cola.Credential]store.KeyAccess{keyCredential(kb.ID): fullAccess},
			},
			{Account: unknown, Valid: map[cola.Credential]bool{}, Keys: map[cola.Credential]store.KeyAccess{}},
		}, got)
		return nil
	})
	if err != nil || calls != 1 {
		t.Errorf("decide called %d times, error %v; want 1, nil", calls, err)
	}
	usage := mustUsage(t, st, b.ID)
	usage.Valid = nil
	checkEqual(t, "AccountUsage", store.AccountState{
		Account: b.ID,
		Exists:  true,
		Tier:    cola.TierPro,
		Used:    cola.Used{DetailViews: 3, ListRecords: 20},
		Grants:  []store.Grant{{At: granted, Requests: 2}},
	}, usage)
}

func monthChange(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	newYear := time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
	// Periods are in UTC, regardless of the clock's time zone.
	c.set(newYear.Add(-time.Microsecond).In(time.FixedZone("", 5*3600)))
	settle(t, st, a.ID, charge(a.ID, 1, rest(1, cola.MeterListRecords, 7)))
	checkEqual(t, "usage in the old month", cola.Used{ListRecords: 7}, mustUsage(t, st, a.ID).Used)
	c.set(newYear.In(time.FixedZone("", -5*3600)))
	checkEqual(t, "usage in the new month", cola.Used{}, mustUsage(t, st, a.ID).Used)
	checkEqual(t, "usage in the account state", cola.Used{},
		settle(t, st, a.ID, charge(a.ID, 1, rest(1, cola.MeterDetailViews, 1)))[0].Used)
	got := mustUsage(t, st, a.ID)
	checkEqual(t, "usage after a charge", cola.Used{DetailViews: 1}, got.Used)
	if len(got.Grants) != 2 {
		t.Errorf("grants = %v, want 2: the rate limit window spans months", got.Grants)
	}
	days, err := st.DailyUsage(t.Context(), a.ID, cola.DateOf(newYear)-1, cola.DateOf(newYear))
	checkEqual(t, "DailyUsage", []store.DayUsage{
		{
			Day:        mustDate(t, "2026-12-31"),
			Channel:    cola.ChannelREST,
			Credential: keyCredential(1),
			Meter:      cola.MeterListRecords,
			Units:      7,
			Requests:   1,
		},
		{
			Day:        mustDate(t, "2027-01-01"),
			Channel:    cola.ChannelREST,
			Credential: keyCredential(1),
			Meter:      cola.MeterDetailViews,
			Units:      1,
			Requests:   1,
		},
	}, must(t, days, err))
}

func keyValidity(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	lasting, revoked, other := mustKey(t, st, a.ID, 1), mustKey(t, st, a.ID, 2), mustKey(t, st, b.ID, 3)
	expiring, err := st.CreateKey(t.Context(), store.Key{AccountID: a.ID, ExpiresAt: epoch.Add(time.Hour)}, keyHash(4),
		0)
	must(t, expiring, err)
	valid := func() (ids []int64) {
		batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
		for _, k := range []store.Key{lasting, revoked, other, expiring} {
			batch.Credentials = append(batch.Credentials, keyCredential(k.ID))
		}
		err := st.Settle(t.Context(), batch, func(_ time.Time, states []store.AccountState) []store.Entry {
			for _, c := range batch.Credentials {
				if states[0].Valid[c] {
					ids = append(ids, c.ID)
				}
			}
			return nil
		})
		return must(t, ids, err)
	}
	checkEqual(t, "valid keys at first", []int64{lasting.ID, revoked.ID, expiring.ID}, valid())
	if err := st.RevokeKey(t.Context(), 0, revoked.ID); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "valid keys after RevokeKey", []int64{lasting.ID, expiring.ID}, valid())
	c.set(expiring.ExpiresAt.Add(-time.Microsecond))
	checkEqual(t, "valid keys just before the expiry", []int64{lasting.ID, expiring.ID}, valid())
	c.set(expiring.ExpiresAt)
	checkEqual(t, "valid keys after the expiry", []int64{lasting.ID}, valid())
}

func keyLastUsed(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	k, other := mustKey(t, st, a.ID, 1), mustKey(t, st, b.ID, 2)
	lastUsed := func(id int64) time.Time {
		list, err := st.Keys(t.Context(), 0)
		for _, k := range must(t, list, err) {
			if k.ID == id {
				return k.LastUsedAt
			}
		}
		t.Fatalf("no key %d", id)
		return time.Time{}
	}
	use := charge(a.ID, 1, rest(k.ID, cola.MeterNone, 0), rest(other.ID, cola.MeterNone, 0))
	var lastUse time.Time
	for i, advance := range []time.Duration{0, time.Second, 58 * time.Second, time.Second, time.Hour} {
		c.advance(advance)
		settle(t, st, a.ID, use)
		if i == 0 || i >= 3 { // at least a minute after the last recorded use
			lastUse = c.now()
		}
		if got := lastUsed(k.ID); !got.Equal(lastUse) {
			t.Errorf("use %d: LastUsedAt = %v, want %v", i, got, lastUse)
		}
	}
	if got := lastUsed(other.ID); !got.IsZero() {
		t.Errorf("another account's key: LastUsedAt = %v, want zero", got)
	}
}

// chargesStopAtLimit checks that concurrent workers together charge an account exactly up to its
// limit.
func chargesStopAtLimit(t *testing.T, st store.Store, _ *clock) {
	const limit, workers = 500, 50
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	var granted, batches atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for units := 1 + w%7; ; {
				var left, got int
				err := st.Settle(t.Context(), store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID, b.ID}},
					func(_ time.Time, states []store.AccountState) []store.Entry {
						left = limit - states[0].Used.ListRecords
						got = min(left, units)
						return []store.Entry{
							charge(a.ID, 1, rest(1, cola.MeterListRecords, got)),
							charge(b.ID, 0, rest(1, cola.MeterDetailViews, 1)),
						}
					})
				if err != nil {
					t.Errorf("worker %d: %v", w, err)
					return
				}
				granted.Add(int64(got))
				batches.Add(1)
				if left == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	checkEqual(t, "usage", cola.Used{ListRecords: limit}, mustUsage(t, st, a.ID).Used)
	checkEqual(t, "usage of the other account", cola.Used{DetailViews: int(batches.Load())},
		mustUsage(t, st, b.ID).Used)
	if granted.Load() != limit {
		t.Errorf("granted %d units, want %d", granted.Load(), limit)
	}
}
