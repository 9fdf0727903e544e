package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// mustKeyAndLink creates a key and a link with the same ID in an account. The store must not
// already contain keys or links.
func mustKeyAndLink(t *testing.T, st store.Store, account cola.AccountID) (key, link cola.Credential) {
	t.Helper()
	k, l := mustKey(t, st, account, 1), mustConnect(t, st, account, mustApp(t, st, "app").ID)
	if k.ID != l.ID {
		t.Fatalf("first key ID = %d, first link ID = %d; the test needs them equal", k.ID, l.ID)
	}
	return keyCredential(k.ID), linkCredential(l.ID)
}

// validCredentials returns which of the credentials a batch reports as valid for each account.
func validCredentials(t *testing.T, st store.Store, accounts []cola.AccountID,
	credentials ...cola.Credential) map[cola.AccountID][]cola.Credential {
	t.Helper()
	valid := map[cola.AccountID][]cola.Credential{}
	err := st.Settle(t.Context(), store.Batch{ID: NewBatchID(), Accounts: accounts, Credentials: credentials},
		func(_ time.Time, states []store.AccountState) []store.Entry {
			for _, s := range states {
				for _, c := range credentials {
					if s.Valid[c] {
						valid[s.Account] = append(valid[s.Account], c)
					}
				}
				if len(s.Valid) != len(valid[s.Account]) {
					t.Errorf("account %d: Valid = %v, want %v", s.Account, s.Valid, valid[s.Account])
				}
			}
			return nil
		})
	mustDo(t, err)
	return valid
}

func linkValidity(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	app, other := mustApp(t, st, "app"), mustApp(t, st, "other")
	one := mustConnect(t, st, a.ID, app.ID)
	two := mustConnect(t, st, a.ID, other.ID)
	others := mustConnect(t, st, b.ID, app.ID)
	expect := func(when string, want ...int64) {
		t.Helper()
		list := []cola.Credential{
			linkCredential(two.ID), linkCredential(others.ID), linkCredential(others.ID + 100),
			linkCredential(one.ID),
		}
		valid := map[int64]bool{}
		for _, c := range validCredentials(t, st, []cola.AccountID{a.ID}, list...)[a.ID] {
			valid[c.ID] = true
		}
		wanted := map[int64]bool{}
		for _, id := range want {
			wanted[id] = true
		}
		checkEqual(t, "valid links "+when, wanted, valid)
	}
	expect("at first", one.ID, two.ID)
	mustDo(t, st.RevokeLink(t.Context(), 0, one.ID))
	expect("after RevokeLink", two.ID)
	mustDo(t, st.DisableApp(t.Context(), other.ID))
	expect("after disabling the other app")
	mustDo(t, st.RestoreLink(t.Context(), 0, one.ID))
	expect("after RestoreLink", one.ID)
	c.advance(24 * 365 * time.Hour)
	expect("a year later", one.ID)
	mustDo(t, st.DisableApp(t.Context(), app.ID))
	expect("with both apps disabled")
	mustDo(t, st.RevokeLink(t.Context(), 0, one.ID))
	mustApp(t, st, "app")
	expect("after registering the app of a revoked link")
	mustApp(t, st, "other")
	expect("after registering both apps", two.ID)
}

