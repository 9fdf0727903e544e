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
		{"an identity is new once", identityIsNewOnce},
		{"an identity gets an account and keeps it", identityKeepsAccount},
		{"an identity gets the account that has its address", identityFindsAccount},
		{"addresses that look alike have accounts of their own", lookalikesStayApart},
		{"identities with one address have one account", identitiesShareAddress},
		{"identities that differ in letter case only are two", identitiesDifferInCase},
		{"an account without an address takes one later", accountTakesAddress},
		{"an address that another account has is not taken", accountLeavesAddress},
		{"what cannot be kept is refused", malformedIdentity},
		{"what is just short enough is kept", longestIdentity},
		{"of one identity many times at once comes one account", oneIdentityAtOnce},
		{"of identities with one address at once comes one account", oneAddressAtOnce},
		{"an address that is taken twice at once goes to one account", oneAddressTakenAtOnce},
	})
}

const anIssuer = "https://id.example.com"

// mustAccountOf returns the account of an identity, with NewIdentity cleared.
func mustAccountOf(t tb, st store.Store, issuer, subject, verified string) store.Account {
	t.Helper()
	a, err := st.AccountOf(context.Background(), store.Identity{Issuer: issuer, Subject: subject}, verified)
	a.NewIdentity = false
	return must(t, a, err)
}

// mustHaveAccounts checks all accounts of a store, ordered by ID.
func mustHaveAccounts(t tb, st store.Store, want ...store.Account) {
	t.Helper()
	list, err := st.Accounts(context.Background())
	same(t, "accounts", want, must(t, list, err))
}

func identityKeepsAccount(t *testing.T, st store.Store, c *clock) {
	c.set(epoch.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	a := mustAccountOf(t, st, anIssuer, "1", "Ann@Example.com")
	same(t, "account", store.Account{ID: a.ID, Email: "Ann@Example.com", Tier: cola.TierFree, CreatedAt: epoch, ActiveLimit: cola.MaxActiveSchedules}, a)
	c.advance(time.Hour)
	mustDo(t, st.SetTier(t.Context(), a.ID, cola.TierPro))
	a.Tier = cola.TierPro
	for _, verified := range []string{"Ann@Example.com", "", "another@example.com"} {
		same(t, fmt.Sprintf("account with %q", verified), a, mustAccountOf(t, st, anIssuer, "1", verified))
	}
	mustHaveAccounts(t, st, a)
	b := mustAccountOf(t, st, "https://other.example.com", "1", "")
	same(t, "account of the subject of another issuer", store.Account{ID: b.ID, Email: "https://other.example.com#1", Tier: cola.TierFree,
		CreatedAt: c.now().UTC().Truncate(time.Microsecond), ActiveLimit: cola.MaxActiveSchedules}, b)
	same(t, "found again", b, mustAccountOf(t, st, "https://other.example.com", "1", ""))
	mustHaveAccounts(t, st, a, b)
	found, err := st.AccountByEmail(t.Context(), b.Email)
	same(t, "found by its name", b, must(t, found, err))
}

func identityFindsAccount(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "Ann.O'Hara@Example.com", cola.TierStarter)
	same(t, "account", a, mustAccountOf(t, st, anIssuer, "o'1%_", "ANN.o'hara@example.com"))
	same(t, "account from then on", a, mustAccountOf(t, st, anIssuer, "o'1%_", ""))
	mustHaveAccounts(t, st, a)
}

// lookalikes are addresses that Unicode case mapping or a lenient parser turns into
// mike@github.com.
func lookalikes() []string {
	return []string{
		"mi\u212ae@github.com", "m\u0130ke@g\u0130thub.com", "m\u0131ke@github.com", "\uff4dike@github.com", "mike@github\u3002com", "mike@github.com\u200b",
		"mike@github.com.", `"mike"@github.com`, "mike(x)@github.com", " mike@github.com", "mike@github.com\r\n", "Mike <mike@github.com>", "mike",
	}
}

