package auth

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestSignInsAreCounted checks that each attempt is counted once, by outcome.
func TestSignInsAreCounted(t *testing.T) {
	metrics := prometheus.NewPedanticRegistry()
	d := newDesk(t, func(_ *desk, o *BrowserOptions) { o.Metrics = metrics })
	b := d.browser()
	link := d.store.link(store.Account{ID: 7, Email: "ann@example.com"})
	for range 3 {
		_ = b.do(func(ctx context.Context) error { return d.UseLink(ctx, link, "a browser") })
	}
	b.signIn(t, "ann")
	if _, err := b.finish(url.Values{"state": {"made up"}, "code": {"made up"}}); err == nil {
		t.Error("a made-up answer signs in")
	}
	want := `
# HELP colaregistry_sign_ins_total Attempts to sign in to the dashboard, by how they ended.
# TYPE colaregistry_sign_ins_total counter
colaregistry_sign_ins_total{by="issuer",result="accepted"} 1
colaregistry_sign_ins_total{by="issuer",result="failed"} 0
colaregistry_sign_ins_total{by="issuer",result="refused"} 1
colaregistry_sign_ins_total{by="issuer",result="unavailable"} 0
colaregistry_sign_ins_total{by="link",result="accepted"} 1
colaregistry_sign_ins_total{by="link",result="failed"} 0
colaregistry_sign_ins_total{by="link",result="refused"} 2
colaregistry_sign_ins_total{by="link",result="unavailable"} 0
`
	if err := testutil.GatherAndCompare(metrics, strings.NewReader(want), "colaregistry_sign_ins_total"); err != nil {
		t.Error(err)
	}
}

// TestDuplicateAccounts checks that the log reports, once a minute, an account without an address
// whose tokens contain one.
func TestDuplicateAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := newBench(t, func(o *TokenOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		b.store.change(func(s *fakeStore) {
			for id, subject := range map[cola.AccountID]string{41: "ann", 42: "bob"} {
				who := store.Identity{Issuer: ourIssuer, Subject: subject}
				s.accounts[who], s.emails[id] = id, who.Name()
			}
			s.accounts[store.Identity{Issuer: ourIssuer, Subject: "cid"}], s.emails[43] = 43, "cid@example.com"
		})
		tokens := 0
		expect := func(subject string, verified bool, told int) {
			t.Helper()
			log.Reset()
			tokens++
			if _, err := b.send(t.Context(), b.token(claim("sub", subject), claim("jti", fmt.Sprint(tokens)),
				claim("email", "known@example.com"), claim("email_verified", verified))); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(log.String(), "account add-identity"); got != told {
				t.Errorf("token of %s: told %d times, want %d: %s", subject, got, told, log.String())
			}
		}
		expect("ann", false, 0)
		expect("ann", true, 1)
		if line := log.String(); !strings.Contains(line, "level=WARN") || !strings.Contains(line, "account=41") ||
			!strings.Contains(line, "issuer="+ourIssuer) || strings.Contains(line, "known@") || strings.Contains(line, "ann") {
			t.Errorf("told %s", line)
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

// TestOccasionalLogIsBounded checks that each kind is logged once a minute, and that the least
// recently logged kind is evicted.
func TestOccasionalLogIsBounded(t *testing.T) {
	lines := &lockedBuffer{}
	l := newRateLimitedLog(slog.New(slog.NewTextHandler(lines, nil)), (&madeClock{}).now)
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
		t.Error("want the first kind forgotten, and the last one not")
	}
}
