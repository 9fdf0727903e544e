package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// guideSample returns a guide's nth code block in the given language.
func guideSample(t *testing.T, guide, language string, n int) string {
	t.Helper()
	source, err := os.ReadFile("../../docs/" + guide + ".md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(source, -1)
	if len(m) < n {
		t.Fatalf("%s has %d samples in %s", guide, len(m), language)
	}
	return string(m[n-1][1])
}

// program returns a function that runs the nth sample of a guide against the server at base, and
// returns its standard output.
func (s sampleLanguage) program(t *testing.T, guide string, n int) func(base, key string) (string, error) {
	t.Helper()
	source := guideSample(t, guide, s.name, n)
	return func(base, key string) (string, error) {
		file := filepath.Join(t.TempDir(), s.file)
		source := strings.ReplaceAll(source, "http://127.0.0.1:8080", base)
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, s.tool(t), append(s.args, file)...)
		cmd.Env = append(os.Environ(), "API_KEY="+key)
		out, err := cmd.Output()
		return string(out), err
	}
}

type sampleLanguage struct {
	name, file string
	tool       func(*testing.T) string
	args       []string
}

var sampleLanguages = []sampleLanguage{
	{"python", "sample.py", mustPython, nil},
	{"js", "sample.mjs", mustNode, nil},
	{"go", "sample.go", mustGo, []string{"run"}},
}

// TestSamplesInGuides runs the programs in the quickstart and in the guide on pagination.
func TestSamplesInGuides(t *testing.T) {
	t.Parallel()
	h := demoFile(t)
	s, st := startServer(t, h), mustOpen(t, h)
	_, key, _ := mustAccount(t, st, "reader@example.com", "pro")
	base := strings.TrimSuffix(s.base, "/api/v1")
	for _, language := range sampleLanguages {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			t.Run("quickstart", func(t *testing.T) {
				for n, want := range []string{`"defaults_applied":`, "grape_varietals"} {
					run := language.program(t, "QUICKSTART", n+1)
					if out, err := run(base, key.Reveal()); err != nil || !strings.Contains(out, want) {
						t.Errorf("sample %d: %v, output %.300q", n+1, err, out)
					}
					if out, err := run(base, "lar_wrong"); err == nil || out != "" {
						t.Errorf("sample %d with a wrong key: %v, output %.300q", n+1, err, out)
					}
				}
			})
			t.Run("pages", func(t *testing.T) {
				run := language.program(t, "PAGINATION", 1)
				checkRetries(t, base, key.Reveal(), checkPages(t, s, key.Reveal(), run), run)
			})
		})
	}
}

// checkPages checks that a program prints every label that a search finds once, and fails with a
// wrong key. It returns the output.
func checkPages(t *testing.T, s *serverProcess, key string, run func(base, key string) (string, error)) string {
	t.Helper()
	total := sampleTotal(t, s.base+"/colas?applicant_state=OR&product_type=wine&date_range=all&per_page=1", key)
	base := strings.TrimSuffix(s.base, "/api/v1")
	out, err := run(base, key)
	labels := map[string]bool{}
	for line := range strings.Lines(out) {
		id, brand, _ := strings.Cut(strings.TrimSpace(line), " ")
		if labels[id] || len(id) != 14 || brand == "" {
			t.Errorf("line %q", line)
		}
		labels[id] = true
	}
	if err != nil || len(labels) != total || total <= 100 {
		t.Fatalf("printed %d of %d labels, want more than one page; %v", len(labels), total, err)
	}
	if out, err := run(base, "lar_wrong"); err == nil || out != "" {
		t.Errorf("with a wrong key: %v, output %q", err, out)
	}
	return out
}

// sampleTotal returns the number of records that match a request.
func sampleTotal(t *testing.T, address, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var found struct{ Pagination struct{ Total int } }
	if err := json.NewDecoder(resp.Body).Decode(&found); err != nil {
		t.Fatal(err)
	}
	return found.Pagination.Total
}

// checkRetries checks that a program that prints labels, 100 per request, retries requests rejected
// with a short Retry-After, up to four times. A proxy in front of the server rejects the first
// requests. want is the output if the program succeeds.
func checkRetries(t *testing.T, base, key, want string, run func(base, key string) (string, error)) {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	pages := (strings.Count(want, "\n") + 99) / 100
	for _, tt := range []struct {
		name             string
		status, rejected int
		retryAfter       string
		requests         int
		ok               bool
	}{
		{"accepted", 0, 0, "", pages, true},
		{"rate limit", 429, 2, "0", 2 + pages, true},
		{"unavailable", 503, 1, "1", 1 + pages, true},
		{"endless rate limit", 429, 100, "0", 5, false},
		{"quota", 429, 100, "", 1, false},
		{"tomorrow", 429, 100, "86400", 1, false},
		{"error", 500, 100, "", 1, false},
	} {
		requests := 0 // sent one at a time
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests++; requests > tt.rejected {
				forward.ServeHTTP(w, r)
				return
			}
			if tt.retryAfter != "" {
				w.Header().Set("Retry-After", tt.retryAfter)
			}
			w.WriteHeader(tt.status)
		}))
		out, err := run(proxy.URL, key)
		proxy.Close()
		want := want
		if !tt.ok {
			want = ""
		}
		if (err == nil) != tt.ok || out != want || requests != tt.requests {
			t.Errorf("%s: %d requests, output %.200q, %v; want %d, %.200q", tt.name, requests, out, err, tt.requests, want)
		}
	}
}
