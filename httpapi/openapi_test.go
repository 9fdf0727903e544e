package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/internal/web"
)

const goldenOpenAPI = "openapi.json"

// TestGoldenOpenAPI fails if the description changes. Run with -update and review the diff.
func TestGoldenOpenAPI(t *testing.T) {
	var got bytes.Buffer
	if err := json.Indent(&got, mustMarshal(describe(operations(newFake()), Options{}.withDefaults())), "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if golden.Update() {
		if err := os.WriteFile(goldenOpenAPI, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenOpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("openapi.json is stale; run go test ./httpapi -run Golden -update (-committed +generated):\n%s", diff)
	}
}

// TestCommittedOpenAPI checks that a server without a public URL serves the committed description.
func TestCommittedOpenAPI(t *testing.T) {
	want, err := os.ReadFile(goldenOpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	h := New(newFake(), keys{}, Options{Logger: slog.New(slog.DiscardHandler)})
	var got bytes.Buffer
	if err := json.Indent(&got, []byte(mustRead(t, get(t, h, "/api/v1/openapi.json"))), "", "  "); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), strings.TrimSpace(got.String())); diff != "" {
		t.Errorf("served description differs (-committed +served):\n%s", diff)
	}
}

// TestRetryAfterExamples checks the examples of 429 responses that always have a Retry-After
// header: each has one, with the same number of seconds in details.retry_after.
func TestRetryAfterExamples(t *testing.T) {
	for _, kind := range errorKinds() {
		if kind.status != http.StatusTooManyRequests || !strings.Contains(kind.description, "Retry-After is set.") {
			continue
		}
		for name, example := range kind.examples {
			if seconds := int(example.RetryAfter.Seconds()); seconds == 0 || example.Details["retry_after"] != seconds {
				t.Errorf("%s, %s: details = %v, want a retry_after of %d", kind.name, name, example.Details, seconds)
			}
		}
	}
}

// TestOpenAPIDescriptions finds gaps that linters miss. Each parameter, field and header needs a
// description and an example, each error response an example, and each operation a summary, a
// description and its cost.
func TestOpenAPIDescriptions(t *testing.T) {
	doc := describe(operations(newFake()), Options{}.withDefaults())
	for name, schema := range doc.Components.Schemas.Map() {
		for field, property := range schema.Properties {
			checkField(t, name+"."+field, property)
		}
	}
	for name, h := range doc.Components.Headers {
		if h.Description == "" || h.Example == nil || h.Schema == nil {
			t.Errorf("incomplete description of header %s", name)
		}
	}
	for name, r := range doc.Components.Responses {
		if body := r.Content["application/json"]; body == nil || len(body.Examples) == 0 || r.Description == "" {
			t.Errorf("incomplete description of response %s", name)
		}
	}
	ids := map[string]bool{}
	for _, op := range doc.operations {
		path := op.path
		if ids[op.OperationID] || op.Summary == "" || op.Description == "" || len(op.Tags) != 1 || op.Extensions["x-cost"] == "" {
			t.Errorf("incomplete description of %s", path)
		}
		ids[op.OperationID] = true
		for _, p := range op.Parameters {
			if p.Description == "" || p.Example == nil || p.Schema == nil || p.Schema.Nullable {
				t.Errorf("incomplete description of parameter %s of %s", p.Name, path)
			}
			if p.Schema.Type == "array" && (p.Style != "form" || p.Explode == nil || *p.Explode) {
				t.Errorf("parameter %s of %s is not comma-separated", p.Name, path)
			}
		}
	}
}

func checkField(t *testing.T, name string, s *huma.Schema) {
	t.Helper()
	if s.Description == "" {
		t.Errorf("%s: missing description", name)
	}
	compound := s.Ref != "" || len(s.AnyOf) > 0 || s.Type == "object" || s.Items != nil && s.Items.Ref != ""
	if len(s.Examples) == 0 && !compound {
		t.Errorf("%s: missing example", name)
	}
	if s.Enum != nil && s.Nullable != slices.Contains(s.Enum, nil) {
		t.Errorf("%s: enum and nullable disagree: %v", name, s.Enum)
	}
}

