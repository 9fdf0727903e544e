package auth

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestSignInMetrics checks that each attempt is counted once, by outcome.
func TestSignInMetrics(t *testing.T) {
	metrics := prometheus.NewPedanticRegistry()
	d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.Metrics = metrics })
	b := d.browser()
	link := d.store.link(store.Account{ID: 7, Email: "ann@example.com"})
	for range 3 {
		_ = b.use(link)
	}
	b.signIn(t, "ann")
	if _, err := b.finish(url.Values{"state": {"unknown"}, "code": {"unknown"}}); err == nil {
		t.Error("Finish accepted an unknown state and code")
	}
	want := map[string]float64{
		"issuer accepted": 1, "issuer failed": 0, "issuer refused": 1, "issuer unavailable": 0,
		"link accepted": 1, "link failed": 0, "link refused": 2, "link unavailable": 0,
	}
	if diff := cmp.Diff(want, countersOf(t, metrics, "colaregistry_sign_ins_total")); diff != "" {
		t.Errorf("sign-ins (-want +got):\n%s", diff)
	}
}

// countersOf returns the values of a counter by its label values.
func countersOf(t *testing.T, metrics prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			values[strings.Join(labels, " ")] = m.GetCounter().GetValue()
		}
	}
	return values
}

// TestDuplicateAccounts checks that the log reports, at most once a minute, an account that has no
// address even though its tokens contain a verified one.
func TestDuplicateAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := newTokenFixture(t, func(o *TokenOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		b.store.change(func(s *fakeStore) {
			for id, subject := range map[cola.AccountID]string{41: "ann", 42: "bob"} {
				who := store.Identity{Issuer: ourIssuer, Subject: subject}
				s.accounts[who], s.emails[id] = id, who.Name()
			}
			s.accounts[store.Identity{Issuer: ourIssuer, Subject: "cid"}], s.emails[43] = 43, "cid@example.com"
		})
		tokens := 0
		expect := func(subject string, verified bool, want int) {
			t.Helper()
			log.Reset()
			tokens++
			if _, err := b.send(t.Context(), b.token(claim("sub", subject), claim("jti", fmt.Sprint(tokens)),
				claim("email", "known@example.com"), claim("email_verified", verified))); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(log.String(), "account add-identity"); got != want {
				t.Errorf("token for %s: %d log lines, want %d: %s", subject, got, want, log.String())
			}
		}
		expect("ann", false, 0)
		expect("ann", true, 1)
		if line := log.String(); !strings.Contains(line, "level=WARN") || !strings.Contains(line, "account=41") ||
			!strings.Contains(line, "issuer="+ourIssuer) || strings.Contains(line, "known@") || strings.Contains(line, "ann") {
			t.Errorf("log line = %s, want a warning with account and issuer, without personal data", line)
		}
		expect("ann", true, 0)
		expect("bob", true, 1)
		expect("cid", true, 0)
		expect("new", true, 0)
		time.Sleep(59 * time.Second)
		expect("ann", true, 0)
		time.Sleep(time.Second)
		expect("ann", true, 1)
	})
}

// TestRateLimitedLog checks that a repeated warning is omitted, and that the least recently used
// kind is evicted.
func TestRateLimitedLog(t *testing.T) {
	lines := &lockedBuffer{}
	l := newRateLimitedLog(slog.New(slog.NewTextHandler(lines, nil)), (&fakeClock{}).now)
	logged := func(kind int) bool {
		before := len(lines.text())
		l.warn(fmt.Sprint(kind), "message")
		return len(lines.text()) > before
	}
	for kind := range loggedKinds + 1 {
		if !logged(kind) || logged(kind) {
			t.Fatalf("kind %d: want one line", kind)
		}
	}
	if !logged(0) || logged(loggedKinds) {
		t.Error("want the first kind evicted and the last one retained")
	}
}
