package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/colaregistry/colaregistry/cola"
)

// TestReceiver checks that signed messages are accepted and printed, that duplicates are marked,
// that challenges are answered, and that other messages are rejected.
func TestReceiver(t *testing.T) {
	signer, err := webhooks.NewWebhook(cola.NewWebhookSecret())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	done, answer := 0, ""
	r := &receiver{check: signer.Verify, out: &out, seen: map[string]bool{}, limit: 2, done: func() { done++ }}
	post := func(id, signed, body string) int {
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		signMessage(t, req, signer, id, signed)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		answer = w.Body.String()
		return w.Code
	}
	const body = `{"type":"saved_search.ran","data":{"saved_search":{"name":"Herons"},"run":{"match_count":2},"labels":[{"ttb_id":"1","brand_name":"A"},{"ttb_id":"2","brand_name":"B"}]}}`
	for _, tt := range []struct {
		id, signed, body string
		status           int
		line             string // prefix
	}{
		{"msg_1", body, body, 204, "verified\tmsg_1\tsaved_search.ran\t\"Herons\" found 2 labels\t1 A\t2 B\n"},
		{"msg_1", body, body, 204, "duplicate\tmsg_1\n"},
		{"msg_2", body, body + " ", 401, "rejected\t"},
		{
			"msg_2", `{"type":"destination.test","data":{}}`,
			`{"type":"destination.test","data":{}}`, 204, "verified\tmsg_2\tdestination.test\n",
		},
		{
			"msg_4", `{"type":"destination.confirm","data":{"challenge":"KX7Q2MFA"}}`,
			`{"type":"destination.confirm","data":{"challenge":"KX7Q2MFA"}}`, 200, "confirmed\tmsg_4\n",
		},
		{"msg_3", strings.Repeat("x", maxReceived+1), strings.Repeat("x", maxReceived+1), 413, "rejected\t"},
	} {
		out.Reset()
		if status := post(tt.id, tt.signed, tt.body); status != tt.status || !strings.HasPrefix(out.String(), tt.line) {
			t.Errorf("%s: got %d and %q, want %d and %q…", tt.id, status, out.String(), tt.status, tt.line)
		}
		if (answer == "KX7Q2MFA\n") != (tt.id == "msg_4") {
			t.Errorf("%s: response %q, want the code only for msg_4", tt.id, answer)
		}
	}
	if done != 1 {
		t.Errorf("done was called %d times, want 1", done)
	}
}

// TestReceiverReadError checks the response to a body that can't be read.
func TestReceiverReadError(t *testing.T) {
	var out bytes.Buffer
	r := &receiver{out: &out}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(errors.New("connection lost"))))
	if w.Code != http.StatusBadRequest || out.String() != "rejected\tconnection lost\n" {
		t.Errorf("got %d and %q, want 400 and the error", w.Code, out.String())
	}
}

// pausingOutput pauses writes of rejected messages.
type pausingOutput struct {
	paused  chan struct{} // closed when a write pauses
	release chan struct{} // close to continue
}

func (o pausingOutput) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("rejected")) {
		close(o.paused)
		<-o.release
	}
	return len(p), nil
}

// TestReceiveFinishesResponses checks that after its last message, the receiver finishes in-flight
// responses before it exits.
func TestReceiveFinishesResponses(t *testing.T) {
	secret := cola.NewWebhookSecret()
	signer, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	out, errs := pausingOutput{make(chan struct{}), make(chan struct{})}, &output{}
	p := program{
		args:   []string{"alerts", "receive", "--listen", "127.0.0.1:0", "--secret", secret, "--count", "1"},
		stdout: out, stderr: errs,
	}
	exited := make(chan int, 1)
	go func() { exited <- p.run(t.Context()) }()
	url := ""
	for deadline := time.Now().Add(10 * time.Second); url == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("alerts receive did not start: %s", errs)
		}
		_, url, _ = strings.Cut(strings.TrimSpace(errs.String()), "Receiving webhooks at ")
	}
	rejected := make(chan int, 1)
	go func() { rejected <- sendSigned(t, url, signer, "a message", "another message") }()
	<-out.paused
	if status := sendSigned(t, url, signer, "a message", "a message"); status != http.StatusNoContent {
		t.Errorf("signed message: status %d, want 204", status)
	}
	select {
	case code := <-exited:
		t.Errorf("exited with %d before the last response", code)
		exited <- code
	case <-time.After(200 * time.Millisecond):
	}
	close(out.release)
	if status := <-rejected; status != http.StatusUnauthorized {
		t.Errorf("message with a wrong signature: status %d, want 401", status)
	}
	if code := <-exited; code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, errs)
	}
}

// signMessage signs a request as if it had the given body.
func signMessage(t *testing.T, req *http.Request, signer *webhooks.Webhook, id, body string) {
	t.Helper()
	now := time.Now()
	signature, err := signer.Sign(id, now, []byte(body))
	if err != nil {
		t.Error(err)
	}
	req.Header.Set(webhooks.HeaderWebhookID, id)
	req.Header.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(webhooks.HeaderWebhookSignature, signature)
}

// sendSigned posts body with a signature of signed, and returns the status, or 0 if there is no
// response.
func sendSigned(t *testing.T, url string, signer *webhooks.Webhook, signed, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	signMessage(t, req, signer, "msg_1", signed)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}
