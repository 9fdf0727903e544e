package clients

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // for passAnHour
)

// step is a call to an operation: its example call from the document, with placeholders replaced by
// existing values. Values are referred to by name; in a body, a string that starts with $ is such a
// name.
type step struct {
	operation string
	path      map[string]string // maps path parameters to names of values
	body      map[string]any    // replaces fields of the example
	keep      map[string]string // maps names of values to paths in the response
	until     func(response) bool
	before    func(*bench, *testing.T) // prepares the call
	fixed     bool                     // the response is the same for every client
}

// steps call every operation, each after the steps that it depends on.
var steps = []step{
	{operation: "getUsage"}, {operation: "getCoverage"},
	{operation: "searchColas", fixed: true},
	{operation: "countColas", fixed: true},
	{operation: "getCola", path: map[string]string{"ttb_id": "ttb_id"}, fixed: true},
	{operation: "lookUpBarcode", path: map[string]string{"barcode_value": "barcode_value"}, fixed: true},
	{operation: "searchBrands", fixed: true},
	{operation: "searchPermittees", fixed: true},
	{operation: "getPermittee", path: map[string]string{"permit_number": "permit_number"}, fixed: true},
	{operation: "suggestValues", fixed: true},
	{operation: "listProcessingTimes", fixed: true},
	{operation: "listFormulaProcessingTimes", fixed: true},
	{operation: "listRegistrationProcessingTimes", fixed: true},
	{operation: "listProductionReports", fixed: true},
	{operation: "listAVAs", fixed: true},
	{operation: "getAVA", fixed: true},

	{operation: "createSavedSearch", keep: map[string]string{"search": "data.uuid"}},
	{operation: "listSavedSearches"},
	{operation: "getSavedSearch", path: ofSearch},
	{operation: "previewSavedSearch"},
	{operation: "explainSavedSearch", path: map[string]string{"uuid": "search", "ttb_id": "ttb_id"}},
	{operation: "createFeed", path: ofSearch},
	{operation: "deleteFeed", path: ofSearch},

	{
		operation: "createDestination",
		body:      map[string]any{"address": "$hook"},
		keep:      map[string]string{"destination": "data.uuid"},
	},
	{operation: "listDestinations"},
	{operation: "getDestination", path: ofDestination},
	{
		operation: "confirmDestination",
		path:      ofDestination,
		body:      map[string]any{"code": "$code"},
		before:    (*bench).awaitCode,
	},
	{operation: "changeDestination", path: ofDestination},
	{operation: "rotateDestinationSecret", path: ofDestination},
	{operation: "testDestination", path: ofDestination, keep: map[string]string{"delivery": "data.id"}},
	{
		operation: "getDelivery",
		path:      map[string]string{"id": "delivery"},
		until:     func(r response) bool { return r.at("data.state") == "delivered" },
	},
	{operation: "listDeliveries"},
	{operation: "replayDelivery", path: map[string]string{"id": "delivery"}},
	{operation: "replayDestination", path: ofDestination},
	{operation: "deleteDestination", path: ofDestination},
	{
		operation: "createDestination",
		body:      map[string]any{"kind": "email", "address": "$recipient"},
		keep:      map[string]string{"mailbox": "data.uuid"},
	},
	{operation: "resendConfirmation", path: map[string]string{"uuid": "mailbox"}, before: (*bench).passAnHour},

	{operation: "runSavedSearch", path: ofSearch, before: (*bench).importNewLabel},
	{
		operation: "listSavedSearchRuns",
		path:      ofSearch,
		before:    func(b *bench, _ *testing.T) { b.Run("alerts", "tick") },
		keep:      map[string]string{"run": "data.0.id"},
		until:     func(r response) bool { found, _ := r.at("data.0.match_count").(float64); return found > 0 },
	},
	{operation: "listSavedSearchMatches", path: ofSearch},
	{operation: "listRunMatches", path: map[string]string{"uuid": "search", "run": "run"}},
	{operation: "changeSavedSearch", path: ofSearch},
	{operation: "deleteSavedSearch", path: ofSearch},
}

var (
	ofSearch      = map[string]string{"uuid": "search"}
	ofDestination = map[string]string{"uuid": "destination"}
)

