package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/colaregistry/colaregistry/cola"
)

// TestReceiver checks that signed messages are accepted and printed once, duplicates are marked as
// such, and others are rejected.
func TestReceiver(t *testing.T) {
	signer, err := webhooks.NewWebhook(cola.NewWebhookSecret())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	done, answer := 0, ""
	r := &receiver{check: signer.Verify, out: &out, seen: map[string]bool{}, limit: 2, done: func() { done++ }}
	post := func(id, signed, body string) int {
		now := time.Now()
		signature, err := signer.Sign(id, now, []byte(signed))
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		req.Header.Set(webhooks.HeaderWebhookID, id)
		req.Header.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
		req.Header.Set(webhooks.HeaderWebhookSignature, signature)
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
		{"msg_3", strings.Repeat("x", maxReceived+1), strings.Repeat("x", maxReceived+1), 401, "rejected\t"},
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