func keyAndLinkWithSameID(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	key, link := mustKeyAndLink(t, st, a.ID)
	both := []cola.AccountID{a.ID, b.ID}
	checkEqual(t, "valid credentials", map[cola.AccountID][]cola.Credential{a.ID: {key, link}},
		validCredentials(t, st, both, key, link))
	checkEqual(t, "valid credentials when only the link is requested",
		map[cola.AccountID][]cola.Credential{a.ID: {link}}, validCredentials(t, st, both, link))
	mustDo(t, st.RevokeKey(t.Context(), 0, key.ID))
	checkEqual(t, "valid credentials after RevokeKey", map[cola.AccountID][]cola.Credential{a.ID: {link}},
		validCredentials(t, st, both, key, link))
	mustDo(t, st.RevokeLink(t.Context(), 0, link.ID))
	fresh := keyCredential(mustKey(t, st, b.ID, 2).ID)
	checkEqual(t, "valid credentials after RevokeLink", map[cola.AccountID][]cola.Credential{b.ID: {fresh}},
		validCredentials(t, st, both, key, link, fresh))

	settle(t, st, a.ID, charge(a.ID, 3, restBy(key, cola.MeterListRecords, 5), restBy(link, cola.MeterListRecords, 7),
		restBy(link, cola.MeterNone, 0)))
	day := cola.DateOf(c.now())
	days, err := st.DailyUsage(t.Context(), a.ID, day, day)
	checkEqual(t, "DailyUsage", []store.DayUsage{
		{Day: day, Channel: cola.ChannelREST, Credential: key, Meter: cola.MeterListRecords, Units: 5, Requests: 1},
		{Day: day, Channel: cola.ChannelREST, Credential: link, Meter: cola.MeterNone, Requests: 1},
		{Day: day, Channel: cola.ChannelREST, Credential: link, Meter: cola.MeterListRecords, Units: 7, Requests: 1},
	}, must(t, days, err))
	checkEqual(t, "AccountUsage.Used", cola.Used{ListRecords: 12}, mustUsage(t, st, a.ID).Used)
}

// linkLastUsed checks that using a link updates its last use, but not the last use of the key with
// the same ID or of another account's link.
func linkLastUsed(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	key, link := mustKeyAndLink(t, st, a.ID)
	other := mustConnect(t, st, b.ID, mustLinks(t, st, a.ID)[0].App.ID)
	batch := store.Batch{
		Accounts:    []cola.AccountID{a.ID},
		Credentials: []cola.Credential{link, linkCredential(other.ID)},
	}
	use := charge(a.ID, 1, restBy(link, cola.MeterNone, 0), restBy(linkCredential(other.ID), cola.MeterNone, 0))
	var lastUse time.Time
	for i, advance := range []time.Duration{0, time.Second, 58 * time.Second, time.Second, time.Hour} {
		c.advance(advance)
		batch.ID = NewBatchID()
		mustDo(t, st.Settle(t.Context(), batch,
			func(time.Time, []store.AccountState) []store.Entry { return []store.Entry{use} }))
		if i == 0 || i >= 3 { // at least a minute after the last recorded use
			lastUse = c.now()
		}
		list := mustLinks(t, st, 0)
		if got := list[0].LastUsedAt; !got.Equal(lastUse) {
			t.Errorf("use %d: link LastUsedAt = %v, want %v", i, got, lastUse)
		}
		if got := list[1].LastUsedAt; !got.IsZero() {
			t.Errorf("another account's link: LastUsedAt = %v, want zero", got)
		}
	}
	keys, err := st.Keys(t.Context(), a.ID)
	if got := must(t, keys, err)[0]; got.ID != key.ID || !got.LastUsedAt.IsZero() {
		t.Errorf("key %d: LastUsedAt = %v, want key %d and a zero time", got.ID, got.LastUsedAt, key.ID)
	}
	settle(t, st, a.ID, charge(a.ID, 1, restBy(key, cola.MeterNone, 0)))
	keys, err = st.Keys(t.Context(), a.ID)
	if got := must(t, keys, err)[0].LastUsedAt; !got.Equal(c.now()) {
		t.Errorf("key LastUsedAt = %v, want %v", got, c.now())
	}
}

