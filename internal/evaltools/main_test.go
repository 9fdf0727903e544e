package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	protocol "github.com/mark3labs/mcp-go/mcp"
)

// Shared by all tests, because loading the demo data takes seconds.
var (
	testServer   *server
	testRequests []request
)

func TestMain(m *testing.M) {
	os.Exit(withServer(m.Run))
}

func withServer(run func() int) int {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "evaltools")
	if err == nil {
		defer os.RemoveAll(dir)
		testServer, err = newServer(ctx, dir)
	}
	if err == nil {
		defer testServer.Close()
		var w *world
		if w, err = newWorld(ctx, testServer); err == nil {
			testRequests = requests(w)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// mustRequest returns a copy of the request with the given ID.
func mustRequest(t *testing.T, id string) request {
	t.Helper()
	for _, r := range testRequests {
		if r.id == id {
			r.plan, r.facts = slices.Clone(r.plan), slices.Clone(r.facts)
			return r
		}
	}
	t.Fatalf("no request %s", id)
	return request{}
}

// TestPlans checks that every plan passes.
func TestPlans(t *testing.T) {
	var r report
	if err := testServer.evaluate(t.Context(), options{only: regexp.MustCompile("")}, testRequests, &r); err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if !r.print(&table) || len(r.Plans) != 40 {
		t.Errorf("%d plans; want 40 that pass:\n%s", len(r.Plans), &table)
	}
}

// aliases lists tools that duplicate others under the names that ChatGPT expects.
var aliases = []string{"search", "fetch"}

// TestRequests checks that requests have distinct IDs and at least one fact, and that together they
// call every tool.
func TestRequests(t *testing.T) {
	seen, called := map[string]bool{}, map[string]bool{}
	for _, r := range testRequests {
		if seen[r.id] || r.ask == "" || len(r.facts) == 0 {
			t.Errorf("%s: duplicate ID, or no question or facts", r.id)
		}
		seen[r.id] = true
		for _, tool := range append(r.tools(), aliases...) {
			called[tool] = true
		}
	}
	a, err := testServer.newAssistant(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	list, err := a.ListTools(t.Context(), protocol.ListToolsRequest{})
	if err != nil || len(list.Tools) == 0 {
		t.Fatalf("ListTools: %v, %v", list, err)
	}
	for _, tool := range list.Tools {
		if !called[tool.Name] {
			t.Errorf("no request calls %s", tool.Name)
		}
	}
}

// TestFaults checks that a plan fails if a call is invalid, a fact is missing from the results, the
// effect is wrong, or a limit is exceeded.
func TestFaults(t *testing.T) {
	for name, change := range map[string]func(*request){
		"value":    func(r *request) { r.facts = append(r.facts, is("1/data/0/colas", 1)) },
		"path":     func(r *request) { r.facts = append(r.facts, is("1/data/9/colas", 1)) },
		"sum":      func(r *request) { r.facts = append(r.facts, adds("1/data/*/colas", 1)) },
		"list":     func(r *request) { r.facts = append(r.facts, lists("1/data/*/brand_name", []string{"RAVEN"})) },
		"effect":   func(r *request) { r.effect = mustRequest(t, "watch-brand").effect },
		"tool":     func(r *request) { r.plan[0].tool = "check_brands" },
		"argument": func(r *request) { r.plan[0].args = args{"q": "oak", "product_type": "gin"} },
		"reference": func(r *request) {
			r.plan = append(r.plan, call{"get_cola", args{"ttb_id": "$1/data/9/example_ttb_id"}})
		},
		"calls":  func(r *request) { r.plan = []call{r.plan[0], r.plan[0], r.plan[0], r.plan[0]} },
		"tokens": func(r *request) { r.plan = append(r.plan, call{"search_colas", args{"per_page": 100}}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := mustRequest(t, "similar-brand")
			change(&r)
			o, err := testServer.runPlan(t.Context(), r)
			if err != nil || o.Fault == "" {
				t.Errorf("runPlan = %+v, %v; want a fault", o, err)
			}
		})
	}
}

// TestRun checks the result and the JSON report of a run with one request.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	o := options{only: regexp.MustCompile("^barcode$"), report: file}
	if ok, err := testServer.run(t.Context(), o, testRequests, io.Discard); !ok || err != nil {
		t.Fatalf("run = %t, %v", ok, err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil || len(r.Plans) != 1 || r.Plans[0].ID != "barcode" ||
		r.Plans[0].Calls != 1 || r.Plans[0].Tokens == 0 || r.Tools.Count == 0 || r.Answers != nil {
		t.Errorf("report %s: %v", b, err)
	}
}

// TestOnlyPassingRuns checks which reports pass.
func TestOnlyPassingRuns(t *testing.T) {
	pass, fail := outcome{ID: "a", Calls: 1, Tokens: 100}, outcome{ID: "b", Fault: "wrong"}
	long := outcome{ID: "c", Calls: 3, Tokens: 5_000}
	for name, c := range map[string]struct {
		plans, answers []outcome
		want           bool
	}{
		"none":            {},
		"pass":            {plans: []outcome{pass}, want: true},
		"fail":            {plans: []outcome{pass, fail}},
		"average":         {plans: []outcome{long, long, pass}},
		"model":           {plans: []outcome{pass}, answers: []outcome{pass, long, long}, want: true},
		"model fails":     {plans: []outcome{pass}, answers: []outcome{pass, fail}},
		"model is silent": {plans: []outcome{pass}, answers: []outcome{}},
	} {
		r := report{Plans: c.plans, Answers: c.answers}
		if c.answers != nil {
			r.Model = "m"
		}
		if got := r.print(io.Discard); got != c.want {
			t.Errorf("%s: passes %t, want %t", name, got, c.want)
		}
	}
}

// TestConfiguredModel checks the environment variables that configure a model.
func TestConfiguredModel(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const url, model, file = "COLAREGISTRY_EVAL_URL", "COLAREGISTRY_EVAL_MODEL", "COLAREGISTRY_EVAL_KEY_FILE"
	for name, c := range map[string]struct {
		env    map[string]string
		want   *chat
		failed bool
	}{
		"none":   {},
		"no key": {env: map[string]string{url: "http://a/v1", model: "m"}, want: &chat{url: "http://a/v1", model: "m"}},
		"key": {
			env:  map[string]string{url: "u", model: "m", file: key},
			want: &chat{url: "u", model: "m", key: "secret"},
		},
		"no model": {env: map[string]string{url: "u"}, failed: true},
		"no URL":   {env: map[string]string{model: "m"}, failed: true},
		"no file":  {env: map[string]string{url: "u", model: "m", file: key + "2"}, failed: true},
	} {
		got, err := configuredModel(func(name string) string { return c.env[name] })
		if (err != nil) != c.failed || (got == nil) != (c.want == nil) ||
			got != nil && (got.url != c.want.url || got.model != c.want.model || got.key != c.want.key) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}
