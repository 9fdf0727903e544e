package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/mailtest"
	"github.com/colaregistry/colaregistry/store"
)

// startSender starts a server that sends email through the given mail server and allows webhooks to
// this machine.
func startSender(t *testing.T, h testRegistry, mailServer *mailtest.Server, args ...string) *serverProcess {
	t.Helper()
	return startServer(t, h, append(args, "--webhook-allow-private", "--smtp", mailServer.URL(),
		"--mail-from", "Label alerts <alerts@registry.example>")...)
}

// watch creates saved searches for a brand, each with its own confirmed destination at the
// receiver, and returns their UUIDs. For tick, see confirm.
func (s *serverProcess) watch(
	t *testing.T, key, brand string, searches int, receiver *webhookReceiver, tick func(),
) []string {
	t.Helper()
	uuids := make([]string, searches)
	for i := range uuids {
		created := s.create(t, key, fmt.Sprintf(`{"name":"%s %d","filters":{"brand_name":"%s"},"schedule":{"cadence":"daily"}}`, brand, i, brand))
		uuids[i], _ = created.at("data", "uuid").(string)
		receiver.destination(t, s, key, uuids[i], "/"+uuids[i])
	}
	receiver.confirm(t, s, key, tick)
	return uuids
}

// makeDue makes a daily search due at the server's next tick by pretending that its last scheduled
// run was missed.
func makeDue(t *testing.T, st store.Store, account cola.AccountID, uuid string) {
	t.Helper()
	_, err := st.UpdateSavedSearch(t.Context(), account, uuid, cola.MaxActiveSchedules, func(s cola.SavedSearch) (cola.SavedSearch, error) {
		plan := *s.Schedule
		plan.NextRunAt = cola.Some(cola.TimestampOf(plan.Next(time.Now().AddDate(0, 0, -1))))
		s.Schedule = &plan
		return s, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDeliveries runs two servers that share the due deliveries. The receiver rejects the first
// attempt to deliver each message and then accepts it once, verified by the Standard Webhooks
// library. Each run also sends an email with an unsubscribe link.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		const searches = 5
		mailServer := mailtest.Start(t)
		first := startSender(t, h, mailServer)
		startSender(t, h, mailServer)
		st := mustOpen(t, h)
		account, secret, _ := mustAccount(t, st, "deliveries@example.com", cola.TierPro)
		key := secret.Reveal()
		receiver := newWebhookReceiver(t, func(_ string, n int) int {
			if n == 1 {
				return http.StatusServiceUnavailable
			}
			return http.StatusNoContent
		})
		uuids := first.watch(t, key, "quokka", searches, receiver, nil)
		h.run(t, "import", "colas", mustWriteLabels(t, "QUOKKA", 1, 3, cola.DateOf(time.Now())))
		for _, uuid := range uuids {
			makeDue(t, st, account.ID, uuid)
		}
		received := receiver.await(t, searches)
		for _, uuid := range uuids {
			want := []string{"99365001000001", "99365001000002", "99365001000003"}
			if len(received[uuid]) != 1 || !slices.Equal(received[uuid][0].Labels, want) {
				t.Errorf("search %s: messages %+v, want one with the labels %v", uuid, received[uuid], want)
			}
		}
		first.checkListed(t, key, searches)
		checkMail(t, first, key, mailServer, searches)
	})
}

