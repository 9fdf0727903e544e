package mcp

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestHosts: a name that is not ours is refused, whatever the method and the credentials, before anything is asked.
func TestHosts(t *testing.T) {
	for host, want := range map[string]int{
		testHost: 200, testHost + ":8443": 200, "REGISTRY.example.": 200,
		"evil.example": 403, "registry.example.evil.example": 403, "localhost": 403, "127.0.0.1:8080": 403, "[::1]": 403, "xregistry.example": 403,
	} {
		f := newFake()
		got := rpc(t, mustServe(t, f, io.Discard), "ping", "{}", "Host: "+host)
		if got.StatusCode != want || (want == 403) != strings.Contains(got.body, `"code":"forbidden"`) || (want == 403) != (f.looks == 0) {
			t.Errorf("%s is answered with %d %s", host, got.StatusCode, got.body)
		}
	}
}

// TestHostIsTheAddress: whoever uses the address that the connection came in at has made no name point there.
func TestHostIsTheAddress(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for host, want := range map[string]int{"192.0.2.7:8080": 202, "192.0.2.7": 202, "192.0.2.8": 403, "[::ffff:192.0.2.7]": 202} {
		r := httptest.NewRequest(http.MethodPost, "http://"+host+Path, strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		local := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080}
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
		r.Header.Set("X-API-Key", testKey)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s is answered with %d, want %d: %s", host, w.Code, want, w.Body)
		}
	}
}

// TestOrigins: a page may call when its origin is listed; every other one is refused on every method.
func TestOrigins(t *testing.T) {
	for origin, allowed := range map[string]bool{
		"https://registry.example": true, "HTTPS://Registry.Example": true, "https://app.example:8443": true,
		"http://registry.example": false, "https://registry.example:444": false, "https://app.example": false, "null": false,
		"https://registry.example.evil.example": false, "https://evil.example": false, "*": false, "https://registry.example/": false,
	} {
		f := newFake()
		h := mustServe(t, f, io.Discard)
		for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS", "PUT", "HEAD"} {
			got := send(t, h, method, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Origin: "+origin)
			if refused := got.StatusCode == http.StatusForbidden; refused == allowed {
				t.Errorf("%s from %s is answered with %d", method, origin, got.StatusCode)
			}
			shown := got.Header.Get("Access-Control-Allow-Origin")
			if allowed && method == "POST" && shown != origin || !allowed && shown != "" {
				t.Errorf("%s from %s may be read by %q", method, origin, shown)
			}
		}
		if !allowed && f.looks+f.spent > 0 {
			t.Errorf("%s had the account looked at", origin)
		}
	}
}

// TestSeveralOrigins: a request is of one page or of none.
func TestSeveralOrigins(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "https://"+testHost+Path, nil)
	r.Header["Origin"] = []string{"https://registry.example", "https://registry.example"}
	w := httptest.NewRecorder()
	mustServe(t, newFake(), io.Discard).ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("two origins are answered with %d", w.Code)
	}
}

// TestPreflight is what a browser asks before a page's script may send a message.
func TestPreflight(t *testing.T) {
	f := newFake()
	got := send(t, mustServe(t, f, io.Discard), "OPTIONS", "", "X-API-Key:", "Origin: https://app.example:8443", "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: authorization,content-type,mcp-protocol-version,mcp-method,mcp-name")
	if got.StatusCode != http.StatusOK || got.Header.Get("Access-Control-Allow-Origin") != "https://app.example:8443" ||
		got.Header.Get("Access-Control-Allow-Credentials") != "" || f.looks+f.spent > 0 {
		t.Errorf("%d, %v", got.StatusCode, got.Header)
	}
	for _, name := range []string{"authorization", "mcp-name"} {
		if !strings.Contains(strings.ToLower(got.Header.Get("Access-Control-Allow-Headers")), name) {
			t.Errorf("%s may not be sent: %v", name, got.Header)
		}
	}
}

// TestErrorsAreReadable: a page of an allowed origin can read every refusal, and one of any other origin none.
func TestErrorsAreReadable(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, origin := range []string{"https://app.example:8443", "https://evil.example"} {
		allowed := origin == "https://app.example:8443"
		for _, tt := range []struct {
			method, body string
			more         []string
			status       int
			header       string
		}{
			{"GET", "", nil, 405, "Allow"},
			{"DELETE", "", nil, 405, "Allow"},
			{"PUT", "", nil, 405, "Allow"},
			{"POST", body, []string{"X-API-Key: wrong"}, 401, "Www-Authenticate"},
			{"POST", body, []string{"Host: evil.example"}, 403, "X-Request-Id"},
			{"POST", body, []string{"Content-Type: text/plain"}, 415, "X-Request-Id"},
			{"POST", "[]", nil, 400, "X-Request-Id"},
		} {
			h := mustServe(t, newFake(), io.Discard)
			got := send(t, h, tt.method, tt.body, append(tt.more, "Origin: "+origin)...)
			shown := got.Header.Get("Access-Control-Allow-Origin")
			if allowed && (got.StatusCode != tt.status || shown != origin) || !allowed && (got.StatusCode != 403 || shown != "") {
				t.Errorf("%s with %v from %s: %d, readable by %q", tt.method, tt.more, origin, got.StatusCode, shown)
			}
			exposed := strings.Split(got.Header.Get("Access-Control-Expose-Headers"), ", ")
			if allowed && (got.Header.Get(tt.header) == "" || !slices.Contains(exposed, tt.header)) {
				t.Errorf("%s with %v: %s is missing or hidden: %v", tt.method, tt.more, tt.header, got.Header)
			}
			if vary := strings.Join(got.Header.Values("Vary"), ","); !strings.Contains(vary, "Origin") {
				t.Errorf("%s with %v: Vary is %q", tt.method, tt.more, vary)
			}
			preflight := send(t, h, "OPTIONS", "", "X-API-Key:", "Origin: "+origin, "Access-Control-Request-Method: "+tt.method,
				"Access-Control-Request-Headers: authorization,traceparent")
			if ok := preflight.StatusCode == http.StatusOK && preflight.Header.Get("Access-Control-Allow-Headers") != ""; ok != allowed {
				t.Errorf("a preflight for %s from %s: %d %v", tt.method, origin, preflight.StatusCode, preflight.Header)
			}
		}
	}
}
