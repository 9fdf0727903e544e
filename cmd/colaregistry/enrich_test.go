package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// modelAPI starts a fake chat completions API that requires a key.
func modelAPI(t *testing.T) (address string, requests *atomic.Int32) {
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided."}}`)
			return
		}
		fmt.Fprint(w, `{"choices":[{"message":{"content":"{\"llm_container_type\":\"keg\"}"},"finish_reason":"stop"}],
			"usage":{"prompt_tokens":7,"completion_tokens":2}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// enrichLabels runs the command and returns its exit code and output.
func enrichLabels(h testRegistry, args ...string) (code int, out, errs string) {
	c := command(append(append([]string{"enrich", "--rate", "100"}, h.flags()...), args...)...)
	var stdout, stderr output
	c.Stdout, c.Stderr = &stdout, &stderr
	c.Run()
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestEnrich checks that the command fills in fields within its limit, resumes where it stopped,
// and stops after one request if the key is wrong.
func TestEnrich(t *testing.T) {
	t.Parallel()
	for kind, empty := range map[string]func(*testing.T) testRegistry{"sqlite": embedded, "postgres": onPostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := empty(t)
			labels, key := filepath.Join(t.TempDir(), "labels.jsonl"), filepath.Join(t.TempDir(), "key")
			var lines strings.Builder
			for n := range 3 {
				fmt.Fprintf(&lines, `{"ttb_id":"2400100100000%d","brand_name":"B","permit_number":"CA-W-1","class_id":"902","application_status":"approved"}`+"\n", n)
			}
			for file, content := range map[string]string{labels: lines.String(), key: "right\n"} {
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h.run(t, "import", "colas", labels)
			address, requests := modelAPI(t)
			code, out, errs := enrichLabels(h, "--url", address, "--model", "m", "--key", "wrong")
			if code != exitFailed || !strings.Contains(errs, "Incorrect API key provided.") || requests.Load() != 1 {
				t.Errorf("wrong key: code %d after %d requests\n%s%s", code, requests.Load(), out, errs)
			}
			for _, want := range []string{"asked=1 enriched=1 failed=0 tokens_in=7 tokens_out=2\n", "asked=0 enriched=0 failed=0 tokens_in=0 tokens_out=0\n"} {
				// The request with the wrong key counts toward the limit.
				code, out, errs = enrichLabels(h, "--url", address, "--model", "m", "--key-file", key, "--limit", "2")
				if code != 0 || out != want || !strings.Contains(errs, "limit") {
					t.Errorf("code %d\n%s%s, want %s", code, out, errs, want)
				}
			}
			if code, out, errs = enrichLabels(h, "--url", address, "--model", "m", "--key-file", key); code != 0 || !strings.Contains(out, "asked=2 ") {
				t.Errorf("code %d\n%s%s", code, out, errs)
			}
			c, err := mustOpen(t, h).Cola(t.Context(), 24_001_001_000_000)
			if err != nil || c.LLMContainerType != "keg" || c.LLMCategoryPath != "" {
				t.Errorf("label = %+v, %v; want a keg", c, err)
			}
		})
	}
}

// TestServeEnrich enriches labels in a server. With a wrong key, enrichment stops, but the server
// doesn't.
func TestServeEnrich(t *testing.T) {
	t.Parallel()
	h := embedded(t)
	labels := filepath.Join(t.TempDir(), "labels.jsonl")
	const label = `{"ttb_id":"24001001000001","brand_name":"B","permit_number":"CA-W-1","class_id":"902","application_status":"approved"}`
	if err := os.WriteFile(labels, []byte(label), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(t, "import", "colas", labels)
	_, secret, _ := mustAccount(t, mustOpen(t, h), "ops@example.com", cola.TierPro)
	address, requests := modelAPI(t)
	get := func(s *serverProcess) any {
		return s.get(t, "/colas/24001001000001", secret.Reveal()).at("data", "llm_container_type")
	}
	s := startServer(t, h, "--demo", "never", "--enrich-url", address, "--enrich-model", "m", "--enrich-key", "wrong")
	await(t, "enrichment stops", func() bool { return strings.Contains(s.err.String(), "enrichment stopped") })
	if got := get(s); got != nil || requests.Load() != 1 {
		t.Errorf("container = %v after %d requests, want null after 1", got, requests.Load())
	}
	s.stop(t)
	s = startServer(t, h, "--demo", "never", "--enrich-url", address, "--enrich-model", "m", "--enrich-key", "right")
	await(t, "the label is enriched", func() bool { return get(s) == "keg" })
	s.stop(t)
}

// TestEnrichFlags checks that invalid flags are rejected.
func TestEnrichFlags(t *testing.T) {
	h := embedded(t)
	for _, args := range [][]string{
		{},
		{"--url", "https://api.example"},
		{"--model", "m"},
		{"--url", "api.example", "--model", "m"},
		{"--url", "ftp://api.example", "--model", "m"},
		{"--url", "https://api.example/v1?key=k", "--model", "m"},
		{"--url", "https://api.example/v1#key", "--model", "m"},
		{"--url", "https://user:k@api.example", "--model", "m"},
		{"--url", "http://api.example", "--model", "m", "--key", "k"},
		{"--url", "https://api.example", "--model", "m", "--limit", "0"},
		{"--url", "https://api.example", "--model", "m", "--tokens", "-1"},
		{"--url", "https://api.example", "--model", "m", "--rate", "0"},
		{"--url", "https://api.example", "--model", "m", "--rate", "NaN"},
		{"--url", "https://api.example", "--model", "m", "--images", "--image-store", "http://x"},
		{"--url", "https://api.example", "--model", "m", "--key", "k", "--key-file", filepath.Join(t.TempDir(), "missing")},
	} {
		if code, _, errs := enrichLabels(h, args...); code != exitUsage {
			t.Errorf("%q: code %d, want %d\n%s", args, code, exitUsage, errs)
		}
	}
}

// TestEnrichPanic checks that a panic outside label processing becomes an error, after which a
// server retries.
func TestEnrichPanic(t *testing.T) {
	f := enricherFlags{Rate: 1}
	if err := f.follow(t.Context(), nil, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("follow without a store: error = %v, want a panic", err)
	}
}