// checkListed checks that the API lists all of the account's webhook deliveries with two attempts
// each.
func (s *serverProcess) checkListed(t *testing.T, key string, webhooks int) {
	t.Helper()
	var list answer
	delivered := func() (n int) {
		list = s.get(t, "/deliveries?state=delivered&per_page=100", key)
		for _, d := range list.at("data").([]any) {
			if d.(map[string]any)["kind"] == cola.KindWebhook && d.(map[string]any)["event"] == cola.EventRan {
				n++
			}
		}
		return n
	}
	for range 100 { // the receiver gets a message before the server records it
		if delivered() == webhooks {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, row := range list.at("data").([]any) {
		d := row.(map[string]any)
		if d["kind"] != cola.KindWebhook || d["event"] != cola.EventRan {
			continue
		}
		detail := s.get(t, fmt.Sprintf("/deliveries/%.0f", d["id"]), key)
		attempts, _ := detail.at("data", "attempts").([]any)
		if len(attempts) != 2 || attempts[0].(map[string]any)["status"] != 503. ||
			attempts[1].(map[string]any)["status"] != 204. {
			t.Errorf("attempts = %s, want 503 and 204", detail.body)
		}
	}
	if got := delivered(); got != webhooks {
		t.Errorf("%d delivered webhooks listed, want %d: %s", got, webhooks, list.body)
	}
}

var unsubscribeLink = regexp.MustCompile(`^<(http://[^>]+)>$`)

// checkMail checks the messages to the account's email address and then unsubscribes with one
// click, as a mailbox provider does.
func checkMail(t *testing.T, s *serverProcess, key string, mailServer *mailtest.Server, messages int) {
	t.Helper()
	for range 600 {
		if len(mailServer.Messages()) >= messages {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	got := mailServer.Messages()
	ids := map[string]bool{}
	for _, m := range got {
		ids[m.Header.Get("Message-ID")] = true
		for _, want := range []string{"QUOKKA", "99365001000003"} {
			if !strings.Contains(m.Text, want) || !strings.Contains(m.HTML, want) {
				t.Errorf("message without %s:\n%s", want, m.Text)
			}
		}
		if m.To != "deliveries@example.com" || !strings.HasPrefix(m.Subject, "3 new labels for ") ||
			m.Header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
			t.Errorf("message to %s has subject %q and headers %v", m.To, m.Subject, m.Header)
		}
	}
	if len(got) != messages || len(ids) != messages {
		t.Fatalf("%d messages with %d ids, want %d", len(got), len(ids), messages)
	}
	link := unsubscribeLink.FindStringSubmatch(got[0].Header.Get("List-Unsubscribe"))
	if link == nil {
		t.Fatalf("no unsubscribe link: %v", got[0].Header)
	}
	for range 2 { // unsubscribing is idempotent
		resp, err := http.PostForm(link[1], url.Values{"List-Unsubscribe": {"One-Click"}})
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("unsubscribe: status %d, want 200: %s", resp.StatusCode, body)
		}
	}
	own := s.get(t, "/destinations?per_page=1", key).at("data").([]any)[0].(map[string]any)
	if own["kind"] != cola.KindEmail || own["state"] != cola.DestinationPaused ||
		own["reason"] != cola.ReasonUnsubscribed {
		t.Errorf("own address after unsubscribing: %v", own)
	}
}

// TestSenderKilled kills the sending process while receivers are still processing its messages.
// Once the claims expire, other processes resend them with the same IDs. No message is lost, and no
// run is sent twice under different IDs.
func TestSenderKilled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		const searches = 4 // one per account; each host gets at most this many concurrent requests
		s, st := startServer(t, h, "--alerts", "off", "--webhook-allow-private"), mustOpen(t, h)
		reached := make(chan struct{}, 100)
		receiver := newWebhookReceiver(t, func(_ string, n int) int {
			reached <- struct{}{}
			if n == 1 {
				time.Sleep(5 * time.Second) // until after the kill
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		})
		var uuids []string
		for n := range searches {
			_, secret, _ := mustAccount(t, st, fmt.Sprintf("killed%d@example.com", n), cola.TierPro)
			uuids = append(uuids, s.watch(t, secret.Reveal(), "numbat", 1, receiver,
				func() { h.run(t, "alerts", "tick", "--webhook-allow-private") })...)
		}
		h.run(t, "import", "colas", mustWriteLabels(t, "NUMBAT", 1, 2, cola.DateOf(time.Now())))
		tick := append([]string{
			"alerts", "tick", "--webhook-allow-private", "--hold", "6s",
			"--at", time.Now().AddDate(0, 0, 1).UTC().Format(time.RFC3339),
		}, slices.Concat(h.flags(), h.keyFlags(t))...)
		killed := command(tick...)
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		for range searches {
			select {
			case <-reached:
			case <-time.After(time.Minute):
				t.Fatal("no message was sent")
			}
		}
		if err := killed.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = killed.Wait()
		for range 60 { // until the claims expire
			mustRun(t, tick...)
			if receiver.messages() == searches {
				break
			}
			time.Sleep(time.Second)
		}
		receiver.await(t, searches)
		receiver.mu.Lock()
		defer receiver.mu.Unlock()
		sent := map[string]string{}
		for id, message := range receiver.accepted {
			if other, ok := sent[message.Search]; ok {
				t.Errorf("search %s: messages %s and %s, want one", message.Search, id, other)
			}
			sent[message.Search] = id
			if receiver.attempts[id] < 2 {
				t.Errorf("message %s was sent once; the kill came too late", id)
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(uuids)), slices.Sorted(maps.Keys(sent))); diff != "" {
			t.Errorf("searches with messages (-want +got):\n%s", diff)
		}
	})
}

