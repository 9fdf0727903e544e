package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testIdentities(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"NewIdentity is set once", newIdentityOnce},
		{"new identity gets an account", identityGetsAccount},
		{"identity joins the account with its email", identityJoinsAccount},
		{"lookalike emails", lookalikeEmails},
		{"identities with one email", identitiesShareEmail},
		{"subjects are case-sensitive", subjectCase},
		{"account without email adopts one", accountAdoptsEmail},
		{"taken email is not adopted", takenEmailNotAdopted},
		{"malformed", malformedIdentity},
		{"maximum length", longestIdentity},
		{"concurrent sign-ins of one identity", concurrentIdentity},
		{"concurrent sign-ins with one email", concurrentEmail},
		{"concurrent adoption of one email", concurrentEmailAdoption},
	})
}

const testIssuer = "https://id.example.com"

// mustAccountOf returns the account of an identity, with NewIdentity cleared.
func mustAccountOf(t tb, st store.Store, issuer, subject, verified string) store.Account {
	t.Helper()
	a, err := st.AccountOf(context.Background(), store.Identity{Issuer: issuer, Subject: subject}, verified)
	a.NewIdentity = false
	return must(t, a, err)
}

// checkAccounts checks all accounts of a store, ordered by ID.
func checkAccounts(t tb, st store.Store, want ...store.Account) {
	t.Helper()
	list, err := st.Accounts(context.Background())
	checkEqual(t, "Accounts", want, must(t, list, err))
	exist, err := st.HasAccounts(context.Background())
	checkEqual(t, "HasAccounts", len(want) > 0, must(t, exist, err))
}

func identityGetsAccount(t *testing.T, st store.Store, c *clock) {
	c.set(epoch.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	a := mustAccountOf(t, st, testIssuer, "1", "Ann@Example.com")
	checkEqual(t, "AccountOf", store.Account{
		ID:          a.ID,
		Email:       "Ann@Example.com",
		Tier:        cola.TierFree,
		CreatedAt:   epoch,
		ActiveLimit: cola.MaxActiveSchedules,
	}, a)
	c.advance(time.Hour)
	mustDo(t, st.SetTier(t.Context(), a.ID, cola.TierPro))
	a.Tier = cola.TierPro
	for _, verified := range []string{"Ann@Example.com", "", "another@example.com"} {
		checkEqual(t, fmt.Sprintf("AccountOf with email %q", verified), a,
			mustAccountOf(t, st, testIssuer, "1", verified))
	}
	checkAccounts(t, st, a)
	b := mustAccountOf(t, st, "https://other.example.com", "1", "")
	checkEqual(t, "account of the same subject at another issuer",
		store.Account{
			ID:          b.ID,
			Email:       "https://other.example.com#1",
			Tier:        cola.TierFree,
			CreatedAt:   c.now().UTC().Truncate(time.Microsecond),
			ActiveLimit: cola.MaxActiveSchedules,
		}, b)
	checkEqual(t, "second AccountOf", b, mustAccountOf(t, st, "https://other.example.com", "1", ""))
	checkAccounts(t, st, a, b)
	found, err := st.AccountByEmail(t.Context(), b.Email)
	checkEqual(t, "AccountByEmail(identity name)", b, must(t, found, err))
}

func identityJoinsAccount(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "Ann.O'Hara@Example.com", cola.TierStarter)
	checkEqual(t, "AccountOf", a, mustAccountOf(t, st, testIssuer, "o'1%_", "ANN.o'hara@example.com"))
	checkEqual(t, "AccountOf without an email", a, mustAccountOf(t, st, testIssuer, "o'1%_", ""))
	checkAccounts(t, st, a)
}

// lookalikes returns addresses that Unicode case mapping or a lenient parser turns into
// mike@github.com.
func lookalikes() []string {
	return []string{
		"mi\u212ae@github.com", "m\u0130ke@g\u0130thub.com", "m\u0131ke@github.com", "\uff4dike@github.com",
		"mike@github\u3002com", "mike@github.com\u200b",
		"mike@github.com.", `"mike"@github.com`, "mike(x)@github.com",
		" mike@github.com", "mike@github.com\r\n", "Mike <mike@github.com>", "mike",
	}
}