func TestDescribedResponses(t *testing.T) {
	ops := operations(newFake())
	doc := describe(ops, Options{}.withDefaults())
	for _, op := range ops {
		described, success := operationIn(t, doc, op.ID), "200"
		want := []string{"400", "401", "403", "413", "429", "500", "503"}
		switch op.ID {
		case "createSavedSearch":
			success = "201"
			want = append(want, "408", "409", "415")
		case "changeSavedSearch":
			want = append(want, "408", "409", "415")
		case "previewSavedSearch":
			want = append(want, "408", "415")
		case "deleteSavedSearch":
			success = "204"
		case "runSavedSearch", "testDestination", "resendConfirmation", "replayDestination", "replayDelivery":
			success = "202"
			want = append(want, "409")
		case "createDestination":
			success = "201"
			want = append(want, "408", "409", "415")
		case "changeDestination", "confirmDestination":
			want = append(want, "408", "409", "415")
		case "createFeed":
			success = "201"
		case "deleteDestination", "deleteFeed":
			success = "204"
		}
		want = append(want, success)
		if op.PathParam.Name != "" {
			want = append(want, "404")
		}
		if op.Rows != nil {
			want = append(want, "406")
		}
		if op.HasETag {
			want = append(want, "304")
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, sortedKeys(described.Responses)); diff != "" {
			t.Errorf("%s: statuses (-want +described):\n%s", op.ID, diff)
		}
		for _, name := range web.QuotaHeaders() {
			if described.Responses[success].Headers[name] == nil {
				t.Errorf("%s: header %s is not described", op.ID, name)
			}
		}
		if body := described.Responses[success].Content["application/json"]; (body == nil) != (success == "204") || body != nil && body.Example == nil {
			t.Errorf("%s: missing example", op.ID)
		}
		if described.Security != nil {
			t.Errorf("%s: described as not needing a key", op.ID)
		}
	}
}

// operationIn finds an operation in a document.
func operationIn(t *testing.T, doc description, id string) documentedOperation {
	t.Helper()
	i := slices.IndexFunc(doc.operations, func(op documentedOperation) bool { return op.OperationID == id })
	if i < 0 {
		t.Fatalf("operation %s is missing", id)
	}
	return doc.operations[i]
}

// TestDescribedParameters checks that the described parameters are exactly those that the
// decoder accepts.
func TestDescribedParameters(t *testing.T) {
	for _, op := range operations(newFake()) {
		if op.method() != http.MethodGet {
			continue // parameters are body fields, or there are none
		}
		var described []string
		for _, p := range operationIn(t, describe(operations(newFake()), Options{}.withDefaults()), op.ID).Parameters {
			if p.In == "query" {
				described = append(described, p.Name)
			}
		}
		slices.Sort(described)
		h := mustServe(t, newFake(), io.Discard)
		path := newExampleCall("", &op).path
		for _, name := range append(described, "surely_unknown") {
			resp := get(t, h, path+"?"+name+"=%00")
			var body decoded
			if resp.StatusCode == 400 {
				body = mustDecode(t, resp)
			}
			messages, _ := body.Error.Details[name].([]any)
			unknown := len(messages) > 0 && strings.HasPrefix(messages[0].(string), "Unknown parameter")
			if unknown != (name == "surely_unknown") {
				t.Errorf("%s?%s: response = %d %v", path, name, resp.StatusCode, body.Error.Details)
			}
		}
	}
}

// TestOneServer checks that every path works under the document's one server, because generators
// ignore other servers, and that every path requires a key, so that clients always send it.
func TestOneServer(t *testing.T) {
	doc := describe(operations(newFake()), Options{PublicURL: "https://registry.example"}.withDefaults())
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "https://registry.example/api/v1" {
		t.Errorf("servers = %v", doc.Servers)
	}
	h := mustServe(t, newFake(), io.Discard)
	for _, op := range doc.operations {
		if len(doc.Paths[op.path].Servers) > 0 || len(op.Servers) > 0 {
			t.Errorf("%s has its own servers", op.path)
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(op.path)
		if resp := send(t, h, op.method, basePath+path); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s %s without a key: status = %d, want 401", op.method, path, resp.StatusCode)
		}
	}
}

// TestSampleCalls sends the example call of every operation.
func TestSampleCalls(t *testing.T) {
	doc := describe(operations(newFake()), Options{}.withDefaults())
	h := mustServe(t, newFake(), io.Discard)
	for _, op := range doc.operations {
		source := op.Extensions["x-codeSamples"].([]map[string]string)[0]["source"]
		_, target, ok := strings.Cut(source, defaultURL)
		if !ok {
			t.Fatalf("%s: no URL in %q", op.path, source)
		}
		target = strings.TrimSuffix(target, `"`)
		_, rest, hasBody := strings.Cut(source, "-d '")
		body, _, _ := strings.Cut(rest, "'")
		method := http.MethodGet // like curl
		if _, rest, named := strings.Cut(source, "curl -X "); named {
			method, _, _ = strings.Cut(rest, " ")
		} else if hasBody {
			method = http.MethodPost
		}
		resp := write(t, h, method, target, body)
		if resp.StatusCode >= 300 || method != op.method || hasBody != strings.Contains(source, `-H "Content-Type: application/json"`) {
			t.Errorf("%s: response = %d\n%s", source, resp.StatusCode, mustRead(t, resp))
		}
	}
}
