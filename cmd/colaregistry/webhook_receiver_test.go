package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// webhookReceiver receives webhooks and verifies them with the Standard Webhooks library.
type webhookReceiver struct {
	*httptest.Server
	// answer returns the status for the nth attempt to deliver a message, counted from 1. It may
	// block.
	answer func(id string, n int) int

	mu       sync.Mutex
	secrets  map[string]*webhooks.Webhook // by path
	attempts map[string]int               // by message ID
	accepted map[string]hook              // by message ID; only messages answered with a 2xx status
	rejected []string
}

// hook is the payload of a message.
type hook struct {
	Search string
	Run    int64
	Labels []string
	Late   int
}

func newWebhookReceiver(t *testing.T, answer func(id string, n int) int) *webhookReceiver {
	t.Helper()
	h := &webhookReceiver{
		answer: answer, secrets: map[string]*webhooks.Webhook{},
		attempts: map[string]int{}, accepted: map[string]hook{},
	}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// destination creates a destination for an account's saved search at a path on the receiver.
func (h *webhookReceiver) destination(t *testing.T, s *serverProcess, key, search, path string) {
	t.Helper()
	created := s.mustAnswer(t, 201, "POST", "/destinations", key,
		`{"kind":"webhook","address":"`+h.URL+path+`","saved_search":"`+search+`"}`)
	secret, _ := created.at("data", "secret").(string)
	checker, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatalf("secret %q: %v", secret, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.secrets[path] = checker
}

// confirm waits until every destination of an account is confirmed. If no server sends the
// challenges, tick must send them; otherwise it is nil.
func (h *webhookReceiver) confirm(t *testing.T, s *serverProcess, key string, tick func()) {
	t.Helper()
	if tick != nil {
		tick()
	}
	var list answer
	for range 600 {
		list = s.get(t, "/destinations?per_page=100", key)
		if !strings.Contains(string(list.body), `"pending"`) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("unconfirmed destinations: %s", list.body)
}

// ServeHTTP implements http.Handler.
func (h *webhookReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the request was cut off
	}
	if token := challengeIn(body); token != "" { // may arrive before the secret is known here
		io.WriteString(w, token)
		return
	}
	h.mu.Lock()
	checker := h.secrets[r.URL.Path]
	id := r.Header.Get(webhooks.HeaderWebhookID)
	if checker == nil || checker.Verify(body, r.Header) != nil {
		h.rejected = append(h.rejected, r.URL.Path)
		h.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	h.attempts[id]++
	n := h.attempts[id]
	h.mu.Unlock()
	status := h.answer(id, n)
	if status < 300 {
		h.accept(id, body)
	}
	w.WriteHeader(status)
}

func (h *webhookReceiver) accept(id string, body []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var m struct {
		Data struct {
			SavedSearch struct {
				UUID string `json:"uuid"`
			} `json:"saved_search"`
			Run struct {
				ID        int64 `json:"id"`
				LateCount int   `json:"late_count"`
			} `json:"run"`
			Labels []struct {
				TTBID string `json:"ttb_id"`
			} `json:"labels"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		h.rejected = append(h.rejected, err.Error())
		return
	}
	received := hook{Search: m.Data.SavedSearch.UUID, Run: m.Data.Run.ID, Late: m.Data.Run.LateCount}
	for _, l := range m.Data.Labels {
		received.Labels = append(received.Labels, l.TTBID)
	}
	h.accepted[id] = received
}

// messages returns the number of distinct messages accepted.
func (h *webhookReceiver) messages() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.accepted)
}

// await waits for a number of distinct messages and returns them by saved search.
func (h *webhookReceiver) await(t *testing.T, messages int) map[string][]hook {
	t.Helper()
	for range 1200 { // two minutes
		if h.messages() >= messages {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.accepted) != messages || len(h.rejected) > 0 {
		t.Errorf("%d messages accepted, want %d; rejected: %s", len(h.accepted), messages, strings.Join(h.rejected, ", "))
	}
	by := map[string][]hook{}
	for _, received := range h.accepted {
		by[received.Search] = append(by[received.Search], received)
	}
	return by
}
