package enrich

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/sqlitetest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// start is the initial time of test clocks.
var start = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// clock is a fake clock. Sleeping advances it.
type clock struct {
	mu    sync.Mutex
	at    time.Time
	slept []time.Duration // nonzero waits
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d > 0 {
		c.slept = append(c.slept, d)
	}
	c.at = c.at.Add(d)
	return ctx.Err()
}

// api is a fake chat completions API.
type api struct {
	*httptest.Server
	mu       sync.Mutex
	requests []map[string]any // request bodies
	keys     []string         // Authorization headers
	// answer writes the response to the nth request, from 0.
	answer func(w http.ResponseWriter, n int, text string)
}

func newAPI(t *testing.T, answer func(w http.ResponseWriter, n int, text string)) *api {
	a := &api{answer: answer}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		b, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(b, &body)
		}
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		a.mu.Lock()
		n := len(a.requests)
		a.requests, a.keys = append(a.requests, body), append(a.keys, r.Header.Get("Authorization"))
		a.mu.Unlock()
		a.answer(w, n, userText(body))
	}))
	t.Cleanup(a.Close)
	return a
}

// userText returns the text of the user message of a request.
func userText(body map[string]any) string {
	messages, _ := body["messages"].([]any)
	if len(messages) != 2 {
		return ""
	}
	switch content := messages[1].(map[string]any)["content"].(type) {
	case string:
		return content
	case []any:
		text, _ := content[0].(map[string]any)["text"].(string)
		return text
	}
	return ""
}

// completion writes a chat completion with an answer.
func completion(w http.ResponseWriter, answer string) {
	finished(w, map[string]any{"role": "assistant", "content": answer}, "stop")
}

func finished(w http.ResponseWriter, message map[string]any, reason string) {
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}},
		"usage":   map[string]any{"prompt_tokens": 100, "completion_tokens": 20},
	})
}

func apiFailure(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": message}})
}

// can is an answer that says that the product comes in a can.
const can = `{"llm_container_type":"can"}`

type world struct {
	*sqlite.Store
	*clock
	api *api
}

func mustWorld(t *testing.T, answer func(w http.ResponseWriter, n int, text string)) *world {
	t.Helper()
	w := &world{clock: &clock{at: start}, api: newAPI(t, answer)}
	w.Store = sqlitetest.Open(t, sqlite.Options{Now: w.now})
	return w
}

func (w *world) options() Options {
	return Options{
		Enricher: &OpenAI{URL: w.api.URL + "/v1/", Model: "small", Key: "secret"},
		Model:    "small",
		Limit:    store.EnrichmentLimit{Requests: 1000},
		Interval: time.Second, Now: w.now, Sleep: w.sleep,
	}
}

func (w *world) mustRun(t *testing.T, set ...func(*Options)) Report {
	t.Helper()
	r, err := w.run(t, set...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *world) run(t *testing.T, set ...func(*Options)) (Report, error) {
	t.Helper()
	o := w.options()
	for _, f := range set {
		f(&o)
	}
	return Run(t.Context(), w.Store, o)
}

const firstID cola.TTBID = 24_001_001_000_000

// newLabel returns the nth label, with detail.
func newLabel(n int, set ...func(*cola.Cola)) cola.Cola {
	var c cola.Cola
	c.TTBID, c.BrandName, c.ProductType = firstID+cola.TTBID(n), fmt.Sprintf("BRAND %d", n), vocabulary.MaltBeverage
	c.PermitNumber, c.ApplicationStatus, c.ClassID, c.ClassName = "CA-B-1", vocabulary.StatusApproved, "902", "ALE"
	for _, f := range set {
		f(&c)
	}
	return c
}

// mustStore stores the non-empty fields of labels.
func (w *world) mustStore(t *testing.T, labels ...cola.Cola) {
	t.Helper()
	var patches []cola.Patch[cola.Cola]
	for _, c := range labels {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var values map[string]any
		if err := json.Unmarshal(b, &values); err != nil {
			t.Fatal(err)
		}
		p := cola.Patch[cola.Cola]{Record: c}
		for i, f := range cola.FieldsOf[cola.Cola]() {
			if v := values[f.Name]; v != nil && !strings.HasPrefix(fmt.Sprint(v), "[]") {
				p.Fields = p.Fields.With(i)
			}
		}
		patches = append(patches, p)
	}
	if _, err := w.UpsertColas(t.Context(), patches, store.Commit); err != nil {
		t.Fatal(err)
	}
}

func (w *world) mustLabel(t *testing.T, n int) cola.Cola {
	t.Helper()
	c, err := w.Cola(t.Context(), firstID+cola.TTBID(n))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mustResult returns the recorded result of a label.
func (w *world) mustResult(t *testing.T, n int) store.Enrichment {
	t.Helper()
	e, err := w.ClaimEnrichment(t.Context(), firstID+cola.TTBID(n), time.Hour)
	if err == nil {
		err = w.ReleaseEnrichment(t.Context(), e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}