func lookalikeEmails(t *testing.T, st store.Store, _ *clock) {
	mike := mustAccount(t, st, "mike@github.com", cola.TierPro)
	for _, email := range lookalikes() {
		if _, err := st.AccountByEmail(t.Context(), email); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AccountByEmail(%+q) error = %v, want ErrNotFound", email, err)
		}
		if _, err := st.CreateAccount(t.Context(), email, cola.TierFree); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("CreateAccount(%+q) error = %v, want ErrMalformed", email, err)
		}
		if _, err := st.AccountOf(t.Context(), identity("eve"), email); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("AccountOf with email %+q: error = %v, want ErrMalformed", email, err)
		}
	}
	checkAccounts(t, st, mike)
	checkIdentities(t, st, 0)
}

// RowsBeforeEmailFolding returns statements that write three accounts with Unicode-folded
// addresses, as earlier versions did. The first has a Kelvin sign in its address, and destinations.
// The second has an identity name instead of an address. created is an SQL expression for a time.
func RowsBeforeEmailFolding(created string) string {
	const kelvin, umlaut = "Mi\u212ae@GitHub.com", testIssuer + "#\u00c4"
	return fmt.Sprintf(`INSERT INTO accounts (id, email, email_folded, tier, created_at) VALUES
			(1, '%[2]s', 'mike@github.com', 'free', %[1]s), (2, '%[3]s', '%[3]s', 'free', %[1]s), (3, 'Ann@example.com', 'ann@example.com', 'free', %[1]s);
		INSERT INTO identities (issuer, subject, account_id) VALUES ('%[4]s', 'Ä', 2);
		INSERT INTO destinations (account_id, kind, address, address_folded, created_at) VALUES
			(1, 'email', '%[2]s', 'mike@github.com', %[1]s), (1, 'webhook', 'https://example.com/A', 'https://example.com/A', %[1]s)`,
		created, kelvin, umlaut, testIssuer)
}

// CheckFolding checks how a database folds addresses that a process with Unicode folding writes
// after the migration. run executes a statement as that process would.
func CheckFolding(t *testing.T, st store.Store, created string, run func(statement string) error) {
	t.Helper()
	const kelvin, again = "Mi\u212ae@GitHub.com", "mi\u212aE@github.com"
	addAccount := func(email, folded string) error {
		return run(fmt.Sprintf(`INSERT INTO accounts (email, email_folded, tier, created_at) VALUES ('%s', '%s', 'free', %s)`, email, folded, created))
	}
	mustDo(t, addAccount(kelvin, "mike@github.com"))
	mustDo(t, addAccount(testIssuer+"#\u00c4", testIssuer+"#\u00c4"))
	if addAccount(again, "mike@github.com") == nil {
		t.Error("account whose email differs only in ASCII case: error = nil, want non-nil")
	}
	ids := map[string]cola.AccountID{}
	for _, email := range []string{kelvin, again, testIssuer + "#\u00c4"} {
		found, err := st.AccountByEmail(t.Context(), email)
		ids[email] = must(t, found, err).ID
	}
	checkEqual(t, "account by email in a different case", ids[kelvin], ids[again])
	mike := mustAccountOf(t, st, testIssuer, "mike", "mike@github.com")
	if mike.ID == ids[kelvin] || mike.Email != "mike@github.com" {
		t.Errorf("AccountOf(mike@github.com) = %+v, want a new account", mike)
	}
	mustDo(t, run(fmt.Sprintf(`UPDATE accounts SET email_folded = 'MIKE@github.com' WHERE id = %d`, ids[kelvin])))
	found, err := st.AccountByEmail(t.Context(), kelvin)
	checkEqual(t, "account after the update", ids[kelvin], must(t, found, err).ID)
	addMailbox := func(address string) error {
		return run(fmt.Sprintf(`INSERT INTO destinations (account_id, kind, address, address_folded, created_at) VALUES (%d, 'email', '%s', 'mike@github.com', %s)`,
			mike.ID, address, created))
	}
	mustDo(t, addMailbox(kelvin))
	if addMailbox(again) == nil {
		t.Error("destination whose address differs only in ASCII case: error = nil, want non-nil")
	}
	mustDestination(t, st, newMailbox(mike.ID, "other@github.com"))
}