// TestSuspendedAlerts checks that a suspended account's requests are rejected with the reason, that
// its searches wait, and that both resume afterward.
func TestSuspendedAlerts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s := startServer(t, h, "--alerts", "off")
		_, secret, _ := mustAccount(t, mustOpen(t, h), "late@example.com", cola.TierPro)
		key := secret.Reveal()
		s.create(t, key, `{"name":"Bilby","filters":{"brand_name":"bilby"},"schedule":{"cadence":"daily"}}`)
		h.run(t, "import", "colas", mustWriteLabels(t, "BILBY", 1, 1, cola.DateOf(time.Now())))
		if out := h.run(t, "account", "suspend", "--account", "late@example.com", "--reason", "The invoice is unpaid"); !strings.Contains(out, "The invoice is unpaid.") {
			t.Errorf("account suspend printed %q, want the reason", out)
		}
		rejected := s.mustAnswer(t, 403, "GET", "/usage", key, "")
		if rejected.at("error", "code") != string(cola.CodeAccountSuspended) ||
			!strings.Contains(string(rejected.body), "The invoice is unpaid.") {
			t.Errorf("response while suspended: %s", rejected.body)
		}
		tick := []string{"alerts", "tick", "--at", time.Now().AddDate(0, 0, 1).UTC().Format(time.RFC3339)}
		if out := h.run(t, tick...); !strings.HasPrefix(out, "0 searches ran") {
			t.Errorf("tick while suspended: %s", out)
		}
		h.run(t, "account", "restore", "--account", "late@example.com")
		if out := h.run(t, tick...); !strings.HasPrefix(out, "1 search ran and found 1 label.") {
			t.Errorf("tick after restore: %s", out)
		}
		time.Sleep(time.Second) // a rejection is cached
		s.mustAnswer(t, 200, "GET", "/usage", key, "")
	})
}

// TestAccountDelete checks that the commands schedule and cancel an account's deletion, and that a
// running server rejects the account's requests as soon as its deletion is scheduled.
func TestAccountDelete(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s := startServer(t, h)
		_, secret, _ := mustAccount(t, mustOpen(t, h), "leaving@example.com", cola.TierPro)
		who := []string{"--account", "Leaving@example.com", "--json"}
		var row struct {
			DeletesAt       *time.Time `json:"deletes_at"`
			SuspendedReason *string    `json:"suspended_reason"`
		}
		for range 2 {
			mustUnmarshal(t, h.run(t, append([]string{"account", "delete"}, who...)...), &row)
			if row.DeletesAt == nil || time.Until(*row.DeletesAt) < 6*24*time.Hour || row.SuspendedReason == nil {
				t.Fatalf("account delete printed %+v, want a time in seven days", row)
			}
		}
		rejected := s.mustAnswer(t, 403, "GET", "/usage", secret.Reveal(), "")
		if rejected.at("error", "code") != string(cola.CodeAccountSuspended) || rejected.at("error", "details", "deletes_at") == nil {
			t.Errorf("response: %s", rejected.body)
		}
		mustUnmarshal(t, h.run(t, append([]string{"account", "undelete"}, who...)...), &row)
		if row.DeletesAt != nil || row.SuspendedReason != nil {
			t.Errorf("account undelete printed %+v, want no deletion", row)
		}
		time.Sleep(time.Second) // a rejection is cached
		s.mustAnswer(t, 200, "GET", "/usage", secret.Reveal(), "")
	})
}

func mustUnmarshal(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
