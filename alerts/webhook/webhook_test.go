package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

const (
	secret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	oldSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

// received is a request to a receiver.
type received struct {
	header http.Header
	host   string
	path   string
	body   []byte
}

// receiver is a web server that records requests and responds as configured.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []received
}

// newReceiver starts a receiver with HTTPS or HTTP.
func newReceiver(t *testing.T, https bool, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil || req.Method != http.MethodPost {
			t.Errorf("method = %s, body read error = %v; want POST, nil", req.Method, err)
		}
		r.mu.Lock()
		r.got = append(r.got, received{req.Header, req.Host, req.URL.RequestURI(), body})
		r.mu.Unlock()
		req.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, req)
	}))
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.EnableHTTP2 = true
	if https {
		r.StartTLS()
	} else {
		r.Start()
	}
	t.Cleanup(r.Close)
	return r
}

// all returns the requests received so far.
func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}

// hang blocks until the client disconnects.
func hang(_ http.ResponseWriter, req *http.Request) {
	<-req.Context().Done()
	panic(http.ErrAbortHandler)
}

func answers(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// box encrypts and decrypts destinations' secrets.
var box = vault.New(vault.Options{Keys: newKeys()})

func newKeys() *keyring.Keyring {
	keys, err := keyring.Parse([]byte(keyring.NewKey()))
	if err != nil {
		panic(err)
	}
	return keys
}

// sender returns a sender that trusts the certificates of the given receivers.
func sender(trusted ...*receiver) *Sender {
	s := New(Options{
		Vault:        box,
		PublicURL:    "https://labels.example",
		AllowPrivate: true,
		Version:      "v1.2.3 (dirty)\r\nX: y",
	})
	s.transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	for _, r := range trusted {
		s.transport.TLSClientConfig.RootCAs.AddCert(r.Certificate())
	}
	return s
}

// message returns a message about a run with three matches, two of them included.
func message(address string) alerts.Message {
	due := store.DueDelivery{
		ID: 5, MessageID: "msg_9d3f1c7a52e84b60a1f4c2d07be8365a", Event: cola.EventRan,
		Kind: cola.KindWebhook, Run: 1841, CreatedAt: time.Date(2026, 11, 16, 6, 0, 2, 0, time.UTC),
	}
	due.Destination.UUID, due.Destination.Address = "5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10", cola.Some(address)
	due.Destination.Secrets.Current = box.Seal(vault.Secret, due.Destination.UUID, secret)
	content := &store.RunContent{Search: cola.SavedSearch{
		UUID: "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", Name: "Herons & <friends>",
	}}
	content.Run = cola.SavedSearchRun{
		ID: 1841, RanAt: cola.TimestampOf(due.CreatedAt), DateFrom: cola.NewDate(2026, 11, 9),
		DateTo: cola.NewDate(2026, 11, 16), MatchCount: 3, LateCount: 1,
	}
	content.Labels = []store.MatchedLabel{
		{
			Match: cola.SavedSearchMatch{
				RunID: 1841, TTBID: 26282001000009, Met: cola.FilterSetOf("brand_name", "type_wine"),
			},
			Label: cola.ColaSummary{
				TTBID: 26282001000009, BrandName: "BLUE HERON", ProductName: "RÉSERVE",
				ProductType: vocabulary.Wine, ClassName: "TABLE RED WINE", PermitNumber: "BWN-OR-16677",
				ApprovalDate: cola.NewDate(2026, 11, 12), HasBarcode: true,
			},
		},
		{
			Match: cola.SavedSearchMatch{RunID: 1841, TTBID: 26262001000018, Late: true},
			Label: cola.ColaSummary{
				TTBID: 26262001000018, BrandName: "GREY HERON", ProductType: vocabulary.Wine, PermitNumber: "BWN-OR-16677",
			},
		},
	}
	return alerts.Message{DueDelivery: due, Content: content}
}

const wantBody = `{"type":"saved_search.ran","timestamp":"2026-11-16T06:00:02Z","data":{` +
	`"saved_search":{"uuid":"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11","name":"Herons & <friends>","manage_url":"https://labels.example/saved-searches/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"},` +
	`"run":{"id":1841,"ran_at":"2026-11-16T06:00:02Z","date_from":"2026-11-09","date_to":"2026-11-16","match_count":3,"late_count":1,"manual":false},` +
	`"labels":[{"ttb_id":"26282001000009","brand_name":"BLUE HERON","product_name":"RÉSERVE","product_type":"wine","class_name":"TABLE RED WINE","origin_name":null,"permit_number":"BWN-OR-16677",` +
	`"application_status":null,"approval_date":"2026-11-12","image_count":0,"has_barcode":true,"late":false,"met":["brand_name","type_wine"]},` +
	`{"ttb_id":"26262001000018","brand_name":"GREY HERON","product_name":null,"product_type":"wine","class_name":null,"origin_name":null,"permit_number":"BWN-OR-16677",` +
	`"application_status":null,"approval_date":null,"image_count":0,"has_barcode":false,"late":true,"met":[]}],` +
	`"more":1,"matches_url":"https://labels.example/api/v1/saved-searches/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11/runs/1841/matches"}}`

// verify checks a signature and the age of its timestamp, as receivers do.
func verify(t *testing.T, secret string, got received) error {
	t.Helper()
	checker, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return checker.Verify(got.body, got.header)
}

func TestSend(t *testing.T) {
	r := newReceiver(t, true, answers(http.StatusNoContent))
	s := sender(r)
	res := s.outcome(t.Context(), message(r.URL+"/hooks?for=labels&a=%20b#part"))
	if res != (alerts.Result{Status: 204}) {
		t.Fatalf("Send = %+v, want status 204", res)
	}
	got := r.all()[0]
	if diff := cmp.Diff(wantBody, string(got.body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if err := verify(t, secret, got); err != nil {
		t.Error(err)
	}
	if err := verify(t, oldSecret, got); err == nil {
		t.Error("signature verified with the wrong secret")
	}
	at, _ := strconv.ParseInt(got.header.Get("webhook-timestamp"), 10, 64)
	if age := time.Since(time.Unix(at, 0)); age < 0 || age > time.Minute {
		t.Errorf("timestamp is %v old, want at most a minute", age)
	}
	got.header.Del("webhook-signature")
	got.header.Del("webhook-timestamp")
	want := http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"colaregistry/v1.2.3dirtyXy (webhooks)"},
		"Webhook-Id": {"msg_9d3f1c7a52e84b60a1f4c2d07be8365a"},
		"Connection": {"close"}, "Content-Length": {strconv.Itoa(len(wantBody))},
	}
	if diff := cmp.Diff(want, got.header); diff != "" || got.path != "/hooks?for=labels&a=%20b" {
		t.Errorf("path %s, headers (-want +got):\n%s", got.path, diff)
	}
}

// TestRotation checks that receivers can verify with either secret during a rotation, and only with
// the new one afterward. Every attempt has the same ID and a fresh signature.
func TestRotation(t *testing.T) {
	r := newReceiver(t, true, answers(http.StatusOK))
	s := sender(r)
	m := message(r.URL)
	// unencrypted, as earlier versions stored it
	m.Destination.Secrets.Old, m.Destination.Secrets.OldUntil = oldSecret, time.Now().Add(time.Minute)
	s.outcome(t.Context(), m)
	m.Destination.Secrets.OldUntil = time.Now().Add(-time.Second)
	s.outcome(t.Context(), m)
	both, one := r.all()[0], r.all()[1]
	if verify(t, secret, both) != nil || verify(t, oldSecret, both) != nil {
		t.Errorf("during the rotation: signature = %q, want one for each secret", both.header.Get("webhook-signature"))
	}
	if verify(t, secret, one) != nil || verify(t, oldSecret, one) == nil ||
		strings.Contains(one.header.Get("webhook-signature"), " ") {
		t.Errorf("after the rotation: signature = %q, want one for the new secret", one.header.Get("webhook-signature"))
	}
	if both.header.Get("webhook-id") != one.header.Get("webhook-id") {
		t.Error("message ID changed between attempts")
	}
}

func TestSendTest(t *testing.T) {
	r := newReceiver(t, false, answers(http.StatusOK))
	m := message("http://user:p%40ss@" + r.Listener.Addr().String())
	m.Event, m.Content, m.Run = cola.EventTest, nil, 0
	if res := sender().outcome(t.Context(), m); res != (alerts.Result{Status: 200}) {
		t.Fatalf("Send = %+v, want status 200", res)
	}
	want := `{"type":"destination.test","timestamp":"2026-11-16T06:00:02Z","data":{"destination":{"uuid":"5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"}}}`
	got := r.all()[0]
	if diff := cmp.Diff(want, string(got.body)); diff != "" || verify(t, secret, got) != nil ||
		got.header.Get("Authorization") != "Basic dXNlcjpwQHNz" {
		t.Errorf("headers %v, body (-want +got):\n%s", got.header, diff)
	}
}

// TestChallenge checks that only a response with the token confirms an endpoint.
func TestChallenge(t *testing.T) {
	challenge := cola.NewChallenge()
	for _, tt := range []struct {
		name   string
		answer func(w http.ResponseWriter, body []byte)
		want   alerts.Result
	}{
		{"token", func(w http.ResponseWriter, _ []byte) { fmt.Fprintln(w, challenge) },
			alerts.Result{Status: 200, Verified: true}},
		{"JSON", func(w http.ResponseWriter, _ []byte) { fmt.Fprintf(w, `{"challenge": %q}`, challenge) },
			alerts.Result{Status: 200, Verified: true}},
		{"empty response", func(w http.ResponseWriter, _ []byte) { w.WriteHeader(204) }, alerts.Result{Status: 204}},
		{"request body", func(w http.ResponseWriter, body []byte) { w.Write(body) }, alerts.Result{Status: 200}},
		{"code", func(w http.ResponseWriter, _ []byte) { fmt.Fprintln(w, challenge.Code()) },
			alerts.Result{Status: 200}},
		{"token with an error status", func(w http.ResponseWriter, _ []byte) {
			w.WriteHeader(500)
			fmt.Fprintln(w, challenge)
		}, alerts.Result{Status: 500, Fault: "The receiver responded with status 500."}},
		{"token after 4 KiB", func(w http.ResponseWriter, _ []byte) {
			fmt.Fprint(w, strings.Repeat(" ", maxEcho), challenge)
		}, alerts.Result{Status: 200}},
	} {
		r := newReceiver(t, true, func(w http.ResponseWriter, req *http.Request) {
			body, _ := io.ReadAll(req.Body)
			tt.answer(w, body)
		})
		m := message(r.URL)
		m.Event, m.Content, m.Run = cola.EventConfirm, nil, 0
		m.Destination.Challenge.Sealed = box.Seal(vault.Challenge, m.Destination.UUID, string(challenge))
		if res := sender(r).outcome(t.Context(), m); res != tt.want {
			t.Errorf("%s: Send = %+v, want %+v", tt.name, res, tt.want)
		}
		want := fmt.Sprintf(`{"type":"destination.confirm","timestamp":"2026-11-16T06:00:02Z","data":{"destination":{"uuid":"5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"},"challenge":%q,"code":%q}}`,
			challenge, challenge.Code())
		if got := r.all(); len(got) != 1 || verify(t, secret, got[0]) != nil || string(got[0].body) != want {
			t.Errorf("%s: requests = %+v, want one signed request with %s", tt.name, got, want)
		}
		m.Event = cola.EventTest
		if res := sender(r).outcome(t.Context(), m); res.Verified {
			t.Errorf("%s: a response to a test message confirmed the endpoint", tt.name)
		}
	}
}

// TestEmptyRun checks that an empty list is encoded as an array, not null.
func TestEmptyRun(t *testing.T) {
	m := message("")
	m.Content.Run.MatchCount, m.Content.Labels = 0, nil
	body, err := New(Options{Vault: box}).body(m)
	var got struct{ Data runData }
	if err != nil || json.Unmarshal(body, &got) != nil || got.Data.Labels == nil || got.Data.More != 0 {
		t.Errorf("body = %s, %v, want an empty array of labels", body, err)
	}
}

// TestComposeErrors checks that failures on our side do not count against the receiver.
func TestComposeErrors(t *testing.T) {
	r := newReceiver(t, true, answers(200))
	for _, tt := range []struct {
		want   string
		change func(*alerts.Message)
	}{
		{faultCompose, func(m *alerts.Message) { m.Event = "saved_search.unknown" }},
		{faultCompose, func(m *alerts.Message) { m.Content = nil }},
		{faultUnsigned, func(m *alerts.Message) { m.Destination.Secrets.Current = "" }},
		{faultUnsigned, func(m *alerts.Message) { m.Destination.Secrets.Current = "whsec_" }},
		{faultUnsigned, func(m *alerts.Message) { m.Destination.Secrets.Current = "whsec_#" }},
		{faultUnsigned, func(m *alerts.Message) { m.Destination.UUID = "another destination" }},
		{faultUnsigned, func(m *alerts.Message) {
			other := vault.New(vault.Options{Keys: newKeys()})
			m.Destination.Secrets.Current = other.Seal(vault.Secret, m.Destination.UUID, secret)
		}},
		{faultCompose, func(m *alerts.Message) { m.Event, m.Content = cola.EventConfirm, nil }},
		{faultUnsigned, func(m *alerts.Message) {
			m.Destination.Secrets.Old, m.Destination.Secrets.OldUntil = "#", time.Now().Add(time.Hour)
		}},
	} {
		m := message(r.URL)
		tt.change(&m)
		want := alerts.Result{Fault: tt.want, OurFault: true}
		if got := sender(r).outcome(t.Context(), m); got != want {
			t.Errorf("Send = %+v, want %+v", got, want)
		}
	}
	if n := len(r.all()); n != 0 {
		t.Errorf("%d requests, want 0", n)
	}
}

func TestSendCanceled(t *testing.T) {
	reached := make(chan struct{})
	r := newReceiver(t, true, func(w http.ResponseWriter, req *http.Request) {
		close(reached)
		hang(w, req)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	if got := sender(r).Send(ctx, message(r.URL)); got.Fault == "" || got.Status != 0 {
		t.Errorf("Send = %+v, want a fault without a status", got)
	}
}

// outcome calls Send and returns the result without the exchange.
func (s *Sender) outcome(ctx context.Context, m alerts.Message) alerts.Result {
	res := s.Send(ctx, m)
	res.Exchange = store.Exchange{}
	return res
}
