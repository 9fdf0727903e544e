package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// twoAccounts is a server on which one person has two accounts.
type twoAccounts struct {
	testRegistry
	*serverProcess
	issuer issuer
	st     database
	paid   store.Account
	key    string // the paid account's API key
	free   store.Account
	tokens int
}

// mustTwoAccounts starts a server where a paying customer signed in with an app whose tokens carry
// no email, which created a second account.
func mustTwoAccounts(t *testing.T, h testRegistry) *twoAccounts {
	t.Helper()
	p := &twoAccounts{testRegistry: h, issuer: startIssuer(t)}
	p.serverProcess = startServer(t, h, "--oidc-issuer", p.issuer.URL)
	registerApp(t, h, p.issuer, "saved_searches:write")
	p.st = mustOpen(t, h)
	paid, secret, _ := mustAccount(t, p.st, "ada@example.com", cola.TierPro)
	p.paid, p.key = paid, secret.Reveal()
	p.mustUse(t, "/colas?per_page=2", p.key)
	p.mustUse(t, "/colas?per_page=3", p.token(t, nil))
	var err error
	if p.free, err = p.st.AccountByEmail(t.Context(), p.issuer.URL+"#somebody"); err != nil {
		t.Fatal(err)
	}
	return p
}

// token returns a new token for the person.
func (p *twoAccounts) token(t *testing.T, changes map[string]any) string {
	t.Helper()
	p.tokens++
	c := map[string]any{"jti": fmt.Sprint(p.tokens), "scope": "saved_searches:write"}
	for name, value := range changes {
		c[name] = value
	}
	return p.issuer.token(t, p.serverProcess, c)
}

func (p *twoAccounts) mustUse(t *testing.T, path, credential string) answer {
	t.Helper()
	got := p.rest(t, "GET", path, credential, "")
	if got.StatusCode != 200 {
		t.Fatalf("%s: status %d, want 200: %s", path, got.StatusCode, got.body)
	}
	return got
}

// checkUsage checks the tier of a credential's account, and how many list records the account has
// used.
func (p *twoAccounts) checkUsage(t *testing.T, when, credential string, tier cola.Tier, used float64) {
	t.Helper()
	got := p.mustUse(t, "/usage", credential)
	if got.at("data", "tier") != string(tier) || got.at("data", "list_records", "used") != used {
		t.Errorf("%s: %s, want tier %s and %v used", when, got.body, tier, used)
	}
}

// repair moves the person's identity to the paid account.
func (p *twoAccounts) repair(t *testing.T) {
	t.Helper()
	p.run(t, "account", "add-identity", "--account", "ada@example.com",
		"--issuer", p.issuer.URL, "--subject", "somebody")
}

// TestAddIdentity checks that tokens use the paid account once the operator has moved the identity.
func TestAddIdentity(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		p := mustTwoAccounts(t, h)
		p.checkUsage(t, "at first", p.token(t, nil), cola.TierFree, 3)
		p.checkUsage(t, "with the paid account's email",
			p.token(t, map[string]any{"email": "Ada@example.com", "email_verified": true}), cola.TierFree, 3)
		eventually(t, func() bool {
			return strings.Contains(p.err.String(), fmt.Sprintf("account=%d issuer=%s", p.free.ID, p.issuer.URL))
		})
		if log := p.err.String(); strings.Contains(strings.ToLower(log), "ada@example.com") {
			t.Errorf("log contains personal data: %s", log)
		}
		p.checkIdentities(t, p.free.Email)
		p.repair(t)
		p.checkUsage(t, "repaired", p.token(t, nil), cola.TierPro, 2)
		p.mustUse(t, "/colas?per_page=5", p.token(t, nil))
		p.checkUsage(t, "by key", p.key, cola.TierPro, 7)
		p.checkIdentities(t, "ada@example.com", "--account", "ada@example.com")
	})
}

// checkIdentities checks that account identities lists the person's identity under an account.
func (p *twoAccounts) checkIdentities(t *testing.T, account string, args ...string) {
	t.Helper()
	got := listed[identityRow](t, p.testRegistry, append([]string{"account", "identities"}, args...)...)
	if diff := cmp.Diff([]identityRow{{account, p.issuer.URL, "somebody"}}, got); diff != "" {
		t.Errorf("identities (-want +got):\n%s", diff)
	}
}

// TestAddIdentityPreviousAccount checks that the previous account keeps its usage, saved
// searches and link.
func TestAddIdentityPreviousAccount(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		p := mustTwoAccounts(t, h)
		if created := p.rest(t, "POST", "/saved-searches", p.token(t, nil), createBody); created.StatusCode != 201 {
			t.Fatalf("status %d, want 201: %s", created.StatusCode, created.body)
		}
		p.repair(t)
		p.mustUse(t, "/usage", p.token(t, nil))
		usage, err := p.st.AccountUsage(t.Context(), p.free.ID)
		if err != nil || usage.Used.ListRecords != 3 {
			t.Errorf("usage of the previous account: %+v, %v", usage.Used, err)
		}
		for account, want := range map[cola.AccountID]int{p.free.ID: 1, p.paid.ID: 0} {
			if searches, _, err := p.st.SavedSearches(t.Context(), account, 0, 10); err != nil || len(searches) != want {
				t.Errorf("account %d: saved searches %+v, %v; want %d", account, searches, err, want)
			}
		}
		var accounts []string
		for _, l := range listed[linkRow](t, p.testRegistry, "app", "links") {
			if l.App == "Assistant" && l.Scopes.String() == "saved_searches:write" {
				accounts = append(accounts, l.Account)
			}
		}
		slices.Sort(accounts)
		if want := []string{"ada@example.com", p.free.Email}; !slices.Equal(accounts, want) {
			t.Errorf("links belong to accounts %q, want %q", accounts, want)
		}
	})
}

// TestLinkScopes checks that a link lists only the scopes in its token that the app is allowed to
// have.
func TestLinkScopes(t *testing.T) {
	t.Parallel()
	p := mustTwoAccounts(t, seeded(t))
	for _, tt := range []struct {
		allowed []string
		want    string
	}{{[]string{"saved_searches:write"}, "saved_searches:write"}, {nil, "read-only"}} {
		registerApp(t, p.testRegistry, p.issuer, tt.allowed...)
		if list := listed[linkRow](t, p.testRegistry, "app", "links"); len(list) != 1 || list[0].Scopes.String() != tt.want {
			t.Errorf("link to an app with scopes %v: %+v, want %s", tt.allowed, list, tt.want)
		}
	}
}
