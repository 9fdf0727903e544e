package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testSignIns(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"create and list", signInRoundTrip},
		{"malformed", malformedSignIn},
		{"list valid sign-ins", listSignIns},
		{"end is idempotent", endSignInTwice},
		{"end all others", endOtherSignIns},
		{"validity", signInValidity},
		{"last use, once a minute", signInLastUsed},
		{"concurrent sign-outs and charges", concurrentSignOutsAndCharges},
	})
}

// signInLifetime is the lifetime of sign-ins in tests.
const signInLifetime = 14 * 24 * time.Hour

// mustSignIn creates a sign-in that expires signInLifetime after the epoch.
func mustSignIn(t tb, st store.Store, account cola.AccountID) store.SignIn {
	t.Helper()
	i, err := st.CreateSignIn(context.Background(),
		store.SignIn{Account: account, Via: testIssuer, Browser: "a browser", ExpiresAt: epoch.Add(signInLifetime)})
	return must(t, i, err)
}

func mustSignIns(t tb, st store.Store, account cola.AccountID) []store.SignIn {
	t.Helper()
	list, err := st.SignIns(context.Background(), account)
	return must(t, list, err)
}

// everySignIn returns all sign-ins, including ended and expired ones, ordered by ID.
func everySignIn(t tb, st store.Store) (list []store.SignIn) {
	t.Helper()
	mustDo(t, st.Dump(context.Background(), func(i *store.Item) error {
		if i.Kind == store.ItemSignIn {
			list = append(list, i.SignIn)
		}
		return nil
	}))
	return list
}

func signInCredential(id int64) cola.Credential {
	return cola.Credential{Kind: cola.CredentialSignIn, ID: id}
}

