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
		{"a batch is given the states in the order asked for", statesInOrder},
		{"usage starts anew with the month", monthTurnsOver},
		{"a credential holds for its account until it ends", credentialsHold},
		{"a change of tier shows in the next batch", func(t *testing.T, st store.Store, _ *clock) {
			a := mustAccount(t, st, "a@example.com", cola.TierFree)
			if err := st.SetTier(t.Context(), a.ID, cola.TierStarter); err != nil {
				t.Fatal(err)
			}
			if got := settle(t, st, a.ID)[0]; got.Tier != cola.TierStarter {
				t.Errorf("tier %q, want %q", got.Tier, cola.TierStarter)
			}
		}},
		{"the use of a key is noted once a minute", lastUseIsNoted},
		{"the use of what only looks is noted too", lastLookIsNoted},
		{"a link holds for its account until it or its app ends", linksHold},
		{"a key and a link of one number are told apart", kindsAreDistinct},
		{"the use of a link is noted once a minute", lastUseOfLinkIsNoted},
		{"what is charged to a sign-in is told apart", signInsAreToldApart},
		{"links change while they are charged", linksChangeWhileCharged},
		{"an account that is not there has no usage", func(t *testing.T, st store.Store, _ *clock) {
			if _, err := st.AccountUsage(t.Context(), 42); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("error = %v, want ErrNotFound", err)
			}
		}},
		{"concurrent charges end exactly at the limit", chargesEndAtLimit},
	})
}

// NewBatchID returns an ID that is unique across processes.
func NewBatchID() (id store.BatchID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// settle commits a batch with the entries and returns the account states that the decision
// received.
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

func statesInOrder(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierPro)
	ka, kb := mustKey(t, st, a.ID, 1), mustKey(t, st, b.ID, 2)
	settle(t, st, b.ID, charge(b.ID, 2, rest(kb.ID, cola.MeterListRecords, 20), rest(kb.ID, cola.MeterDetailViews, 3)))
	granted := c.now()
	c.set(granted.Add(time.Second + 789*time.Nanosecond)) // database clocks have microsecond precision
	nobody := b.ID + 100
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID, b.ID, nobody},
		Credentials: []cola.Credential{keyCredential(kb.ID), keyCredential(ka.ID), keyCredential(kb.ID + 100), {Kind: "other", ID: ka.ID}}}
	calls := 0
	err := st.Settle(t.Context(), batch, func(now time.Time, got []store.AccountState) []store.Entry {
		calls++
		if want := granted.Add(time.Second); !now.Equal(want) {
			t.Errorf("now = %v, want %v", now, want)
		}
		same(t, "states", []store.AccountState{
			{Account: a.ID, Exists: true, Tier: cola.TierFree, Valid: map[cola.Credential]bool{keyCredential(ka.ID): true}},
			{Account: b.ID, Exists: true, Tier: cola.TierPro, Used: cola.Used{DetailViews: 3, ListRecords: 20},
				Grants: []store.Grant{{At: granted, Requests: 2}}, Valid: map[cola.Credential]bool{keyCredential(kb.ID): true}},
			{Account: nobody, Valid: map[cola.Credential]bool{}},
		}, got)
		return nil
	})
	if err != nil || calls != 1 {
		t.Errorf("decided %d times, error %v; want once", calls, err)
	}
	usage := mustUsage(t, st, b.ID)
	usage.Valid = nil
	same(t, "usage", store.AccountState{Account: b.ID, Exists: true, Tier: cola.TierPro, Used: cola.Used{DetailViews: 3, ListRecords: 20},
		Grants: []store.Grant{{At: granted, Requests: 2}}}, usage)
}

