package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// mustRecorder starts a recorder in front of an echo server.
func mustRecorder(t *testing.T, count *atomic.Int64, keys ...string) (r *recorder, target string) {
	t.Helper()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s|%s|%s|%s", r.Host, r.Header.Get("Origin"), r.Header.Get("Authorization"), body)
	}))
	t.Cleanup(echo.Close)
	r, err := newRecorder(t.Context(), count)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	target = echo.Listener.Addr().String()
	r.forward(target, keys)
	return r, target
}

// mustSend sends a request and returns the echo.
func mustSend(t *testing.T, r *recorder, path, body string, headers ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.origin()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.Host = req.Header.Get("Host")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

const savedSearchCall = `{"method":"tools/call","params":{"name":"list_saved_searches"}}`

// TestRecorderAddsKeys checks that every request gets a key, and that calls about saved searches
// always get the first key. The recorder leaves Host and Origin unchanged, except that it replaces
// its own address.
func TestRecorderAddsKeys(t *testing.T) {
	r, target := mustRecorder(t, new(atomic.Int64), "one", "two")
	for _, tt := range []struct {
		headers []string
		want    string
	}{
		{nil, target + "||Bearer one|x"},
		{[]string{"Authorization", "Bearer other"}, target + "||Bearer two|x"},
		{[]string{"Content-Type", "application/json"}, target + "||Bearer one|" + savedSearchCall},
		{
			[]string{"Host", "evil.example.com", "Origin", "http://evil.example.com"},
			"evil.example.com|http://evil.example.com|Bearer one|x",
		},
	} {
		body := "x"
		if strings.HasSuffix(tt.want, savedSearchCall) {
			body = savedSearchCall
		}
		if got := mustSend(t, r, endpoint, body, tt.headers...); got != tt.want {
			t.Errorf("request with %v arrived as %s, want %s", tt.headers, got, tt.want)
		}
	}
}

// TestRecorderWithoutKeys checks that a recorder without keys leaves requests unchanged.
func TestRecorderWithoutKeys(t *testing.T) {
	r, _ := mustRecorder(t, new(atomic.Int64))
	own := strings.TrimPrefix(r.origin(), "http://")
	if got, want := mustSend(t, r, "/", "x", "Authorization", "Bearer mine"), own+"||Bearer mine|x"; got != want {
		t.Errorf("request arrived as %s, want %s", got, want)
	}
}

func TestRecorderExchanges(t *testing.T) {
	var count atomic.Int64
	r, _ := mustRecorder(t, &count)
	other, _ := mustRecorder(t, &count)
	mustSend(t, r, "/before", "")
	started := count.Load()
	mustSend(t, r, endpoint, `{"method":"tools/call","params":{"name":"get_ava"}}`,
		"Content-Type", "application/json", "Mcp-Protocol-Version", "2026-07-28", "Authorization", "Bearer a")
	mustSend(t, other, "/token?x=1", "grant_type=authorization_code&code=a",
		"Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	mustSend(t, r, endpoint, `{"method":"resources/read","params":{"uri":"a://b"}}`, "Content-Type", "application/json")
	mustSend(t, r, endpoint, `{`, "Content-Type", "application/json")
	got, others := r.since(started), other.since(started)
	if len(got) != 3 || len(others) != 1 {
		t.Fatalf("recorded %d and %d exchanges, want 3 and 1", len(got), len(others))
	}
	call, read, broken, form := got[0], got[1], got[2], others[0]
	if !call.calls("get_ava") || call.calls("x") || call.revision != "2026-07-28" || !call.credentials ||
		call.status != http.StatusTeapot || call.challenge != "Bearer" {
		t.Errorf("recorded call: %+v", call)
	}
	if !read.isMethod("tools/list", "resources/read") || read.target != "a://b" || read.credentials || broken.rpcMethod != "" {
		t.Errorf("recorded read: %+v; recorded invalid message: %+v", read, broken)
	}
	if form.path != "/token" || form.form.Get("grant_type") != "authorization_code" || form.query.Get("x") != "1" ||
		form.server != other {
		t.Errorf("recorded form: %+v", form)
	}
	if !(call.at < form.at && form.at < read.at) {
		t.Errorf("wrong order: %d, %d, %d", call.at, form.at, read.at)
	}
}

// TestRecorderWithoutServer checks that a recorder without a target returns 502 and records no
// response.
func TestRecorderWithoutServer(t *testing.T) {
	r, err := newRecorder(t.Context(), new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	resp, err := http.Get(r.origin())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadGateway || r.since(0)[0].status != 0 {
		t.Errorf("status %d, want 502; recorded %+v, want no status", resp.StatusCode, r.since(0))
	}
}