func signInRoundTrip(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	c.set(epoch.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	params := store.SignIn{
		ID:         42,
		Account:    a.ID,
		Via:        "https://issuer.example/?a=b&c='",
		Browser:    "<script>o'browser</script> 100%_ ünï\u202e\t",
		CreatedAt:  epoch.Add(time.Hour),
		LastUsedAt: epoch,
		EndedAt:    epoch,
		ExpiresAt:  epoch.Add(signInLifetime).In(time.FixedZone("", -3600)),
	}
	created, err := st.CreateSignIn(t.Context(), params)
	want := store.SignIn{
		ID:        must(t, created, err).ID,
		Account:   a.ID,
		Via:       params.Via,
		Browser:   params.Browser,
		CreatedAt: epoch,
		ExpiresAt: epoch.Add(signInLifetime),
	}
	checkEqual(t, "CreateSignIn", want, created)
	byLink, err := st.CreateSignIn(t.Context(), store.SignIn{Account: a.ID, ExpiresAt: params.ExpiresAt})
	if must(t, byLink, err); byLink.ID <= created.ID {
		t.Errorf("CreateSignIn IDs = %d, %d; want increasing IDs", created.ID, byLink.ID)
	}
	checkEqual(t, "SignIns", []store.SignIn{byLink, want}, mustSignIns(t, st, a.ID))
}

func malformedSignIn(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	end := epoch.Add(signInLifetime)
	for name, k := range map[string]struct {
		signIn store.SignIn
		want   error
	}{
		"unknown account":      {store.SignIn{Account: a.ID + 100, ExpiresAt: end}, store.ErrNotFound},
		"browser with NUL":     {store.SignIn{Account: a.ID, Browser: "a\x00b", ExpiresAt: end}, store.ErrMalformed},
		"browser is not UTF-8": {store.SignIn{Account: a.ID, Browser: "\xff", ExpiresAt: end}, store.ErrMalformed},
		"issuer with NUL":      {store.SignIn{Account: a.ID, Via: "https://\x00", ExpiresAt: end}, store.ErrMalformed},
		"no expiry":            {store.SignIn{Account: a.ID}, store.ErrMalformed},
	} {
		if _, err := st.CreateSignIn(t.Context(), k.signIn); !errors.Is(err, k.want) {
			t.Errorf("%s: CreateSignIn error = %v, want %v", name, err, k.want)
		}
	}
	if current := everySignIn(t, st); len(current) > 0 {
		t.Errorf("sign-ins = %+v, want an empty result", current)
	}
}

func listSignIns(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	first, other := mustSignIn(t, st, a.ID), mustSignIn(t, st, b.ID)
	short, err := st.CreateSignIn(t.Context(), store.SignIn{Account: a.ID, ExpiresAt: epoch.Add(time.Hour)})
	ended := mustSignIn(t, st, a.ID)
	last := mustSignIn(t, st, a.ID)
	must(t, short, err)
	mustDo(t, st.EndSignIn(t.Context(), a.ID, ended.ID))
	checkEqual(t, "SignIns at first", []store.SignIn{last, short, first}, mustSignIns(t, st, a.ID))
	c.set(short.ExpiresAt.Add(-time.Microsecond))
	checkEqual(t, "SignIns just before an expiry", []store.SignIn{last, short, first}, mustSignIns(t, st, a.ID))
	c.set(short.ExpiresAt)
	checkEqual(t, "SignIns after the expiry", []store.SignIn{last, first}, mustSignIns(t, st, a.ID))
	checkEqual(t, "SignIns of another account", []store.SignIn{other}, mustSignIns(t, st, b.ID))
	for _, unknown := range []cola.AccountID{0, b.ID + 100} {
		if list := mustSignIns(t, st, unknown); len(list) > 0 {
			t.Errorf("SignIns(unknown account %d) = %+v, want an empty result", unknown, list)
		}
	}
}

func endSignInTwice(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	one, two := mustSignIn(t, st, a.ID), mustSignIn(t, st, a.ID)
	for _, k := range []struct {
		account cola.AccountID
		id      int64
	}{{b.ID, one.ID}, {0, one.ID}, {a.ID, two.ID + 100}, {a.ID, 0}} {
		if err := st.EndSignIn(t.Context(), k.account, k.id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("EndSignIn(%d, %d) error = %v, want ErrNotFound", k.account, k.id, err)
		}
	}
	checkEqual(t, "sign-ins after rejected calls", []store.SignIn{one, two}, everySignIn(t, st))
	c.advance(time.Minute)
	one.EndedAt = c.now()
	for range 2 {
		mustDo(t, st.EndSignIn(t.Context(), a.ID, one.ID))
		c.advance(time.Minute)
	}
	checkEqual(t, "sign-ins after ending one twice", []store.SignIn{one, two}, everySignIn(t, st))
}

func endOtherSignIns(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	expired, err := st.CreateSignIn(t.Context(), store.SignIn{Account: a.ID, ExpiresAt: epoch.Add(time.Minute)})
	must(t, expired, err)
	ended := mustSignIn(t, st, a.ID)
	current := mustSignIn(t, st, a.ID)
	first := mustSignIn(t, st, a.ID)
	second := mustSignIn(t, st, a.ID)
	other := mustSignIn(t, st, b.ID)
	mustDo(t, st.EndSignIn(t.Context(), a.ID, ended.ID))
	ended.EndedAt = c.now()
	c.advance(time.Minute)
	first.EndedAt, second.EndedAt = c.now(), c.now()
	for _, want := range []int{2, 0} {
		n, err := st.EndOtherSignIns(t.Context(), a.ID, current.ID)
		checkEqual(t, "EndOtherSignIns", want, must(t, n, err))
		c.advance(time.Minute)
	}
	checkEqual(t, "sign-ins", []store.SignIn{expired, ended, current, first, second, other}, everySignIn(t, st))
	// The sign-in to keep belongs to another account, so all of this account's sign-ins are ended.
	n, err := st.EndOtherSignIns(t.Context(), a.ID, other.ID)
	checkEqual(t, "EndOtherSignIns with another account's sign-in", 1, must(t, n, err))
	checkEqual(t, "SignIns of the other account", []store.SignIn{other}, mustSignIns(t, st, b.ID))
	n, err = st.EndOtherSignIns(t.Context(), b.ID+100, 0)
	checkEqual(t, "EndOtherSignIns for an unknown account", 0, must(t, n, err))
}

func signInValidity(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	key, link := mustKeyAndLink(t, st, a.ID)
	first, second, other := mustSignIn(t, st, a.ID), mustSignIn(t, st, a.ID), mustSignIn(t, st, b.ID)
	if first.ID != key.ID {
		t.Fatalf("first key ID = %d, first sign-in ID = %d; the test needs them equal", key.ID, first.ID)
	}
	creds := []cola.Credential{
		signInCredential(first.ID), signInCredential(second.ID), signInCredential(other.ID),
		signInCredential(other.ID + 100),
	}
	expect := func(when string, want ...cola.Credential) {
		t.Helper()
		checkEqual(t, "valid sign-ins "+when, want, validCredentials(t, st, []cola.AccountID{a.ID}, creds...)[a.ID])
	}
	expect("at first", creds[0], creds[1])
	mustDo(t, st.EndSignIn(t.Context(), a.ID, second.ID))
	expect("after ending one", creds[0])
	mustDo(t, st.RevokeKey(t.Context(), a.ID, key.ID))
	mustDo(t, st.RevokeLink(t.Context(), a.ID, link.ID))
	expect("after revoking the key and link with the same ID", creds[0])
	c.set(first.ExpiresAt.Add(-time.Microsecond))
	expect("just before the expiry", creds[0])
	c.set(first.ExpiresAt)
	expect("after the expiry")
	fresh, err := st.CreateSignIn(t.Context(), store.SignIn{Account: a.ID, ExpiresAt: c.now().Add(time.Hour)})
	creds = append(creds, signInCredential(must(t, fresh, err).ID))
	expect("after signing in again", creds[4])
	n, err := st.EndOtherSignIns(t.Context(), a.ID, 0)
	checkEqual(t, "EndOtherSignIns", 1, must(t, n, err))
	expect("after ending all")
}

// signInLastUsed checks that using a sign-in updates its last use, but not the last use of the key
// with the same ID or of another account's sign-in.
func signInLastUsed(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustKey(t, st, a.ID, 1)
	one, other := mustSignIn(t, st, a.ID), mustSignIn(t, st, b.ID)
	creds := []cola.Credential{signInCredential(one.ID), signInCredential(other.ID)}
	use := charge(a.ID, 1, restBy(creds[0], cola.MeterNone, 0), restBy(creds[1], cola.MeterNone, 0))
	for i, advance := range []time.Duration{0, time.Second, 58 * time.Second, time.Second, time.Hour} {
		c.advance(advance)
		batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID}, Credentials: creds}
		mustDo(t, st.Settle(t.Context(), batch,
			func(time.Time, []store.AccountState) []store.Entry { return []store.Entry{use} }))
		if i == 0 || i >= 3 { // at least a minute after the last recorded use
			one.LastUsedAt = c.now()
		}
		checkEqual(t, fmt.Sprintf("sign-ins after use %d", i), []store.SignIn{one, other}, everySignIn(t, st))
	}
	keys, err := st.Keys(t.Context(), a.ID)
	if got := must(t, keys, err)[0].LastUsedAt; !got.IsZero() {
		t.Errorf("key with the same ID: LastUsedAt = %v, want zero", got)
	}
}

