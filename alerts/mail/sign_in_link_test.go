package mail

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const linkURL = "https://labels.example/sign-in/link/kVnq0b5c8y2rJm4t7w1x3z6a9d0f2h5j8l1n4p7s0uE"

func signInLink(to string, signUp bool) SignInLink {
	return SignInLink{
		To: to, URL: linkURL, SignUp: signUp, RequestedAt: sentAt.Add(-time.Minute), ExpiresAt: sentAt.Add(14 * time.Minute),
	}
}

// TestSignInLink checks the emails, which contain the sign-in link but no unsubscribe link.
func TestSignInLink(t *testing.T) {
	for name, signUp := range map[string]bool{"sign_in": false, "sign_up": true} {
		t.Run(name, func(t *testing.T) {
			p := startServer(t, plaintext, "")
			s, _ := mustSender(t, urlOf("smtp", "", p.address), nil)
			if res := s.SendSignInLink(t.Context(), signInLink("alex@example.org", signUp)); res.Fault != "" {
				t.Fatalf("SendSignInLink = %+v, want success", res)
			}
			got := mustRead(t, p.all()[0].text)
			golden(t, name+".txt", "Subject: "+got.subject+"\n\n"+got.text)
			golden(t, name+".html", got.html)
			h := headers(got)
			id := h["Message-Id"]
			if !strings.HasPrefix(id, "<link_") || !strings.HasSuffix(id, "@labels.example>") {
				t.Errorf("Message-Id = %s", id)
			}
			delete(h, "Message-Id")
			want := map[string]string{
				"From": `"Label alerts" <alerts@labels.example>`, "To": "<alex@example.org>", "Subject": got.subject,
				"Mime-Version": "1.0", "Date": "Mon, 16 Nov 2026 06:00:04 +0000", "Auto-Submitted": "auto-generated",
			}
			if diff := cmp.Diff(want, h); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSignInLinkLog checks that a rejection is logged without the address or the link.
func TestSignInLinkLog(t *testing.T) {
	p := startServer(t, plaintext, "")
	refusal := code(550, 5, 7, 1)
	refusal.Message = "spam for alex@example.org: " + linkURL
	p.fail["data"] = refusal
	s, log := mustSender(t, urlOf("smtp", "", p.address), nil)
	if res := s.SendSignInLink(t.Context(), signInLink("alex@example.org", false)); !res.Final {
		t.Errorf("SendSignInLink = %+v, want a final rejection", res)
	}
	if out := log.Bytes(); !bytes.Contains(out, []byte("email rejected")) || bytes.Contains(out, []byte("alex")) ||
		bytes.Contains(out, []byte("/link/")) {
		t.Errorf("log = %s, want a rejection without the address or the link", out)
	}
}

// TestSignInLinkAddresses checks that invalid addresses aren't passed to the relay.
func TestSignInLinkAddresses(t *testing.T) {
	s, _ := mustSender(t, "smtp://127.0.0.1:1", nil)
	for _, to := range []string{"", "ann", "ann@example.com\r\nBcc: eve@example.com", "Ann <ann@example.com>", "a@b.example,c@d.example"} {
		if res := s.SendSignInLink(t.Context(), signInLink(to, false)); !res.Final || res.Status != 0 {
			t.Errorf("SendSignInLink(%q) = %+v, want a final failure before connecting", to, res)
		}
	}
}
