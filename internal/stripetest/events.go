package stripetest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"
)

// Event is a Stripe event. Body is its JSON.
type Event struct {
	ID, Type string
	Body     []byte
}

// Sink sends a request to a webhook and returns the response status.
type Sink func(r *http.Request) int

// webhookPath is the path in requests that deliver events.
const webhookPath = "/stripe/webhook"

// Handler returns a Sink that calls a handler.
func Handler(h http.Handler) Sink {
	return func(r *http.Request) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
}

// Address returns a Sink that sends events to a URL in the background. Like Stripe, it retries
// until the response is 2xx, but it gives up after about a minute.
func Address(url string) Sink {
	return func(r *http.Request) int {
		body, header := r.Body, r.Header
		var content bytes.Buffer
		if _, err := content.ReadFrom(body); err != nil {
			return 0
		}
		go func() {
			for range 60 {
				req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(content.Bytes()))
				if err != nil {
					return
				}
				req.Header = header
				resp, err := http.DefaultClient.Do(req)
				if err == nil {
					resp.Body.Close()
					if resp.StatusCode/100 == 2 {
						return
					}
				}
				time.Sleep(time.Second)
			}
		}()
		return http.StatusOK
	}
}

// emit adds an event, and sends it if there is a Sink.
func (s *Server) emit(kind string, object map[string]any) {
	s.mu.Lock()
	e := Event{ID: s.id("evt"), Type: kind}
	body, err := json.Marshal(map[string]any{
		"id": e.ID, "object": "event", "type": kind, "created": s.Now().Unix(), "api_version": "2020-08-27", // an old API version
		"data": map[string]any{"object": object},
	})
	if err != nil {
		panic(err) // unreachable: maps of JSON values
	}
	e.Body = body
	s.events = append(s.events, e)
	sink := s.Sink
	s.mu.Unlock()
	if sink != nil {
		sink(e.Request(WebhookSecret, time.Now()))
	}
}

// Events returns all events so far, in order.
func (s *Server) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event(nil), s.events...)
}

// Request returns the request that sends the event, signed with a secret at the given time.
func (e Event) Request(secret string, at time.Time) *http.Request {
	r := httptest.NewRequest(http.MethodPost, webhookPath, bytes.NewReader(e.Body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Stripe-Signature", Sign(e.Body, secret, at))
	return r
}

// Sign returns the Stripe-Signature header for a body.
func Sign(body []byte, secret string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}
