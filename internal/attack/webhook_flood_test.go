package attack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// endpoint is a webhook receiver that records its requests.
type endpoint struct {
	*httptest.Server

	mu     sync.Mutex
	got    []map[string]any
	status int
	echoes bool // answer challenges with their token
}

func newEndpoint(t *testing.T, status int) *endpoint {
	t.Helper()
	e := &endpoint{status: status}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var message map[string]any
	_ = json.Unmarshal(body, &message)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.got = append(e.got, message)
	if data, _ := message["data"].(map[string]any); e.echoes && message["type"] == cola.EventConfirm {
		fmt.Fprint(w, data["challenge"])
		return
	}
	w.WriteHeader(e.status)
}

// of returns the received messages of the given type.
func (e *endpoint) of(kind string) (messages []map[string]any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.got {
		if m["type"] == kind {
			messages = append(messages, m)
		}
	}
	return messages
}

// all returns the number of received requests.
func (e *endpoint) all() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.got)
}

// await waits for a message of the given type and returns the latest one.
func (e *endpoint) await(t *testing.T, kind string) map[string]any {
	t.Helper()
	awaitTrue(t, kind, func() bool { return len(e.of(kind)) > 0 })
	messages := e.of(kind)
	return messages[len(messages)-1]
}

// TestWebhookFlood creates a dozen webhooks on a host that has never confirmed one, then runs a
// saved search that matches a label. The host may get a few challenges, but no alert.
func TestWebhookFlood(t *testing.T) {
	onBoth(t, program.Options{Flags: []string{"--webhook-allow-private"}}, func(t *testing.T, s *site) {
		victim := newEndpoint(t, http.StatusOK)
		key := s.account("flood@example.com", cola.TierPro).Key.Reveal()
		statuses := map[int]int{}
		for n := range 12 {
			body := map[string]any{"kind": "webhook", "address": fmt.Sprintf("%s/%d", victim.URL, n)}
			statuses[s.rest(key, http.MethodPost, "/destinations", body).Status]++
		}
		if statuses[http.StatusCreated] == 0 || statuses[http.StatusCreated] > 5 ||
			statuses[http.StatusTooManyRequests] != 12-statuses[http.StatusCreated] {
			t.Errorf("statuses of 12 requests = %v, want up to 5 created and the others limited", statuses)
		}
		s.alertOnNewLabel(key)
		confirmed := 0
		for _, d := range s.rest(key, http.MethodGet, "/destinations?per_page=100", nil).JSON(t)["data"].([]any) {
			d := d.(map[string]any)
			if d["kind"] != cola.KindWebhook {
				continue
			}
			path := "/destinations/" + d["uuid"].(string)
			for _, way := range []struct {
				method, path string
				body         any
			}{
				{http.MethodPost, "/test", nil}, {http.MethodPost, "/replay", nil},
				{http.MethodPatch, "", map[string]any{"active": true}},
			} {
				if got := s.rest(key, way.method, path+way.path, way.body); got.Status != http.StatusConflict {
					t.Errorf("%s %s on a pending endpoint: status %d, want 409: %s", way.method, way.path, got.Status, got.Body)
				}
			}
			if d["state"] != cola.DestinationPending {
				confirmed++
			}
		}
		if confirmed > 0 {
			t.Errorf("%d endpoints that did not return the token are not pending", confirmed)
		}
		awaitTrue(t, "the challenges",
			func() bool { return len(victim.of(cola.EventConfirm)) == statuses[http.StatusCreated] })
		if n, all := len(victim.of(cola.EventConfirm)), victim.all(); all != n || n > 5 {
			t.Errorf("victim got %d requests, %d of them challenges; want only challenges, at most 5", all, n)
		}
	})
}

// TestSharedHost checks that an endpoint on a shared platform's host still gets its challenge after
// ten other accounts have reached their limits for that host.
func TestSharedHost(t *testing.T) {
	onBoth(t, program.Options{Flags: []string{"--webhook-allow-private"}}, func(t *testing.T, s *site) {
		platform := newEndpoint(t, http.StatusOK)
		for n := range 10 {
			key := s.account(fmt.Sprintf("flood%d@example.com", n), cola.TierFree).Key.Reveal()
			for k := range 5 {
				s.destination(key, "webhook", fmt.Sprintf("%s/%d/%d", platform.URL, n, k))
			}
		}
		customer := s.account("customer@example.com", cola.TierFree).Key.Reveal()
		destination := s.destination(customer, "webhook", platform.URL+"/customer")
		awaitTrue(t, "the challenge", func() bool {
			for _, m := range platform.of(cola.EventConfirm) {
				if m["data"].(map[string]any)["destination"].(map[string]any)["uuid"] == destination["uuid"] {
					return true
				}
			}
			return false
		})
	})
}