// CheckRowsBeforeEmailFolding checks that each account written by RowsBeforeEmailFolding is found
// by its own address, and that the ASCII address is available.
func CheckRowsBeforeEmailFolding(t *testing.T, st store.Store) {
	t.Helper()
	for email, want := range map[string]cola.AccountID{
		"mi\u212ae@github.com": 1,
		testIssuer + "#\u00c4": 2,
		"ANN@example.com":      3,
	} {
		found, err := st.AccountByEmail(t.Context(), email)
		if must(t, found, err); found.ID != want {
			t.Errorf("AccountByEmail(%+q) = account %d, want %d", email, found.ID, want)
		}
	}
	checkEqual(t, "account of the identity", cola.AccountID(2), mustAccountOf(t, st, testIssuer, "\u00c4", "").ID)
	mike := mustAccountOf(t, st, testIssuer, "mike", "mike@github.com")
	if mike.ID <= 3 || mike.Email != "mike@github.com" {
		t.Errorf("AccountOf(mike@github.com) = %+v, want a new account", mike)
	}
	mustDestination(t, st, newMailbox(1, "mike@github.com"))
	mustDestination(t, st, newHook(1, "https://example.com/a"))
}

func identitiesShareEmail(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, testIssuer, "1", "ann@example.com")
	checkEqual(t, "account of the second identity", a,
		mustAccountOf(t, st, "https://other.example.com", "2", "Ann@example.com"))
	checkEqual(t, "account of the third identity", a, mustAccountOf(t, st, testIssuer, "3", "ann@EXAMPLE.com"))
	if _, err := st.CreateAccount(t.Context(), "ANN@example.com", cola.TierFree); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateAccount(duplicate email) error = %v, want ErrExists", err)
	}
	checkAccounts(t, st, a)
}

func subjectCase(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccountOf(t, st, testIssuer, "Ab", ""), mustAccountOf(t, st, testIssuer, "aB", "")
	c := mustAccountOf(t, st, "https://ID.example.com", "Ab", "")
	checkAccounts(t, st, a, b, c)
	for subject, want := range map[string]store.Account{"Ab": a, "aB": b} {
		checkEqual(t, "account of subject "+subject, want, mustAccountOf(t, st, testIssuer, subject, ""))
		found, err := st.AccountByEmail(t.Context(), want.Email)
		checkEqual(t, "AccountByEmail: "+want.Email, want, must(t, found, err))
	}
}

func accountAdoptsEmail(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, testIssuer, "1", "")
	k := mustKey(t, st, a.ID, 1)
	mustDo(t, st.SetTier(t.Context(), a.ID, cola.TierPro))
	named := a.Email
	a.Email, a.Tier = "Ann@example.com", cola.TierPro
	checkEqual(t, "account after adopting an email", a, mustAccountOf(t, st, testIssuer, "1", "Ann@example.com"))
	checkEqual(t, "account after a later email", a, mustAccountOf(t, st, testIssuer, "1", "b@example.com"))
	checkEqual(t, "account of another identity with the email", a,
		mustAccountOf(t, st, testIssuer, "2", "ann@example.com"))
	checkAccounts(t, st, a)
	found, err := st.KeyByHash(t.Context(), keyHash(1))
	if must(t, found, err); found.AccountID != a.ID || found.ID != k.ID {
		t.Errorf("key = %+v, want key %d of account %d", found, k.ID, a.ID)
	}
	if _, err := st.AccountByEmail(t.Context(), named); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("AccountByEmail(previous name) error = %v, want ErrNotFound", err)
	}
	if _, err := st.CreateAccount(t.Context(), "ANN@example.com", cola.TierFree); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateAccount(adopted email) error = %v, want ErrExists", err)
	}
}

func takenEmailNotAdopted(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, testIssuer, "1", "")
	b := mustAccount(t, st, "b@example.com", cola.TierFree)
	for range 2 {
		checkEqual(t, "AccountOf", a, mustAccountOf(t, st, testIssuer, "1", "B@example.com"))
	}
	checkAccounts(t, st, a, b)
	a.Email = "a@example.com"
	checkEqual(t, "AccountOf with a free email", a, mustAccountOf(t, st, testIssuer, "1", "a@example.com"))
	checkAccounts(t, st, a, b)
}