func lookalikesStayApart(t *testing.T, st store.Store, _ *clock) {
	mike := mustAccount(t, st, "mike@github.com", cola.TierPro)
	for _, email := range lookalikes() {
		if _, err := st.AccountByEmail(t.Context(), email); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AccountByEmail(%+q): %v, want ErrNotFound", email, err)
		}
		if _, err := st.CreateAccount(t.Context(), email, cola.TierFree); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("CreateAccount(%+q): %v, want ErrMalformed", email, err)
		}
		if _, err := st.AccountOf(t.Context(), identity("eve"), email); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("AccountOf with %+q: %v, want ErrMalformed", email, err)
		}
	}
	mustHaveAccounts(t, st, mike)
	mustHold(t, st, 0)
}

// RowsBeforeEmailFolding returns statements that write accounts with Unicode-folded addresses, as
// that version did: one has a Kelvin sign in its address, one has a name in place of an address.
// The first also has destinations.
func RowsBeforeEmailFolding(created string) string {
	const kelvin, umlaut = "Mi\u212ae@GitHub.com", anIssuer + "#\u00c4"
	return fmt.Sprintf(`INSERT INTO accounts (id, email, email_folded, tier, created_at) VALUES
			(1, '%[2]s', 'mike@github.com', 'free', %[1]s), (2, '%[3]s', '%[3]s', 'free', %[1]s), (3, 'Ann@example.com', 'ann@example.com', 'free', %[1]s);
		INSERT INTO identities (issuer, subject, account_id) VALUES ('%[4]s', 'Ä', 2);
		INSERT INTO destinations (account_id, kind, address, address_folded, created_at) VALUES
			(1, 'email', '%[2]s', 'mike@github.com', %[1]s), (1, 'webhook', 'https://example.com/A', 'https://example.com/A', %[1]s)`,
		created, kelvin, umlaut, anIssuer)
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
	mustDo(t, addAccount(anIssuer+"#\u00c4", anIssuer+"#\u00c4"))
	if addAccount(again, "mike@github.com") == nil {
		t.Error("two accounts have an address that differs in ASCII case alone")
	}
	ids := map[string]cola.AccountID{}
	for _, email := range []string{kelvin, again, anIssuer + "#\u00c4"} {
		found, err := st.AccountByEmail(t.Context(), email)
		ids[email] = must(t, found, err).ID
	}
	same(t, "account of the address in another case", ids[kelvin], ids[again])
	mike := mustAccountOf(t, st, anIssuer, "mike", "mike@github.com")
	if mike.ID == ids[kelvin] || mike.Email != "mike@github.com" {
		t.Errorf("the ASCII address belongs to %+v, want a new account", mike)
	}
	mustDo(t, run(fmt.Sprintf(`UPDATE accounts SET email_folded = 'MIKE@github.com' WHERE id = %d`, ids[kelvin])))
	found, err := st.AccountByEmail(t.Context(), kelvin)
	same(t, "account after an update", ids[kelvin], must(t, found, err).ID)
	addMailbox := func(address string) error {
		return run(fmt.Sprintf(`INSERT INTO destinations (account_id, kind, address, address_folded, created_at) VALUES (%d, 'email', '%s', 'mike@github.com', %s)`,
			mike.ID, address, created))
	}
	mustDo(t, addMailbox(kelvin))
	if addMailbox(again) == nil {
		t.Error("an account has two destinations that differ in ASCII case alone")
	}
	mustDestination(t, st, newMailbox(mike.ID, "other@github.com"))
}