// TestTestMessageFlood checks that twelve test messages in a row exceed an endpoint's limit of ten,
// and that another endpoint of the same account has its own limit.
func TestTestMessageFlood(t *testing.T) {
	onBoth(t, program.Options{Flags: []string{"--webhook-allow-private"}}, func(t *testing.T, s *site) {
		e := newEndpoint(t, http.StatusOK)
		e.echoes = true
		key := s.account("flood@example.com", cola.TierPro).Key.Reveal()
		var paths []string
		for n := range 2 {
			path := "/destinations/" + s.destination(key, "webhook", fmt.Sprintf("%s/%d", e.URL, n))["uuid"].(string)
			awaitTrue(t, "the response to the challenge", func() bool {
				time.Sleep(500 * time.Millisecond) // each request counts toward the rate limit
				return s.rest(key, http.MethodGet, path,
					nil).JSON(t)["data"].(map[string]any)["state"] == cola.DestinationActive
			})
			paths = append(paths, path)
		}
		started, accepted := time.Now(), 0
		for range 12 {
			switch got := s.rest(key, http.MethodPost, paths[0]+"/test", nil); {
			case got.Status == http.StatusAccepted:
				accepted++
			case got.Status != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" || !bytes.Contains(got.Body, []byte(`"reason":"tests"`)):
				t.Errorf("test message: status %d, want 202 or 429 with Retry-After: %s", got.Status, got.Body)
			}
		}
		if most := 10 + int(time.Since(started)/(6*time.Second)) + 1; accepted < 10 || accepted > most {
			t.Errorf("%d test messages accepted, want 10 to %d", accepted, most)
		}
		if got := s.rest(key, http.MethodPost, paths[1]+"/test", nil); got.Status != http.StatusAccepted {
			t.Errorf("another destination: status %d, want 202: %s", got.Status, got.Body)
		}
	})
}

// alertOnNewLabel creates a saved search, imports a label that it matches, and runs the due alerts.
func (s *site) alertOnNewLabel(key string) {
	s.t.Helper()
	search := map[string]any{
		"name": "Herons", "filters": map[string]any{"brand_name": "heron"},
		"schedule": map[string]any{"cadence": "daily"},
	}
	if got := s.rest(key, http.MethodPost, "/saved-searches", search); got.Status != http.StatusCreated {
		s.t.Fatalf("status %d, want 201: %s", got.Status, got.Body)
	}
	label := fmt.Sprintf(`{"ttb_id":"99365001000017","brand_name":"BLUE HERON","product_type":"wine","permit_number":"CA-W-1","approval_date":"%s"}`, cola.DateOf(time.Now()))
	s.importLabels([]byte(label))
	report := s.Run("alerts", "tick",
		"--webhook-allow-private", "--at", time.Now().AddDate(0, 0, 2).UTC().Format(time.RFC3339))
	if !strings.Contains(report, "found 1 label") {
		s.t.Fatalf("alerts tick printed %q, want 1 label", report)
	}
}

// TestEndpointConfirmation checks both ways to confirm: an endpoint answers the challenge, or the
// account holder enters the code.
func TestEndpointConfirmation(t *testing.T) {
	onBoth(t, program.Options{Flags: []string{"--webhook-allow-private"}}, func(t *testing.T, s *site) {
		echoing, mute := newEndpoint(t, http.StatusOK), newEndpoint(t, http.StatusOK)
		echoing.echoes = true
		key := s.account("holder@example.com", cola.TierPro).Key.Reveal()
		state := func(uuid string) any {
			return s.rest(key, http.MethodGet, "/destinations/"+uuid, nil).JSON(t)["data"].(map[string]any)["state"]
		}
		first, second := s.destination(key, "webhook", echoing.URL)["uuid"].(string), s.destination(key,
			"webhook", mute.URL)["uuid"].(string)
		awaitTrue(t, "the response to the challenge", func() bool { return state(first) == cola.DestinationActive })
		code := mute.await(t, cola.EventConfirm)["data"].(map[string]any)["code"]
		confirm := "/destinations/" + second + "/confirm"
		if got := s.rest(key, http.MethodPost, confirm, map[string]any{"code": "AAAA-AAAA"}); got.Status != http.StatusBadRequest {
			t.Errorf("wrong code: status %d, want 400: %s", got.Status, got.Body)
		}
		if got := state(second); got != cola.DestinationPending {
			t.Errorf("endpoint that did not answer the challenge: state %s, want pending", got)
		}
		if got := s.rest(key, http.MethodPost, confirm, map[string]any{"code": code}); got.Status != http.StatusOK {
			t.Errorf("correct code: status %d, want 200: %s", got.Status, got.Body)
		}
		for uuid, e := range map[string]*endpoint{first: echoing, second: mute} {
			if got := s.rest(key, http.MethodPost, "/destinations/"+uuid+"/test", nil); got.Status != http.StatusAccepted {
				t.Errorf("test message: status %d, want 202: %s", got.Status, got.Body)
			}
			e.await(t, cola.EventTest)
		}
	})
}