func monthTurnsOver(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	newYear := time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
	c.set(newYear.Add(-time.Microsecond).In(time.FixedZone("", 5*3600))) // periods are in UTC, regardless of the clock's time zone
	settle(t, st, a.ID, charge(a.ID, 1, rest(1, cola.MeterListRecords, 7)))
	same(t, "used in the old month", cola.Used{ListRecords: 7}, mustUsage(t, st, a.ID).Used)
	c.set(newYear.In(time.FixedZone("", -5*3600)))
	same(t, "used in the new month", cola.Used{}, mustUsage(t, st, a.ID).Used)
	same(t, "used as a batch sees it", cola.Used{}, settle(t, st, a.ID, charge(a.ID, 1, rest(1, cola.MeterDetailViews, 1)))[0].Used)
	got := mustUsage(t, st, a.ID)
	same(t, "used after a charge", cola.Used{DetailViews: 1}, got.Used)
	if len(got.Grants) != 2 {
		t.Errorf("grants %v: the window must not turn over with the month", got.Grants)
	}
	days, err := st.DailyUsage(t.Context(), a.ID, cola.DateOf(newYear)-1, cola.DateOf(newYear))
	same(t, "days", []store.DayUsage{
		{Day: mustDate(t, "2026-12-31"), Channel: cola.ChannelREST, Credential: keyCredential(1), Meter: cola.MeterListRecords, Units: 7, Requests: 1},
		{Day: mustDate(t, "2027-01-01"), Channel: cola.ChannelREST, Credential: keyCredential(1), Meter: cola.MeterDetailViews, Units: 1, Requests: 1},
	}, must(t, days, err))
}

func credentialsHold(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	lasting, revoked, others := mustKey(t, st, a.ID, 1), mustKey(t, st, a.ID, 2), mustKey(t, st, b.ID, 3)
	expiring, err := st.CreateKey(t.Context(), store.Key{AccountID: a.ID, ExpiresAt: epoch.Add(time.Hour)}, keyHash(4), 0)
	must(t, expiring, err)
	valid := func() (held []int64) {
		batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}}
		for _, k := range []store.Key{lasting, revoked, others, expiring} {
			batch.Credentials = append(batch.Credentials, keyCredential(k.ID))
		}
		err := st.Settle(t.Context(), batch, func(_ time.Time, states []store.AccountState) []store.Entry {
			for _, c := range batch.Credentials {
				if states[0].Valid[c] {
					held = append(held, c.ID)
				}
			}
			return nil
		})
		return must(t, held, err)
	}
	same(t, "at first", []int64{lasting.ID, revoked.ID, expiring.ID}, valid())
	if err := st.RevokeKey(t.Context(), 0, revoked.ID); err != nil {
		t.Fatal(err)
	}
	same(t, "after a revocation", []int64{lasting.ID, expiring.ID}, valid())
	c.set(expiring.ExpiresAt.Add(-time.Microsecond))
	same(t, "until it expires", []int64{lasting.ID, expiring.ID}, valid())
	c.set(expiring.ExpiresAt)
	same(t, "once expired", []int64{lasting.ID}, valid())
}

func lastUseIsNoted(t *testing.T, st store.Store, c *clock) {
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
	var noted time.Time
	for i, advance := range []time.Duration{0, time.Second, 58 * time.Second, time.Second, time.Hour} {
		c.advance(advance)
		settle(t, st, a.ID, use)
		if i == 0 || i >= 3 { // at least a minute after the last recorded use
			noted = c.now()
		}
		if got := lastUsed(k.ID); !got.Equal(noted) {
			t.Errorf("after use %d last used at %v, want %v", i, got, noted)
		}
	}
	if got := lastUsed(other.ID); !got.IsZero() {
		t.Errorf("another account's key was last used at %v", got)
	}
}

// chargesEndAtLimit has many workers charge one account until nothing is left.
func chargesEndAtLimit(t *testing.T, st store.Store, _ *clock) {
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
						return []store.Entry{charge(a.ID, 1, rest(1, cola.MeterListRecords, got)), charge(b.ID, 0, rest(1, cola.MeterDetailViews, 1))}
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
	same(t, "used", cola.Used{ListRecords: limit}, mustUsage(t, st, a.ID).Used)
	same(t, "used of the other account", cola.Used{DetailViews: int(batches.Load())}, mustUsage(t, st, b.ID).Used)
	if granted.Load() != limit {
		t.Errorf("%d units were granted, want %d", granted.Load(), limit)
	}
}