// request is an operation call with its arguments.
type request struct {
	Operation string            `json:"operation"`
	Key       string            `json:"key"`
	Path      map[string]string `json:"path,omitempty"`
	Query     map[string]any    `json:"query,omitempty"`
	Body      map[string]any    `json:"body,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	op        operation
	values    url.Values
}

// response is a response as decoded by a client.
type response struct {
	Status int    `json:"status"`
	Body   any    `json:"body"`
	Error  string `json:"error"`
}

// at returns the value at a path such as data.0.id, or nil.
func (r response) at(path string) any {
	v := r.Body
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// problem returns an error unless the response is a success.
func (r response) problem() error {
	if r.Error != "" || r.Status < 200 || r.Status > 299 {
		body, _ := json.Marshal(r.Body) // never fails, because it was decoded from JSON
		return fmt.Errorf("status %d %s %s", r.Status, r.Error, body)
	}
	return nil
}

// walk runs all steps with a client. It returns the outcomes by operation and the responses of the
// fixed steps.
func (b *bench) walk(
	t *testing.T, client string, call func(request) response,
) (outcomes map[string]error, fixed map[string]response) {
	t.Helper()
	operations, key, known := readOperations(t), b.newKey(client), maps.Clone(b.known)
	known["recipient"] = "recipient-of-" + client + "@example.com"
	outcomes, fixed = map[string]error{}, map[string]response{}
	for _, s := range steps {
		if s.before != nil {
			s.before(b, t)
		}
		known["code"] = b.code
		got, err := s.take(newRequest(operations[s.operation], s, key, known), call)
		for name, path := range s.keep {
			value := got.at(path)
			if err == nil && value == nil {
				err = fmt.Errorf("response without %s: %v", path, got.Body)
			}
			known[name] = plain(value)
		}
		if outcomes[s.operation] == nil {
			outcomes[s.operation] = err
		}
		if s.fixed {
			fixed[s.operation] = got
		}
	}
	return outcomes, fixed
}

// plain formats a value as a path parameter.
func plain(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// take makes a call and repeats it until the response meets the step's condition.
func (s step) take(r request, call func(request) response) (got response, err error) {
	for range 60 { // more calls would exceed the rate limit
		got = call(r)
		if err = got.problem(); err != nil || s.until == nil || s.until(got) {
			return got, err
		}
		time.Sleep(time.Second)
	}
	return got, fmt.Errorf("condition not met: %v", got.Body)
}

// newRequest fills in an example call with known values.
func newRequest(op operation, s step, key string, known map[string]string) request {
	r := request{
		Operation: op.id, Key: key, Path: maps.Clone(op.sample.path),
		Query: map[string]any{}, op: op, values: op.sample.query,
	}
	for name, value := range s.path {
		r.Path[name] = known[value]
	}
	for name, values := range op.sample.query {
		r.Query[name] = typed(values, op.types[name])
	}
	if op.sample.body != nil {
		r.Headers = map[string]string{"Content-Type": "application/json"}
		r.Body = maps.Clone(op.sample.body)
	}
	for name, value := range s.body {
		if text, ok := value.(string); ok && strings.HasPrefix(text, "$") {
			value = known[text[1:]]
		}
		r.Body[name] = value
	}
	return r
}

// typed converts the values of a query parameter to the types that a typed client expects.
func typed(values []string, kind string) any {
	switch kind {
	case "array":
		return strings.Split(values[0], ",")
	case "integer", "number":
		if n, err := strconv.ParseFloat(values[0], 64); err == nil {
			return n
		}
	}
	return values[0]
}

// over returns a client that sends plain HTTP requests to an API.
func over(t *testing.T, base string) func(request) response {
	return func(r request) response {
		target := variable.ReplaceAllStringFunc(r.op.path,
			func(name string) string { return url.PathEscape(r.Path[name[1:len(name)-1]]) })
		if len(r.values) > 0 {
			target += "?" + r.values.Encode()
		}
		var body io.Reader
		if r.Body != nil {
			content, err := json.Marshal(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.NewReader(content)
		}
		req, err := http.NewRequestWithContext(t.Context(), r.op.method, base+target, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", r.Key)
		for name, value := range r.Headers {
			req.Header.Set(name, value)
		}
		return send(req)
	}
}

// send sends a request and decodes the JSON body of the response, if any.
func send(req *http.Request) (got response) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return response{Error: err.Error()}
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return response{Status: resp.StatusCode, Error: err.Error()}
	}
	got = response{Status: resp.StatusCode}
	if err := json.Unmarshal(content, &got.Body); err != nil && len(content) > 0 {
		got.Error = string(content)
	}
	return got
}

// discover finds values for placeholders: a label with a barcode, and its permit number.
func (b *bench) discover(t *testing.T) map[string]string {
	t.Helper()
	key, ask := b.newKey("discover"), over(t, b.URL+"/api/v1")
	list := ask(request{
		Key: key, op: operation{method: "GET", path: "/colas"}, values: url.Values{"per_page": {"100"}},
	})
	rows, _ := list.at("data").([]any)
	for _, r := range rows {
		row := response{Body: r}
		if row.at("has_barcode") != true {
			continue
		}
		label := ask(request{
			Key: key, op: operation{method: "GET", path: "/colas/{ttb_id}"},
			Path: map[string]string{"ttb_id": plain(row.at("ttb_id"))},
		})
		if label.at("data.barcode_value") == nil {
			continue
		}
		return map[string]string{
			"ttb_id": plain(label.at("data.ttb_id")), "permit_number": plain(label.at("data.permit_number")),
			"barcode_value": plain(label.at("data.barcode_value")),
			"cursor":        plain(list.at("pagination.next_cursor")), "hook": b.hook.URL,
			"field": "category", // for suggest_values; other fields require text
			"query": "oak", "id": plain(label.at("data.ttb_id")),
		}
	}
	t.Fatalf("no label with a barcode: %v", list)
	return nil
}

// importNewLabel imports a label that matches the example saved search by part of its brand name, and
// that no other example call returns.
func (b *bench) importNewLabel(t *testing.T) {
	t.Helper()
	b.imported++
	label, err := json.Marshal(map[string]any{
		"ttb_id": fmt.Sprintf("99365001%06d", b.imported), "brand_name": "OAKLEAF", "product_type": "wine",
		"permit_number": "CA-W-1", "approval_date": time.Now().UTC().Format(time.DateOnly),
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "label.jsonl")
	if err := os.WriteFile(file, label, 0o600); err != nil {
		t.Fatal(err)
	}
	b.Run("import", "colas", file)
}

// awaitCode waits for the confirmation code sent to the endpoint.
func (b *bench) awaitCode(t *testing.T) {
	t.Helper()
	select {
	case b.code = <-b.codes:
	case <-time.After(time.Minute):
		t.Error("no confirmation code sent to the endpoint")
	}
}

// passAnHour backdates confirmation requests by more than an hour, the minimum interval between two
// requests to a recipient.
func (b *bench) passAnHour(t *testing.T) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.Dir, "registry.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE confirmations_asked SET asked_at = asked_at - ?", 2*time.Hour.Microseconds()); err != nil {
		t.Fatal(err)
	}
}