// lastUsedWithoutCharge checks that presenting a valid credential records its use, even without a
// charge, but that presenting an invalid credential or another account's does not.
func lastUsedWithoutCharge(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	key, link := mustKeyAndLink(t, st, a.ID)
	other, ended := mustKey(t, st, b.ID, 2), mustKey(t, st, a.ID, 3)
	mustDo(t, st.RevokeKey(t.Context(), a.ID, ended.ID))
	signIn := mustSignIn(t, st, a.ID)
	batch := store.Batch{
		Accounts: []cola.AccountID{a.ID},
		Credentials: []cola.Credential{
			key, link, signInCredential(signIn.ID), keyCredential(other.ID),
			keyCredential(ended.ID),
		},
	}
	var lastUse time.Time
	for i, advance := range []time.Duration{0, time.Second, 58 * time.Second, time.Second, time.Hour} {
		c.advance(advance)
		batch.ID = NewBatchID()
		mustDo(t, st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry { return nil }))
		if i == 0 || i >= 3 { // at least a minute after the last recorded use
			lastUse = c.now()
		}
		uses := map[string]time.Time{
			"link":    mustLinks(t, st, a.ID)[0].LastUsedAt,
			"sign-in": everySignIn(t, st)[0].LastUsedAt,
		}
		keys, err := st.Keys(t.Context(), 0)
		for _, k := range must(t, keys, err) {
			uses[fmt.Sprint("key ", k.ID)] = k.LastUsedAt
		}
		want := map[string]time.Time{
			"link":                       lastUse,
			"sign-in":                    lastUse,
			fmt.Sprint("key ", key.ID):   lastUse,
			fmt.Sprint("key ", other.ID): {},
			fmt.Sprint("key ", ended.ID): {},
		}
		checkEqual(t, fmt.Sprintf("last uses after batch %d", i), want, uses)
	}
	day := cola.DateOf(c.now())
	days, err := st.DailyUsage(t.Context(), a.ID, day-1, day)
	if got := mustUsage(t, st, a.ID); len(must(t, days, err)) != 0 || len(got.Grants) != 0 ||
		got.Used != (cola.Used{}) {
		t.Errorf("usage after batches without charges = %+v, %+v; want none", days, got)
	}
}

// concurrentLinkChangesAndCharges checks that changes to accounts, apps and links do not deadlock
// with charges. The clock advances so fast that every charge records the use of its links.
func concurrentLinkChangesAndCharges(t *testing.T, st store.Store, c *clock) {
	const rounds = 25
	var accounts []cola.AccountID
	var credentials []cola.Credential
	apps := []store.App{mustApp(t, st, "app"), mustApp(t, st, "other")}
	for n := range 3 {
		accounts = append(accounts, mustAccountOf(t, st, testIssuer, fmt.Sprint(n), "").ID)
		for _, app := range apps {
			credentials = append(credentials, linkCredential(mustConnect(t, st, accounts[n], app.ID).ID))
		}
	}
	work := []func(n int) error{
		func(n int) error { return st.RevokeLink(t.Context(), 0, credentials[n%6].ID) },
		func(n int) error { return st.RestoreLink(t.Context(), 0, credentials[n%6].ID) },
		func(n int) error { return st.DisableApp(t.Context(), apps[n%2].ID) },
		func(n int) error { _, err := st.RegisterApp(t.Context(), apps[n%2]); return err },
		func(n int) error {
			_, err := st.Connect(t.Context(), accounts[n%3], apps[n%2].ID, scopes(fmt.Sprint(n)))
			return err
		},
		func(n int) error {
			_, err := st.AccountOf(t.Context(), store.Identity{Issuer: testIssuer, Subject: fmt.Sprint(n % 3)},
				fmt.Sprintf("%d@example.com", n%4))
			return err
		},
	}
	for range 3 {
		work = append(work, func(int) error {
			c.advance(2 * time.Minute)
			return st.Settle(t.Context(), store.Batch{ID: NewBatchID(), Accounts: accounts, Credentials: credentials},
				chargeCredentials)
		})
	}
	concurrently(len(work), func(i int) {
		for n := range rounds {
			if err := work[i](n); err != nil {
				t.Errorf("worker %d, round %d: %v", i, n, err)
				return
			}
		}
	})
	for _, id := range accounts {
		sum := sumOfDays(t, st, id, cola.PeriodOf(c.now()))
		checkEqual(t, "sum of daily usage", mustUsage(t, st, id).Used, sum)
		if sum.ListRecords > 3*2*rounds {
			t.Errorf("account %d was charged %d list records, want at most 1 per link in %d batches", id,
				sum.ListRecords, 3*rounds)
		}
	}
}

// chargeCredentials charges one record to every valid credential.
func chargeCredentials(_ time.Time, states []store.AccountState) (entries []store.Entry) {
	for _, s := range states {
		e := store.Entry{Account: s.Account}
		for c := range s.Valid {
			e.Requests++
			e.Units = append(e.Units, restBy(c, cola.MeterListRecords, 1))
		}
		entries = append(entries, e)
	}
	return entries
}