// CheckRowsBeforeEmailFolding checks that each of these accounts is found by its own address and
// that the ASCII address is free.
func CheckRowsBeforeEmailFolding(t *testing.T, st store.Store) {
	t.Helper()
	for email, want := range map[string]cola.AccountID{"mi\u212ae@github.com": 1, anIssuer + "#\u00c4": 2, "ANN@example.com": 3} {
		found, err := st.AccountByEmail(t.Context(), email)
		if must(t, found, err); found.ID != want {
			t.Errorf("%+q is account %d, want %d", email, found.ID, want)
		}
	}
	same(t, "identity", cola.AccountID(2), mustAccountOf(t, st, anIssuer, "\u00c4", "").ID)
	mike := mustAccountOf(t, st, anIssuer, "mike", "mike@github.com")
	if mike.ID <= 3 || mike.Email != "mike@github.com" {
		t.Errorf("the ASCII address belongs to %+v, want a new account", mike)
	}
	mustDestination(t, st, newMailbox(1, "mike@github.com"))
	mustDestination(t, st, newHook(1, "https://example.com/a"))
}

func identitiesShareAddress(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, anIssuer, "1", "ann@example.com")
	same(t, "account of the second identity", a, mustAccountOf(t, st, "https://other.example.com", "2", "Ann@example.com"))
	same(t, "account of the third", a, mustAccountOf(t, st, anIssuer, "3", "ann@EXAMPLE.com"))
	if _, err := st.CreateAccount(t.Context(), "ANN@example.com", cola.TierFree); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateAccount with the address: %v, want ErrExists", err)
	}
	mustHaveAccounts(t, st, a)
}

func identitiesDifferInCase(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccountOf(t, st, anIssuer, "Ab", ""), mustAccountOf(t, st, anIssuer, "aB", "")
	c := mustAccountOf(t, st, "https://ID.example.com", "Ab", "")
	mustHaveAccounts(t, st, a, b, c)
	for subject, want := range map[string]store.Account{"Ab": a, "aB": b} {
		same(t, subject, want, mustAccountOf(t, st, anIssuer, subject, ""))
		found, err := st.AccountByEmail(t.Context(), want.Email)
		same(t, "by name "+want.Email, want, must(t, found, err))
	}
}

func accountTakesAddress(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, anIssuer, "1", "")
	k := mustKey(t, st, a.ID, 1)
	mustDo(t, st.SetTier(t.Context(), a.ID, cola.TierPro))
	named := a.Email
	a.Email, a.Tier = "Ann@example.com", cola.TierPro
	same(t, "account with its address", a, mustAccountOf(t, st, anIssuer, "1", "Ann@example.com"))
	same(t, "account with another one, later", a, mustAccountOf(t, st, anIssuer, "1", "b@example.com"))
	same(t, "account of another identity with the address", a, mustAccountOf(t, st, anIssuer, "2", "ann@example.com"))
	mustHaveAccounts(t, st, a)
	found, err := st.KeyByHash(t.Context(), keyHash(1))
	if must(t, found, err); found.AccountID != a.ID || found.ID != k.ID {
		t.Errorf("the account's key is %+v", found)
	}
	if _, err := st.AccountByEmail(t.Context(), named); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the account under its name: %v, want ErrNotFound", err)
	}
	if _, err := st.CreateAccount(t.Context(), "ANN@example.com", cola.TierFree); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateAccount with the address: %v, want ErrExists", err)
	}
}

func accountLeavesAddress(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, anIssuer, "1", "")
	b := mustAccount(t, st, "b@example.com", cola.TierFree)
	for range 2 {
		same(t, "account", a, mustAccountOf(t, st, anIssuer, "1", "B@example.com"))
	}
	mustHaveAccounts(t, st, a, b)
	a.Email = "a@example.com"
	same(t, "account with an address of its own", a, mustAccountOf(t, st, anIssuer, "1", "a@example.com"))
	mustHaveAccounts(t, st, a, b)
}

