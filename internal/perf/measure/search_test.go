package measure

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestSearch checks that the limit holds, that every request is counted, and that all keys are used
// equally.
func TestSearch(t *testing.T) {
	var served, byA atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		if !strings.HasPrefix(r.URL.Path, "/api/v1/") {
			t.Errorf("path %s", r.URL.Path)
		}
		if r.Header.Get("X-API-Key") == "a" {
			byA.Add(1)
			w.WriteHeader(http.StatusTooManyRequests)
		}
		w.Write([]byte("four"))
	}))
	defer s.Close()
	if found, err := Search(t.Context(), s.Listener.Addr().String(), []string{"b"}, 3, 10); err != nil || len(found.Latencies) != 10 {
		t.Errorf("with a limit of 10: %d requests, %v", len(found.Latencies), err)
	}
	served.Store(0)
	found, err := Search(Timeout(t.Context(), 50*time.Millisecond), s.Listener.Addr().String(), []string{"a", "b"}, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := int(served.Load())
	if len(found.Latencies) != n || found.Refused() != int(byA.Load()) || found.Bytes != int64(4*n) || found.Check() != nil {
		t.Errorf("served %d, %d refused: %d latencies, statuses %v, %d bytes", n, byA.Load(),
			len(found.Latencies), found.Statuses, found.Bytes)
	}
	if even := n - 2*int(byA.Load()); even < -1 || even > 1 {
		t.Errorf("%d of %d requests used the first of two keys", byA.Load(), n)
	}
}

// TestSearchAt checks that requests are due at the given rate even though the server is slow, that
// latencies include the time spent waiting for a connection, and that all requests are accounted
// for.
func TestSearchAt(t *testing.T) {
	var served atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		time.Sleep(50 * time.Millisecond)
		w.Write([]byte("four"))
	}))
	defer s.Close()
	// Two connections serve 40 requests a second, so most of the 200 requests wait.
	found, err := SearchAt(t.Context(), s.Listener.Addr().String(), []string{"a"}, 200, 2, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	accepted, rejected := found.Accepted.Statuses[http.StatusOK], found.Rejected.Statuses[http.StatusServiceUnavailable]
	if n := int(served.Load()); accepted+rejected != n || rejected != n/2 || n+found.Unsent < 200 {
		t.Errorf("served %d: %d accepted, %d rejected, %d unsent", n, accepted, rejected, found.Unsent)
	}
	if last := found.Accepted.Latencies.At(1); last < 500*time.Millisecond {
		t.Errorf("longest latency = %v, want the time since the request was due", last)
	}
}

func TestSearchFailure(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"no length": func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		"cut off":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		s := httptest.NewServer(handler)
		if _, err := Search(t.Context(), s.Listener.Addr().String(), []string{"a"}, 1, 0); err == nil {
			t.Errorf("%s: no error", name)
		}
		s.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Search(ctx, "127.0.0.1:1", []string{"a"}, 1, 0); err == nil {
		t.Error("no server: no error")
	}
	if err := (Searches{}).Check(); err == nil {
		t.Error("Check accepts a run without responses")
	}
}
