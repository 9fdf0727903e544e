package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// fetched is the part of a response that a script on a page can read.
type fetched struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Error   string            `json:"error"` // the browser's error, if it blocks the request or the response
}

// browse makes cross-origin requests with the headers that SDKs and tracing add.
func (b *bench) browse(t *testing.T) {
	started := time.Now()
	tab := newTab(t)
	if err := chromedp.Do(tab, chromedp.Navigate(b.page.URL)); err != nil {
		t.Fatal(err)
	}
	key := b.newKey("browser")
	tracing := map[string]string{
		"X-COLA-Client": "colacloud-js/1.0", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"tracestate": "a=b", "baggage": "a=b", "sentry-trace": "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	requests := []struct {
		name, method, path, key, body string
		status                        int
		header                        string // a response header that the script must be able to read
	}{
		{"search", "GET", "/api/v1/colas?per_page=1", key, "", 200, "x-quota-reset"},
		{
			"create", "POST", "/api/v1/saved-searches", key,
			`{"name":"From a page","filters":{"brand_name":"oak"}}`, 201, "location",
		},
		{"invalid", "GET", "/api/v1/colas?per_page=1000", key, "", 400, "x-request-id"},
		{"unauthorized", "GET", "/api/v1/usage", "wrong", "", 401, "www-authenticate"},
		{"wrong method", "PUT", "/api/v1/colas", key, "", 405, "allow"},
		{"mcp", "POST", "/mcp", key, ping, 200, "x-request-id"},
		{"mcp unauthorized", "POST", "/mcp", "wrong", ping, 401, "www-authenticate"},
		{"mcp stream", "GET", "/mcp", key, "", 405, "allow"},
		{"mcp session", "DELETE", "/mcp", key, "", 405, "allow"},
	}
	for _, r := range requests {
		headers := map[string]string{"X-API-Key": r.key}
		for name, value := range tracing {
			headers[name] = value
		}
		if r.body != "" {
			headers["Content-Type"] = "application/json"
		}
		got := b.fetch(t, tab, r.method, r.path, headers, r.body)
		if got.Error != "" || got.Status != r.status || got.Headers[r.header] == "" {
			t.Errorf("%s: %s %s: status %d, want %d with a readable %s: %s %v",
				r.name, r.method, r.path, got.Status, r.status, r.header, got.Error, got.Headers)
		}
	}
	b.add(t, "chromium", fmt.Sprintf("made %d requests from another origin", len(requests)), started)
}

// fetch makes a request from a script in the page.
func (b *bench) fetch(
	t *testing.T, tab context.Context, method, path string, headers map[string]string, body string,
) (got fetched) {
	t.Helper()
	options := map[string]any{"method": method, "headers": headers}
	if body != "" {
		options["body"] = body
	}
	arguments, err := json.Marshal([]any{b.URL + path, options})
	if err != nil {
		t.Fatal(err)
	}
	script := `(async () => { try { const r = await fetch(...` + string(arguments) + `);
		await r.text(); return {status: r.status, headers: Object.fromEntries(r.headers)}; } catch (e) { return {error: String(e)}; } })()`
	got, err = chromedp.Run(tab, chromedp.Evaluate[fetched](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// newTab starts a browser and opens a tab in it.
func newTab(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			options = append(options, chromedp.ExecPath(path))
			break
		}
	}
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		if err := chromedp.Cancel(tab); err != nil { // wait for Chromium to exit, so that its profile can be removed
			t.Logf("Chromium: %v", err)
		}
		cancel()
	})
	if err := chromedp.Do(tab); err != nil { // a timeout on the first step would apply to the whole browser
		t.Fatalf("starting Chromium: %v", err)
	}
	limited, cancel := context.WithTimeout(tab, 2*time.Minute)
	t.Cleanup(cancel)
	return limited
}
