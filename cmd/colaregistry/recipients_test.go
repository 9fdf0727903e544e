package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/mailtest"
)

// TestDoubleOptIn checks double opt-in. A new recipient gets one confirmation message, and no
// others until they follow its link and press the button. Messages then arrive until the recipient
// unsubscribes.
func TestDoubleOptIn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		mailServer := mailtest.Start(t)
		s := startSender(t, h, mailServer)
		_, secret, _ := mustAccount(t, mustOpen(t, h), "holder@example.com", cola.TierPro)
		key := secret.Reveal()
		created := s.mustAnswer(t, 201, "POST", "/destinations", key, `{"kind":"email","address":"stranger@example.com"}`)
		place := strings.TrimPrefix(created.Header.Get("Location"), "/api/v1")
		if created.at("data", "state") != cola.DestinationUnconfirmed || created.at("data", "secret") != nil {
			t.Errorf("created destination: want it unconfirmed and without a secret: %s", created.body)
		}
		confirmation := awaitMail(t, mailServer, 1)
		s.mustAnswer(t, 409, "POST", place+"/test", key, "")
		s.mustAnswer(t, 409, "PATCH", place, key, `{"active":true}`)
		s.mustAnswer(t, 429, "POST", place+"/confirmation", key, "")

		confirm := linkIn(t, confirmation, "confirm")
		for _, method := range []string{"GET", "HEAD"} {
			if page := visit(t, method, confirm); method == "GET" &&
				!strings.Contains(string(page.body), "s…@example.com") {
				t.Errorf("confirmation page: want the masked address: %s", page.body)
			}
		}
		s.expectState(t, place, key, cola.DestinationUnconfirmed, nil)
		visit(t, "POST", confirm)
		s.expectState(t, place, key, cola.DestinationActive, nil)

		test := s.mustAnswer(t, 202, "POST", place+"/test", key, "")
		awaitMail(t, mailServer, 2)
		s.mustAnswer(t, 200, "GET", fmt.Sprintf("/deliveries/%.0f", test.at("data", "id")), key, "")
		visit(t, "POST", strings.Replace(confirm, "/confirm/", "/unsubscribe/", 1))
		s.expectState(t, place, key, cola.DestinationPaused, cola.ReasonUnsubscribed)
		s.mustAnswer(t, 204, "DELETE", place, key, "")
		if page := get(t, confirm); page.StatusCode != http.StatusNotFound ||
			!strings.Contains(string(page.body), "Link not found") {
			t.Errorf("after deleting the destination: status %d, want 404 with Link not found: %s", page.StatusCode, page.body)
		}
		if got := len(mailServer.Messages()); got != 2 {
			t.Errorf("%d messages were sent, want 2", got)
		}
		if token := confirm[strings.LastIndex(confirm, "/")+1:]; strings.Contains(s.err.String(), token) {
			t.Error("log contains the token")
		}
	})
}

// TestFeed checks that a feed needs no key, and that replacing its URL disables the old one.
func TestFeed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s := startServer(t, h)
		st := mustOpen(t, h)
		account, secret, _ := mustAccount(t, st, "feed@example.com", cola.TierPro)
		key := secret.Reveal()
		created := s.create(t, key,
			`{"name":"Bettongs","filters":{"brand_name":"bettong"},"schedule":{"cadence":"daily"}}`)
		place := "/saved-searches/" + created.at("data", "uuid").(string)
		address := func() string { return s.mustAnswer(t, 201, "POST", place+"/feed", key, "").at("data", "url").(string) }
		first := address()
		h.run(t, "import", "colas", mustWriteLabels(t, "BETTONG", 1, 2, cola.DateOf(time.Now())))
		makeDue(t, st, account.ID, created.at("data", "uuid").(string))
		var feed answer
		for range 90 { // allows for the scheduler's start delay and a busy machine
			feed = get(t, first)
			if strings.Contains(string(feed.body), "<entry>") {
				break
			}
			time.Sleep(time.Second) // within the feed rate limit
		}
		for _, want := range []string{"2 new labels: Bettongs", "BETTONG", "99365001000002"} {
			if feed.StatusCode != http.StatusOK || !strings.Contains(string(feed.body), want) {
				t.Errorf("feed without %s: %d %s", want, feed.StatusCode, feed.body)
			}
		}
		second := address()
		if old, fresh := get(t, first), get(t, second); old.StatusCode != http.StatusNotFound ||
			fresh.StatusCode != http.StatusOK {
			t.Errorf("status %d at the old URL, %d at the new one; want 404 and 200", old.StatusCode, fresh.StatusCode)
		}
		s.mustAnswer(t, 204, "DELETE", place+"/feed", key, "")
		if got := get(t, second); got.StatusCode != http.StatusNotFound {
			t.Errorf("deleted feed: status %d, want 404", got.StatusCode)
		}
	})
}

// expectState checks the state of a destination.
func (s *serverProcess) expectState(t *testing.T, place, key, state string, reason any) {
	t.Helper()
	if got := s.mustAnswer(t, 200, "GET", place, key, ""); got.at("data", "state") != state ||
		got.at("data", "reason") != reason {
		t.Errorf("%s, want state %s, reason %v", got.body, state, reason)
	}
}

// visit requests a page without cookies and checks that the status is 200.
func visit(t *testing.T, method, address string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := do(t, req)
	if got.StatusCode != http.StatusOK {
		t.Errorf("%s page: status %d, want 200: %s", method, got.StatusCode, got.body)
	}
	return got
}

// get requests a URL without a key.
func get(t *testing.T, address string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req)
}

// awaitMail waits for a number of messages and returns the latest.
func awaitMail(t *testing.T, mailServer *mailtest.Server, messages int) mailtest.Message {
	t.Helper()
	for range 600 {
		if got := mailServer.Messages(); len(got) >= messages {
			return got[messages-1]
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%d messages were sent, want %d", len(mailServer.Messages()), messages)
	return mailtest.Message{}
}

// linkIn returns the link of the given kind in a message.
func linkIn(t *testing.T, m mailtest.Message, kind string) string {
	t.Helper()
	link := regexp.MustCompile(`http://[0-9.:]+/` + kind + `/[0-9a-zA-Z_-]+`).FindString(m.Text)
	if link == "" {
		t.Fatalf("no link to %s in\n%s", kind, m.Text)
	}
	return link
}
