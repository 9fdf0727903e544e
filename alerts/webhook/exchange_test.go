package webhook

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

// TestExchange checks that the exchange records the signed body of the message, only some headers
// and the start of the response, and none of the destination's secrets.
func TestExchange(t *testing.T) {
	r := newReceiver(t, true, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain\tx")
		w.Header().Set("Set-Cookie", "session=1")
		w.Header().Set("Location", "/"+strings.Repeat("y", 2*maxRecordedHeader))
		w.Header().Set("X-Request-Id", secret)
		w.WriteHeader(http.StatusFound)
		fmt.Fprintf(w, "%s %s %s p@ss ", secret, strings.TrimPrefix(secret, "whsec_"), oldSecret)
		fmt.Fprint(w, strings.Repeat("z", 1<<20))
	})
	m := message(strings.Replace(r.URL, "https://", "https://user:p%40ss@", 1))
	m.Destination.Secrets.Old = box.Seal(vault.Secret, m.Destination.UUID, oldSecret)
	got := sender(r).Send(t.Context(), m).Exchange
	if got.Sent != string(r.all()[0].body) {
		t.Errorf("Sent = %s, want the request body", got.Sent)
	}
	headers := "Content-Type: text/plainx\nLocation: /" + strings.Repeat("y", maxRecordedHeader-1) + "\nX-Request-Id: REMOVED"
	if got.Headers != headers {
		t.Errorf("Headers = %q, want %q", got.Headers, headers)
	}
	if !strings.HasPrefix(got.Response, "REMOVED REMOVED REMOVED REMOVED zz") || len(got.Response) != store.MaxResponse {
		t.Errorf("Response = %q", got.Response)
	}
}

// TestExchangeWithoutResponse checks that a message without a response is recorded, and so is the
// part of a slow response that arrived. A message that can't be sent is not recorded.
func TestExchangeWithoutResponse(t *testing.T) {
	closed := newReceiver(t, true, answers(200))
	closed.Close()
	if got := sender(closed).Send(t.Context(), message(closed.URL)).Exchange; got != (store.Exchange{Sent: got.Sent}) || got.Sent == "" {
		t.Errorf("refused connection: %+v, want only the message", got)
	}
	slow := newReceiver(t, true, func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, "first part")
		w.(http.Flusher).Flush()
		hang(w, req)
	})
	started := time.Now()
	res := sender(slow).Send(t.Context(), message(slow.URL))
	if res.Fault != "" || res.Exchange.Response != "first part" || time.Since(started) > responseTimeout {
		t.Errorf("slow response: %+v after %v", res, time.Since(started))
	}
	if got := sender().Send(t.Context(), message("ftp://example.com")).Exchange; got != (store.Exchange{}) {
		t.Errorf("message that was not sent: %+v", got)
	}
}

// TestChallengeExchange checks that neither the recorded challenge nor an endpoint that echoes it
// reveals the token or the code to the account holder.
func TestChallengeExchange(t *testing.T) {
	challenge := cola.NewChallenge()
	for _, status := range []int{200, 400} {
		r := newReceiver(t, true, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Server", challenge.Code())
			w.WriteHeader(status)
			_, _ = io.Copy(w, req.Body)
		})
		m := message(r.URL)
		m.Event, m.Content, m.Run = cola.EventConfirm, nil, 0
		m.Destination.Challenge.Sealed = box.Seal(vault.Challenge, m.Destination.UUID, string(challenge))
		got := sender(r).Send(t.Context(), m).Exchange
		if !strings.Contains(got.Sent, `"challenge":"REMOVED","code":"REMOVED"`) || got != (store.Exchange{Sent: got.Sent}) {
			t.Errorf("status %d: %+v, want only the message without its secrets", status, got)
		}
	}
}