func malformedIdentity(t *testing.T, st store.Store, _ *clock) {
	long := strings.Repeat("x", store.MaxKeyText)
	for name, c := range map[string]struct{ issuer, subject, verified string }{
		"no issuer":                      {"", "1", ""},
		"an issuer that is no URL":       {"id.example.com", "1", ""},
		"an issuer with a fragment":      {anIssuer + "#1", "1", ""},
		"an issuer with a NUL":           {anIssuer + "\x00", "1", ""},
		"an issuer that is too long":     {anIssuer + long, "1", ""},
		"no subject":                     {anIssuer, "", "a@example.com"},
		"a subject with a NUL":           {anIssuer, "1\x00", ""},
		"a subject in another encoding":  {anIssuer, "\xff", ""},
		"a subject that is too long":     {anIssuer, long + "x", ""},
		"an address with a NUL":          {anIssuer, "1", "a\x00@example.com"},
		"an address in another encoding": {anIssuer, "1", "\xff@example.com"},
		"an address that is too long":    {anIssuer, "1", long + "@example.com"},
		"an address that is not ASCII":   {anIssuer, "1", "mi\u212ae@example.com"},
		"the name of another identity":   {anIssuer, "1", "https://other.example.com#2"},
	} {
		_, err := st.AccountOf(t.Context(), store.Identity{Issuer: c.issuer, Subject: c.subject}, c.verified)
		if !errors.Is(err, store.ErrMalformed) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
	}
	mustHaveAccounts(t, st)
}

// longestIdentity checks identities of maximum length, in letters that compress badly.
func longestIdentity(t *testing.T, st store.Store, _ *clock) {
	text := func(begin string) string {
		b := []byte(begin)
		for n := 0; len(b) < store.MaxKeyText; n++ {
			sum := sha256.Sum256(fmt.Append(nil, begin, n))
			b = base64.RawURLEncoding.AppendEncode(b, sum[:])
		}
		return string(b[:store.MaxKeyText])
	}
	issuer, subject, other := text(anIssuer+"/"), text("1"), text("2")
	a := mustAccountOf(t, st, issuer, subject, "")
	address := strings.Repeat("A", 64) + "@" + strings.Repeat("b", 254-64-1)
	b := mustAccountOf(t, st, issuer, other, address)
	same(t, "account of the first", a, mustAccountOf(t, st, issuer, subject, ""))
	same(t, "account of the second", b, mustAccountOf(t, st, issuer, "3", strings.ToLower(address)))
	app, err := st.RegisterApp(t.Context(), store.App{Issuer: issuer, ClientID: subject})
	must(t, app, err)
	mustHaveApps(t, st, app)
}

// CheckUpgraded checks a database created by a version without identities: it has one account, with
// a valid key and usage in this month. An identity with the account's verified address gets the
// account.
func CheckUpgraded(t *testing.T, st store.Store, want store.Account, key cola.Credential, used cola.Used) {
	t.Helper()
	want.ActiveLimit = cola.MaxActiveSchedules
	same(t, "account of an identity", want, mustAccountOf(t, st, anIssuer, "1", strings.ToUpper(want.Email)))
	other := mustAccountOf(t, st, anIssuer, "2", "")
	if other.ID <= want.ID {
		t.Errorf("a new account has the id %d, not one after %d", other.ID, want.ID)
	}
	mustHaveAccounts(t, st, want, other)
	link := linkCredential(mustConnect(t, st, want.ID, mustApp(t, st, "app").ID).ID)
	same(t, "credentials that hold", map[cola.AccountID][]cola.Credential{want.ID: {key, link}}, held(t, st, []cola.AccountID{want.ID}, key, link))
	settle(t, st, want.ID, charge(want.ID, 1, restBy(link, cola.MeterListRecords, 1)))
	used.ListRecords++
	same(t, "used", used, mustUsage(t, st, want.ID).Used)
}

func identityIsNewOnce(t *testing.T, st store.Store, _ *clock) {
	mustAccount(t, st, "a@example.com", cola.TierFree)
	for subject, verified := range map[string]string{"1": "a@example.com", "2": "b@example.com", "3": ""} {
		for _, want := range []bool{true, false, false} {
			a, err := st.AccountOf(t.Context(), store.Identity{Issuer: anIssuer, Subject: subject}, verified)
			mustDo(t, err)
			same(t, "identity "+subject+" is new", want, a.NewIdentity)
			verified = "c@example.com" // an account without an address adopts it
		}
	}
}