// signInCharges checks that usage of a key and a sign-in with the same ID is counted separately.
func signInCharges(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	key, signIn := keyCredential(mustKey(t, st, a.ID, 1).ID), signInCredential(mustSignIn(t, st, a.ID).ID)
	byBrowser := restBy(signIn, cola.MeterDetailViews, 2)
	byBrowser.Channel = cola.ChannelDashboard
	settle(t, st, a.ID, charge(a.ID, 2, restBy(key, cola.MeterDetailViews, 1), byBrowser))
	day := cola.DateOf(c.now())
	days, err := st.DailyUsage(t.Context(), a.ID, day, day)
	checkEqual(t, "DailyUsage", []store.DayUsage{
		{
			Day:        day,
			Channel:    cola.ChannelDashboard,
			Credential: signIn,
			Meter:      cola.MeterDetailViews,
			Units:      2,
			Requests:   1,
		},
		{Day: day, Channel: cola.ChannelREST, Credential: key, Meter: cola.MeterDetailViews, Units: 1, Requests: 1},
	}, must(t, days, err))
}

// concurrentSignOutsAndCharges checks that sign-ins, sign-outs, key replacements and charges to
// their credentials do not deadlock.
func concurrentSignOutsAndCharges(t *testing.T, st store.Store, c *clock) {
	const rounds = 25
	var accounts []cola.AccountID
	var credentials []cola.Credential
	for n := range 3 {
		a := mustAccount(t, st, fmt.Sprintf("%d@example.com", n), cola.TierFree)
		accounts = append(accounts, a.ID)
		for range 3 {
			credentials = append(credentials, signInCredential(mustSignIn(t, st, a.ID).ID))
		}
		credentials = append(credentials, keyCredential(mustKey(t, st, a.ID, byte(n)).ID))
	}
	signInAgain := func(n int) error {
		_, err := st.CreateSignIn(t.Context(), store.SignIn{Account: accounts[n%3], ExpiresAt: c.now().Add(time.Hour)})
		return err
	}
	work := []func(n int) error{
		signInAgain,
		func(n int) error { return st.EndSignIn(t.Context(), accounts[n%3], credentials[n%3*4].ID) },
		func(n int) error { _, err := st.EndOtherSignIns(t.Context(), accounts[n%3], int64(n)); return err },
		func(n int) error {
			_, err := st.ReplaceKey(t.Context(), accounts[n%3], credentials[n%3*4+3].ID, store.Key{},
				keyHash(byte(100+n)), c.now().Add(24*365*time.Hour), 0)
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
		checkEqual(t, "sum of daily usage", mustUsage(t, st, id).Used, sumOfDays(t, st, id, cola.PeriodOf(c.now())))
	}
}

// populateSignIns creates a sign-in in each state, a sign-in link, an emailed link and a session.
func populateSignIns(t *testing.T, st store.Store, c *clock, account cola.AccountID) {
	t.Helper()
	used, ended := mustSignIn(t, st, account), mustSignIn(t, st, account)
	expired, err := st.CreateSignIn(t.Context(), store.SignIn{Account: account, Browser: "ünïcode", ExpiresAt: c.now()})
	must(t, expired, err)
	settle(t, st, account, charge(account, 1, restBy(signInCredential(used.ID), cola.MeterListRecords, 0)))
	c.advance(time.Second)
	mustDo(t, st.EndSignIn(t.Context(), account, ended.ID))
	mustDo(t, st.CreateSignInLink(t.Context(), account, linkHash(1), anHour))
	mustEmailedLink(t, st, "unconfirmed@example.com", 2, true)
	mustDo(t, st.SaveSession(t.Context(), "a session", []byte("data"), c.now().Add(anHour)))
}

func checkCopiedSignIns(t *testing.T, from, to store.Store, account cola.AccountID) {
	want := everySignIn(t, from)
	checkEqual(t, "sign-ins", want, everySignIn(t, to))
	var creds []cola.Credential
	for _, i := range want {
		creds = append(creds, signInCredential(i.ID))
	}
	accounts := []cola.AccountID{account}
	checkEqual(t, "valid sign-ins", validCredentials(t, from, accounts, creds...),
		validCredentials(t, to, accounts, creds...))
	if fresh := mustSignIn(t, to, account); fresh.ID <= want[len(want)-1].ID {
		t.Errorf("new sign-in ID = %d, want one after the copied IDs", fresh.ID)
	}
	for n := 1; n <= 2; n++ {
		if _, err := to.SignInLink(t.Context(), linkHash(n)); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("SignInLink(%d) in the copy: error = %v, want ErrNotFound", n, err)
		}
	}
	if data, err := to.Session(t.Context(), "a session"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Session in the copy = %q, %v; want ErrNotFound", data, err)
	}
}
