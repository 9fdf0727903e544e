package attack

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// lookalikes returns email addresses that Unicode folding, normalization or lenient parsing could
// turn into mike@github.com.
func lookalikes() map[string]string {
	return map[string]string{
		"Kelvin sign":           "mi\u212ae@github.com",
		"dotted capital I":      "m\u0130ke@g\u0130thub.com",
		"dotless i":             "m\u0131ke@github.com",
		"full width":            "\uff4d\uff49\uff4b\uff45@github.com",
		"ideographic full stop": "mike@github\u3002com",
		"zero width space":      "mike@\u200bgithub.com",
		"soft hyphen":           "mi\u00adke@github.com",
		"combining mark":        "mike\u0301@github.com",
		"trailing dot":          "mike@github.com.",
		"quoted local part":     `"mike"@github.com`,
		"comment":               "mike(x)@github.com",
		"display name":          "Mike <mike@github.com>",
		"trailing space":        "mike@github.com ",
		"line break":            "mike@github.com\n",
		"NUL":                   "mike\x00@github.com",
		"two addresses":         "mike@github.com, eve@example.com",
	}
}

// TestLookalikeAddresses checks that an address resembling the victim's gives no access to the
// victim's account, whether by access token or by dashboard sign-in.
func TestLookalikeAddresses(t *testing.T) {
	i := newIssuer(t)
	onBoth(t, program.Options{Flags: i.flags()}, func(t *testing.T, s *site) {
		victim := s.account("mike@github.com", cola.TierPro)
		for name, email := range lookalikes() {
			for _, by := range []string{"token", "dashboard"} {
				subject := by + " " + name
				switch by {
				case "token":
					got := s.bearer(i.accessToken(person(subject, email)), "/usage")
					if got.Status != http.StatusOK || !strings.Contains(string(got.Body), `"tier":"free"`) {
						t.Errorf("%s: token: status %d, want 200 on the free tier: %s", name, got.Status, got.Body)
					}
				case "dashboard":
					page := s.signInAt(newBrowser(t), i, person(subject, email))
					if page.Status != http.StatusOK || strings.Contains(string(page.Body), "mike@github.com") {
						t.Errorf("%s: dashboard: status %d, want 200 without the victim's address:\n%s", name, page.Status, page.Body)
					}
				}
				if id := s.accountOf(i, subject); id == 0 || id == victim.ID {
					t.Errorf("%s, by %s: account %d, want a new one, not the victim's (%d)", name, by, id, victim.ID)
				}
			}
		}
		for n, email := range []string{"mike@github.com", "MIKE@GitHub.COM"} {
			subject := fmt.Sprint("mike ", n)
			got := s.bearer(i.accessToken(person(subject, email)), "/usage")
			if got.Status != http.StatusOK || s.accountOf(i, subject) != victim.ID {
				t.Errorf("%s: status %d, want 200 in the victim's account: %s", email, got.Status, got.Body)
			}
		}
	})
}

// TestSquattedAddress checks that an attacker's account under a lookalike address stays separate
// from the account that the victim creates later.
func TestSquattedAddress(t *testing.T) {
	i := newIssuer(t)
	onBoth(t, program.Options{Flags: i.flags()}, func(t *testing.T, s *site) {
		s.bearer(i.accessToken(person("eve", "mi\u212ae@github.com")), "/usage")
		if got := s.bearer(i.accessToken(person("mike", "mike@github.com")), "/usage"); got.Status != http.StatusOK {
			t.Fatalf("status %d, want 200: %s", got.Status, got.Body)
		}
		if eve, mike := s.accountOf(i, "eve"), s.accountOf(i, "mike"); eve == 0 || mike == 0 || eve == mike {
			t.Errorf("attacker has account %d, victim %d; want separate accounts", eve, mike)
		}
		for _, email := range []string{"mi\u212ae@github.com", "m\u0130ke@github.com"} {
			if out, err := s.Try("account", "create", "--email", email, "--tier", "free"); err == nil {
				t.Errorf("account create accepted %+q: %s", email, out)
			}
		}
	})
}

// TestLinkPolicy checks that under the policies never and verified:DOMAIN, a verified address links
// to an existing account only if its domain is listed, for both access tokens and dashboard
// sign-ins.
func TestLinkPolicy(t *testing.T) {
	i := newIssuer(t)
	for policy, links := range map[string]bool{
		i.URL + "=never":                   false,
		"verified:example.com:example.org": false,
		"verified:GitHub.com":              true,
	} {
		flags := append(i.flags(), "--oidc-link-email", policy)
		t.Run(strings.TrimPrefix(policy, i.URL), func(t *testing.T) {
			onBoth(t, program.Options{Flags: flags}, func(t *testing.T, s *site) {
				victim := s.account("mike@github.com", cola.TierPro)
				s.bearer(i.accessToken(person("token", "mike@github.com")), "/usage")
				s.signInAt(newBrowser(t), i, person("dashboard", "mike@github.com"))
				for _, by := range []string{"token", "dashboard"} {
					if id := s.accountOf(i, by); id == 0 || (id == victim.ID) != links {
						t.Errorf("by %s: account %d, victim's account %d; want a link: %t", by, id, victim.ID, links)
					}
				}
			})
		})
	}
}

// TestLinkPolicyUnknownIssuer checks that the server refuses to start with a policy for an
// unconfigured issuer, which is probably a typo.
func TestLinkPolicyUnknownIssuer(t *testing.T) {
	i := newIssuer(t)
	s := program.Launch(t, program.Options{Flags: append(i.flags(), "--oidc-link-email", i.URL+"/=never")})
	if err := s.ExitError(); err == nil || !strings.Contains(err.Error(), "--oidc-link-email") {
		t.Errorf("exit error = %v, want one about --oidc-link-email", err)
	}
}
