package mail

import (
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func accountEmail(event store.AccountEvent, about string) store.AccountEmail {
	return store.AccountEmail{ID: 7, Account: 3, To: "alex@example.org", Event: event, About: about, CreatedAt: sentAt}
}

// TestAccountEmails checks the email for each event. None has an unsubscribe link; only quota
// emails can be turned off.
func TestAccountEmails(t *testing.T) {
	var all strings.Builder
	for _, e := range []store.AccountEmail{
		accountEmail(store.EventIdentityAdded, "https://accounts.example.com"),
		accountEmail(store.EventIdentityRemoved, "https://accounts.example.com"),
		accountEmail(store.EventAppConnected, "Claude"),
		accountEmail(store.EventQuota, "detail_views 80"), // queued by an earlier version
		accountEmail(store.EventQuota, store.QuotaUse{Meter: cola.MeterListRecords, Percent: 100, Tier: cola.TierFree}.String()),
		accountEmail(store.EventQuota, store.QuotaUse{Meter: cola.MeterListRecords, Percent: 100, Tier: cola.TierPro}.String()),
		accountEmail(store.EventDeletionRequested, "2026-11-23T06:00:04Z"),
		accountEmail(store.EventDeletionReminder, "2026-11-23T06:00:04Z"),
		accountEmail(store.EventDeletionCanceled, ""),
		accountEmail(store.EventDeleted, ""),
	} {
		p := startServer(t, plaintext, "")
		s, _ := mustSender(t, urlOf("smtp", "", p.address), nil)
		if res := s.SendAccountEmail(t.Context(), e); res.Fault != "" {
			t.Fatalf("%s: %+v, want success", e.Event, res)
		}
		got := mustRead(t, p.all()[0].text)
		h := headers(got)
		if h["Message-Id"] != "<account_7@labels.example>" || h["To"] != "<alex@example.org>" || h["List-Unsubscribe"] != "" {
			t.Errorf("%s: headers %v", e.Event, h)
		}
		if !strings.Contains(got.html, "</html>") || strings.Contains(got.text, "account#") {
			t.Errorf("%s: %s", e.Event, got.html)
		}
		all.WriteString("Subject: " + got.subject + "\n\n" + got.text + "\n----\n")
	}
	golden(t, "account.txt", all.String())
}

// TestHostileAppNames checks that an app's name can't add headers or markup.
func TestHostileAppNames(t *testing.T) {
	p := startServer(t, plaintext, "")
	s, _ := mustSender(t, urlOf("smtp", "", p.address), nil)
	name := "<b>x</b>\r\nBcc: eve@example.com\u202e" + strings.Repeat("y", 500)
	if res := s.SendAccountEmail(t.Context(), accountEmail(store.EventAppConnected, name)); res.Fault != "" {
		t.Fatal(res)
	}
	got := mustRead(t, p.all()[0].text)
	if strings.Contains(got.html, "<b>x") || strings.Contains(got.text, "\u202e") || strings.Contains(got.text, strings.Repeat("y", 200)) || headers(got)["Bcc"] != "" {
		t.Errorf("email:\n%s\n%s", got.text, got.html)
	}
}

// TestUnsendableAccountEmails checks that email with an invalid address or content isn't retried.
func TestUnsendableAccountEmails(t *testing.T) {
	s, _ := mustSender(t, "smtp://127.0.0.1:1", nil)
	for _, e := range []store.AccountEmail{
		{To: "a@b.example,c@d.example", Event: store.EventDeleted},
		{To: "deleted://account#7", Event: store.EventDeleted},
		accountEmail("unknown", ""), accountEmail(store.EventQuota, "x"), accountEmail(store.EventDeletionRequested, "soon"),
	} {
		if res := s.SendAccountEmail(t.Context(), e); !res.Final || res.Status != 0 {
			t.Errorf("SendAccountEmail(%+v) = %+v, want a final failure before connecting", e, res)
		}
	}
}
