package dashboard

import (
	"html"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestSignposts: what answers and messages lead to says how to go on, and nothing that whoever made the link could choose.
func TestSignposts(t *testing.T) {
	h := New(Options{PublicURL: "https://registry.example/", Logger: slog.New(slog.DiscardHandler)})
	const id = "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"
	for _, tt := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "/saved-searches", 200, `curl -H "X-API-Key: $KEY" https://registry.example/api/v1/saved-searches`},
		{"GET", "/saved-searches/" + strings.ToUpper(id), 200, "https://registry.example/api/v1/saved-searches/" + id + "/matches"},
		{"GET", "/saved-searches/" + id, 200, `-X PATCH -H "Content-Type: application/json" -d '{"schedule": {"active": false}}'`},
		{"HEAD", "/saved-searches/" + id, 200, ""},
		{"GET", "/saved-searches/%3Cscript%3Ealert(1)%3C%2Fscript%3E", 404, "There is nothing here"},
		{"GET", "/saved-searches/" + id + "/edit", 404, "There is nothing here"},
		{"GET", "/saved-searches/", 404, "There is nothing here"},
		{"POST", "/saved-searches", 405, "only for reading"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		body, err := io.ReadAll(w.Result().Body)
		if text := html.UnescapeString(string(body)); err != nil || w.Code != tt.status || !strings.Contains(text, tt.says) || strings.Contains(string(body), "<script") {
			t.Errorf("%s %s: %d %v\n%s", tt.method, tt.path, w.Code, err, text)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || w.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s %s: headers %v", tt.method, tt.path, w.Header())
		}
	}
}

func TestHandles(t *testing.T) {
	for path, want := range map[string]bool{"/saved-searches": true, "/saved-searches/x": true, "/saved-searchesx": false, "/": false, "/api/v1/saved-searches": false} {
		if Handles(path) != want {
			t.Errorf("%s is handled: %v", path, !want)
		}
	}
}
