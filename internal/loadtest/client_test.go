package loadtest

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// mustServe serves a handler, which may panic, and returns its address.
func mustServe(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// mustClosedAddress returns an address without a listener.
func mustClosedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func caller() *Account {
	return &Account{Account: store.Account{ID: 1, Tier: cola.TierStarter}, Key: auth.NewSecret()}
}

func TestExchangeResponses(t *testing.T) {
	barcode := Request{Path: "/barcode/1", Meter: cola.MeterListRecords, Most: 100, Want: 200}
	const unavailable, burst, used = `{"error":{"code":"unavailable"}}`,
		`{"error":{"code":"quota_exceeded","details":{"reason":"burst"}}}`,
		`{"error":{"code":"quota_exceeded","details":{"reason":"list_records"}},"upgrade_url":"https://example.com"}`
	for _, tt := range []struct {
		request Request
		status  int
		retry   string
		body    string
		units   int
		burst   bool
		problem string
	}{
		{asksList, 200, "", `{"data":[{},{},{}]}`, 3, false, ""},
		{asksList, 200, "", `{"data":[]}`, 0, false, ""},
		{asksList, 200, "", `{"data":[` + strings.Repeat("{},", 20) + `{}]}`, 21, false, "want at most 20"},
		{asksList, 200, "", `{"data":[{},`, 0, false, "unexpected end"},
		{asksDetail, 200, "", `{"data":{"ttb_id":"1"}}`, 1, false, ""},
		{barcode, 200, "", `{"data":{"colas":[{},{}]}}`, 2, false, ""},
		{Request{Path: "/usage", Want: 200}, 200, "", `{"data":{}}`, 0, false, ""},
		{asksList, 404, "", `{}`, 0, false, "404, want 200"},
		{asksList, 500, "", `{}`, 0, false, "500, want 200"},
		{asksList, 429, "7", burst, 0, true, ""},
		{asksList, 429, "", burst, 0, true, "no Retry-After"},
		{asksList, 429, "", used, 0, false, ""},
		{asksList, 429, "", strings.Replace(used, "upgrade_url", "url", 1), 0, false, "upgrade_url"},
		{asksList, 503, "2", unavailable, 0, false, ""},
		{asksList, 503, "", unavailable, 0, false, "no Retry-After"},
		{asksList, 503, "2", burst, 0, true, "want unavailable"},
		{asksList, 503, "2", `<html>`, 0, false, "invalid character"},
	} {
		address := mustServe(t, func(w http.ResponseWriter, r *http.Request) {
			if tt.retry != "" {
				w.Header().Set("Retry-After", tt.retry)
			}
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		})
		e := exchange(&http.Client{Transport: newTransport()}, address,
			Exchange{Account: caller(), Request: tt.request})
		if e.Status != tt.status || e.Units != tt.units || e.Burst != tt.burst || e.Failure != None ||
			!strings.Contains(e.Problem, tt.problem) || (tt.problem == "") != (e.Problem == "") {
			t.Errorf("%d %.60s: %+v, want %d units, burst %t, problem %q",
				tt.status, tt.body, e, tt.units, tt.burst, tt.problem)
		}
	}
}

func TestExchangeFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		address string
		want    Failure
	}{
		"no listener": {mustClosedAddress(t), Refused},
		"closed before the response": {
			mustServe(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), Reset,
		},
		"closed during the response": {
			mustServe(t, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, `{"data":[`)
				http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}), Broken,
		},
	} {
		e := exchange(&http.Client{Transport: newTransport()},
			tt.address, Exchange{Account: caller(), Request: asksList})
		if e.Failure != tt.want || e.Sent.IsZero() || e.Answered.Before(e.Sent) {
			t.Errorf("%s: %+v, want failure %d", name, e, tt.want)
		}
	}
}

