package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// preflight requests permission for headers and returns the response headers.
func preflight(c CORS, requested string) http.Header {
	h := c.Handler(http.NotFoundHandler())
	r := httptest.NewRequest(http.MethodOptions, "/", nil)
	r.Header.Set("Origin", "https://shop.example")
	r.Header.Set("Access-Control-Request-Method", http.MethodGet)
	if requested != "" {
		r.Header.Set("Access-Control-Request-Headers", requested)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Header()
}

func TestCORSRequestedHeaders(t *testing.T) {
	for requested, allowed := range map[string]bool{
		"x-api-key,x-cola-client":                        true,
		"traceparent, tracestate,\tbaggage,sentry-trace": true,
		"x_under.score-9":                                true,
		"x-api-key,":                                     false,
		"x-api key":                                      false,
		"x-api-key\r\nset-cookie":                        false,
		"x-api-key;q=1":                                  false,
		"ключ":                                           false,
		"*":                                              false,
		strings.Repeat("a", maxRequestedHeaders):         true,
		strings.Repeat("a", maxRequestedHeaders+1): false,
	} {
		h := preflight(CORS{}, requested)
		got := strings.ToLower(strings.ReplaceAll(h.Get("Access-Control-Allow-Headers"), " ", ""))
		want := ""
		if allowed {
			want = strings.NewReplacer(" ", "", "\t", "").Replace(requested)
		}
		if got != want {
			t.Errorf("requested %.60q: allowed %.60q, want %.60q", requested, got, want)
		}
		if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("requested %.60q: headers %v, want any origin without credentials", requested, h)
		}
		vary := strings.Join(h.Values("Vary"), ",")
		for _, name := range []string{"Access-Control-Request-Method", "Access-Control-Request-Headers"} {
			if !strings.Contains(vary, name) {
				t.Errorf("Vary = %q, lacks %s", vary, name)
			}
		}
	}
}

func TestCORSOrigins(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		h := preflight(CORS{AllowOrigin: func(string) bool { return allowed }}, "x-a")
		want := ""
		if allowed {
			want = "https://shop.example"
		}
		if got := h.Get("Access-Control-Allow-Origin"); got != want ||
			!strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
			t.Errorf("origin allowed: %t, response headers: %v", allowed, h)
		}
		if (h.Get("Access-Control-Allow-Headers") != "") != allowed {
			t.Errorf("origin allowed: %t, response headers: %v", allowed, h)
		}
	}
}

// FuzzRequestedHeaders searches for a list that makes a response allow an invalid header name.
func FuzzRequestedHeaders(f *testing.F) {
	f.Add("x-api-key, traceparent")
	f.Add("a,,b")
	f.Add("*")
	f.Fuzz(func(t *testing.T, requested string) {
		for name := range strings.SplitSeq(preflight(CORS{}, requested).Get("Access-Control-Allow-Headers"), ", ") {
			if strings.ContainsFunc(name, func(c rune) bool { return !isHeaderNameChar(c) }) {
				t.Errorf("requested %q: response allows %q", requested, name)
			}
		}
	})
}
