package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestCORS sends cross-origin browser requests. The REST API accepts custom headers from any
// origin. The MCP endpoint accepts only allowed origins, whose pages can also read errors.
func TestCORS(t *testing.T) {
	t.Parallel()
	s := startServer(t, embedded(t), "--allowed-origin", "https://app.example")
	root := strings.TrimSuffix(s.base, "/api/v1")
	ask := func(method, url, origin, key string) http.Header {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", origin)
		if key != "" {
			req.Header.Set("X-API-Key", key)
		}
		if method == http.MethodOptions {
			req.Header.Set("Access-Control-Request-Method", "GET")
			req.Header.Set("Access-Control-Request-Headers", "baggage,sentry-trace,traceparent,x-api-key,x-cola-client")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.Header
	}
	for _, tt := range []struct{ method, url, origin, allowed string }{
		{"OPTIONS", s.base + "/colas", "https://shop.example", "*"},
		{"GET", s.base + "/usage", "https://shop.example", "*"},
		{"OPTIONS", root + "/mcp", "https://app.example", "https://app.example"},
		{"GET", root + "/mcp", "https://app.example", "https://app.example"}, // a 405
		{"OPTIONS", root + "/mcp", "https://shop.example", ""},
		{"GET", root + "/mcp", "https://shop.example", ""}, // a 403
	} {
		for _, key := range []string{s.key, ""} {
			got := ask(tt.method, tt.url, tt.origin, key)
			if got.Get("Access-Control-Allow-Origin") != tt.allowed {
				t.Errorf("%s %s from %s: headers %v, want Access-Control-Allow-Origin %q",
					tt.method, tt.url, tt.origin, got, tt.allowed)
			}
			allowsPreflight := tt.method == "OPTIONS" && tt.allowed != ""
			if allowsPreflight &&
				!strings.Contains(strings.ToLower(got.Get("Access-Control-Allow-Headers")), "x-cola-client") {
				t.Errorf("%s %s from %s: allowed headers %q, want x-cola-client among them",
					tt.method, tt.url, tt.origin, got.Get("Access-Control-Allow-Headers"))
			}
		}
	}
}