// TestBalancerRetries checks that a request moves to another process if its connection was refused,
// but never if a process may have read it.
func TestBalancerRetries(t *testing.T) {
	var cut, answered atomic.Int64
	brokenAddress := mustServe(t, func(http.ResponseWriter, *http.Request) { cut.Add(1); panic(http.ErrAbortHandler) })
	workingAddress := mustServe(t,
		func(w http.ResponseWriter, _ *http.Request) { answered.Add(1); io.WriteString(w, `{"data":[]}`) })
	log := &Log{}
	refused := NewBalancer(log, mustClosedAddress(t), workingAddress)
	for range 20 {
		if e := refused.Send(caller(), asksList); e.Status != http.StatusOK || e.Process != 1 {
			t.Fatalf("with one of two processes running: %+v, want 200 from process 1", e)
		}
	}
	tried := len(log.Exchanges())
	if tried == 20 || answered.Load() != 20 {
		t.Errorf("%d exchanges for %d responses, want some refused connections", tried, answered.Load())
	}
	broken := NewBalancer(log, brokenAddress, brokenAddress, brokenAddress)
	if e := broken.Send(caller(), asksList); e.Failure != Reset || cut.Load() != 1 || len(log.Exchanges()) != tried+1 {
		t.Errorf("closed connection: %+v, sent %d times; want a reset after one attempt", e, cut.Load())
	}
}

func TestBalancerReadiness(t *testing.T) {
	var unready atomic.Int64
	probe := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/readyz" {
				w.WriteHeader(status)
				return
			}
			if status != http.StatusOK {
				unready.Add(1)
			}
			io.WriteString(w, `{"data":[]}`)
		}
	}
	b := NewBalancer(&Log{}, mustServe(t, probe(503)), mustServe(t, probe(200)), mustServe(t, probe(503)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.Watch(ctx)
	for !b.ready[1].Load() {
		time.Sleep(time.Millisecond)
	}
	for range 30 {
		if e := b.Send(caller(), asksList); e.Process != 1 {
			t.Fatalf("sent to process %d, which is not ready", e.Process)
		}
	}
	b.ready[1].Store(false)
	order := b.order()
	if len(order) != 3 || unready.Load() != 0 {
		t.Errorf("with no ready process: order %v; %d requests to unready processes", order, unready.Load())
	}
}

// TestLoad checks that every account sends requests and that no request is in flight after
// Run returns.
func TestLoad(t *testing.T) {
	var inFlight atomic.Int64
	address := mustServe(t, func(w http.ResponseWriter, _ *http.Request) {
		inFlight.Add(1)
		defer inFlight.Add(-1)
		io.WriteString(w, `{"data":[]}`)
	})
	log := &Log{}
	load := Load{
		Accounts: []*Account{caller(), caller(), caller()}, Balancer: NewBalancer(log, address), Rate: 50,
		Material: Material{IDs: []string{"1"}, Barcodes: []string{"a/b"}, Permits: []string{"CA-W-1"}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); load.Run(ctx) }()
	requests := func() map[*Account]int {
		by := map[*Account]int{}
		for _, e := range log.Exchanges() {
			by[e.Account]++
		}
		return by
	}
	for len(requests()) < len(load.Accounts) {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
	if n := inFlight.Load(); n != 0 {
		t.Errorf("%d requests in flight after Run returned", n)
	}
}

// TestDraw checks that the mix contains every kind of request and that a request has a maximum
// cost if and only if it has a meter.
func TestDraw(t *testing.T) {
	m := Material{IDs: []string{"14001"}, Barcodes: []string{"0 1"}, Permits: []string{"CA/W"}}
	random := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]int{}
	for range 2_000 {
		q := m.Draw(random)
		kind, _, _ := strings.Cut(strings.TrimPrefix(q.Path, "/"), "?")
		kinds[kind]++
		if (q.Meter == cola.MeterNone) != (q.Most == 0) || q.Want == 0 {
			t.Fatalf("inconsistent request: %+v", q)
		}
	}
	for _, kind := range []string{
		"colas", "colas/14001", "colas/99999999999999", "permittees", "permittees/CA%2FW", "barcode/0%201", "usage",
		"avas", "no/such/path",
	} {
		if kinds[kind] == 0 {
			t.Errorf("no %s request in %v", kind, kinds)
		}
	}
}
