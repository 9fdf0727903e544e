package auth

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestAccountsApartAreToldOf: the log names the account that has no address although one comes with its tokens, once a minute.
func TestAccountsApartAreToldOf(t *testing.T) {
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

// TestWarningsAreBounded: the longest ago is forgotten.
func TestWarningsAreBounded(t *testing.T) {
	w, now := newWarnings(), time.Unix(0, 0)
	for id := range cola.AccountID(warnedAccounts + 1) {
		if !w.due(id, now) || w.due(id, now) {
			t.Fatalf("account %d: want it due once", id)
		}
	}
	if !w.due(0, now) || w.due(warnedAccounts, now) {
		t.Error("want the first account forgotten, and the last one not")
	}
}
