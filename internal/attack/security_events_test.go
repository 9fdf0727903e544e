package attack

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// post submits a page's form, including its hidden fields.
func (s *site) post(browser *http.Client, page string, fields url.Values) response {
	s.t.Helper()
	form := s.send(browser, http.MethodGet, page, nil, nil)
	hidden := regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)
	for _, field := range hidden.FindAllStringSubmatch(string(form.Body), -1) {
		fields.Set(field[1], field[2])
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {s.URL}}
	return s.send(browser, http.MethodPost, page, header, fields.Encode())
}

// TestSecurityEvents checks that an intruder leaves traces: sign-ins and the creation and revocation
// of keys are logged with the client's address, without secrets or email addresses.
func TestSecurityEvents(t *testing.T) {
	onBoth(t, program.Options{Flags: []string{"--trusted-proxy", "127.0.0.1"}}, func(t *testing.T, s *site) {
		s.account("holder@example.com", cola.TierPro)
		browser := s.signIn("holder@example.com")
		browser.Transport = forwarded("198.51.100.9")
		created := s.post(browser, "/keys/new", url.Values{"name": {"intruder"}})
		secret := regexp.MustCompile(`lar_[0-9A-Za-z]{36}`).FindString(string(created.Body))
		if created.Status != http.StatusOK || secret == "" {
			t.Fatalf("creating a key: status %d, want 200 with the key: %s", created.Status, created.Body)
		}
		list := s.send(browser, http.MethodGet, "/keys", nil, nil)
		revoke := regexp.MustCompile(`/keys/\d+/revoke`).FindString(string(list.Body))
		if a := s.post(browser, revoke, url.Values{}); a.Status != http.StatusOK {
			t.Fatalf("%s: status %d, want 200", revoke, a.Status)
		}
		s.Stop()
		log := s.Log()
		for _, want := range []string{
			`event=security kind=new_sign_in account=\d+ credential_kind=sign_in credential=\d+ client=127\.0\.0\.1`,
			`event=security kind=new_key account=\d+ credential_kind=key credential=\d+ client=198\.51\.100\.9`,
			`event=security kind=revoked_key account=\d+ credential_kind=key credential=\d+ client=198\.51\.100\.9`,
			`msg=request .*route=/keys/new .*client=198\.51\.100\.9`,
		} {
			if !regexp.MustCompile(want).MatchString(log) {
				t.Errorf("no log line %s:\n%s", want, log)
			}
		}
		for _, private := range []string{secret, secret[4:16], "holder@example.com", "intruder"} {
			if strings.Contains(log, private) {
				t.Errorf("log contains %s", private)
			}
		}
	})
}

// forwarded is an http.RoundTripper that sends requests as a proxy does for a client at this address.
type forwarded string

// RoundTrip implements http.RoundTripper.
func (client forwarded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", string(client))
	return http.DefaultTransport.RoundTrip(r)
}