func malformedIdentity(t *testing.T, st store.Store, _ *clock) {
	long := strings.Repeat("x", store.MaxKeyText)
	for name, c := range map[string]struct{ issuer, subject, verified string }{
		"no issuer":                             {"", "1", ""},
		"issuer is not a URL":                   {"id.example.com", "1", ""},
		"issuer with a fragment":                {testIssuer + "#1", "1", ""},
		"issuer with NUL":                       {testIssuer + "\x00", "1", ""},
		"issuer too long":                       {testIssuer + long, "1", ""},
		"no subject":                            {testIssuer, "", "a@example.com"},
		"subject with NUL":                      {testIssuer, "1\x00", ""},
		"subject is not UTF-8":                  {testIssuer, "\xff", ""},
		"subject too long":                      {testIssuer, long + "x", ""},
		"email with NUL":                        {testIssuer, "1", "a\x00@example.com"},
		"email is not UTF-8":                    {testIssuer, "1", "\xff@example.com"},
		"email too long":                        {testIssuer, "1", long + "@example.com"},
		"email is not ASCII":                    {testIssuer, "1", "mi\u212ae@example.com"},
		"email is the name of another identity": {testIssuer, "1", "https://other.example.com#2"},
	} {
		_, err := st.AccountOf(t.Context(), store.Identity{Issuer: c.issuer, Subject: c.subject}, c.verified)
		if !errors.Is(err, store.ErrMalformed) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: AccountOf error = %v, want ErrMalformed", name, err)
		}
	}
	checkAccounts(t, st)
}

// longestIdentity checks identities of maximum length, made of text that compresses poorly.
func longestIdentity(t *testing.T, st store.Store, _ *clock) {
	text := func(prefix string) string {
		b := []byte(prefix)
		for n := 0; len(b) < store.MaxKeyText; n++ {
			sum := sha256.Sum256(fmt.Append(nil, prefix, n))
			b = base64.RawURLEncoding.AppendEncode(b, sum[:])
		}
		return string(b[:store.MaxKeyText])
	}
	issuer, subject, other := text(testIssuer+"/"), text("1"), text("2")
	a := mustAccountOf(t, st, issuer, subject, "")
	address := strings.Repeat("A", 64) + "@" + strings.Repeat("b", 254-64-1)
	b := mustAccountOf(t, st, issuer, other, address)
	checkEqual(t, "account of the first identity", a, mustAccountOf(t, st, issuer, subject, ""))
	checkEqual(t, "account of the second identity", b, mustAccountOf(t, st, issuer, "3", strings.ToLower(address)))
	app, err := st.RegisterApp(t.Context(), store.App{Issuer: issuer, ClientID: subject})
	must(t, app, err)
	checkApps(t, st, app)
}

// CheckUpgraded checks a database created by a version without identities: it has one account, with
// a valid key and usage this month. An identity with the account's verified address joins it.
func CheckUpgraded(t *testing.T, st store.Store, want store.Account, key cola.Credential, used cola.Used) {
	t.Helper()
	want.ActiveLimit = cola.MaxActiveSchedules
	checkEqual(t, "account of the identity", want, mustAccountOf(t, st, testIssuer, "1", strings.ToUpper(want.Email)))
	other := mustAccountOf(t, st, testIssuer, "2", "")
	if other.ID <= want.ID {
		t.Errorf("new account ID = %d, want one after %d", other.ID, want.ID)
	}
	checkAccounts(t, st, want, other)
	link := linkCredential(mustConnect(t, st, want.ID, mustApp(t, st, "app").ID).ID)
	checkEqual(t, "valid credentials", map[cola.AccountID][]cola.Credential{want.ID: {key, link}},
		validCredentials(t, st, []cola.AccountID{want.ID}, key, link))
	settle(t, st, want.ID, charge(want.ID, 1, restBy(link, cola.MeterListRecords, 1)))
	used.ListRecords++
	checkEqual(t, "usage", used, mustUsage(t, st, want.ID).Used)
}

func newIdentityOnce(t *testing.T, st store.Store, _ *clock) {
	mustAccount(t, st, "a@example.com", cola.TierFree)
	for subject, verified := range map[string]string{"1": "a@example.com", "2": "b@example.com", "3": ""} {
		for _, want := range []bool{true, false, false} {
			a, err := st.AccountOf(t.Context(), store.Identity{Issuer: testIssuer, Subject: subject}, verified)
			mustDo(t, err)
			checkEqual(t, "NewIdentity of subject "+subject, want, a.NewIdentity)
			verified = "c@example.com" // an account without an address adopts it
		}
	}
}
