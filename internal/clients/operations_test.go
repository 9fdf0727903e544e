package clients

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// operation is an operation in the OpenAPI document with its example call.
type operation struct {
	id, method, path string
	types            map[string]string // types of its query parameters, by name
	examples         map[string]any    // examples of its parameters, by name
	sample           sample
}

// sample is an operation's example call.
type sample struct {
	path  map[string]string // path parameters
	query url.Values
	body  map[string]any
}

var (
	sampleURL  = regexp.MustCompile(`"http://127\.0\.0\.1:8080/api/v1([^"]*)"$`)
	sampleBody = regexp.MustCompile(`(?s)-d '(.*?)'`)
	variable   = regexp.MustCompile(`\{([a-z_]+)\}`)
)

// readOperations reads the operations from the committed document.
func readOperations(t *testing.T) map[string]operation {
	t.Helper()
	content, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Parameters  []struct {
				Name    string
				Schema  struct{ Type string }
				Example any
			}
			Samples []struct{ Source string } `json:"x-codeSamples"`
		}
	}
	if err := json.Unmarshal(content, &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]operation{}
	for path, methods := range doc.Paths {
		for method, described := range methods {
			if len(described.Samples) == 0 {
				t.Fatalf("%s has no example call", described.OperationID)
			}
			op := operation{
				id: described.OperationID, method: strings.ToUpper(method),
				path: path, types: map[string]string{}, examples: map[string]any{},
			}
			for _, p := range described.Parameters {
				op.types[p.Name] = p.Schema.Type
				if p.Example != nil {
					op.examples[p.Name] = p.Example
				}
			}
			op.sample = mustSample(t, op, described.Samples[0].Source)
			all[op.id] = op
		}
	}
	return all
}

// mustSample parses an example call, which is a curl command.
func mustSample(t *testing.T, op operation, source string) sample {
	t.Helper()
	address := sampleURL.FindStringSubmatch(source)
	if address == nil {
		t.Fatalf("%s: no URL in the example call: %s", op.id, source)
	}
	path, query, _ := strings.Cut(address[1], "?")
	s := sample{path: map[string]string{}}
	var err error
	if s.query, err = url.ParseQuery(query); err != nil {
		t.Fatalf("%s: %v", op.id, err)
	}
	template, parts := strings.Split(op.path, "/"), strings.Split(path, "/")
	for i, part := range template {
		if name := variable.FindStringSubmatch(part); name != nil && i < len(parts) {
			if s.path[name[1]], err = url.PathUnescape(parts[i]); err != nil {
				t.Fatalf("%s: %v", op.id, err)
			}
		}
	}
	if body := sampleBody.FindStringSubmatch(source); body != nil {
		if err := json.Unmarshal([]byte(body[1]), &s.body); err != nil {
			t.Fatalf("%s: body of the example call: %v", op.id, err)
		}
	}
	return s
}

// TestOperationSteps checks that the steps call every operation.
func TestOperationSteps(t *testing.T) {
	operations := readOperations(t)
	called := map[string]bool{}
	for _, s := range steps {
		op, ok := operations[s.operation]
		if called[s.operation] = true; !ok {
			t.Errorf("unknown operation %s; remove its step", s.operation)
			continue
		}
		for name := range s.path {
			if _, ok := op.sample.path[name]; !ok {
				t.Errorf("%s has no path parameter %s", s.operation, name)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(operations)) {
		if !called[id] {
			t.Errorf("no step calls %s; add one in internal/clients/steps_test.go", id)
		}
	}
	if len(operations) < 30 {
		t.Errorf("only %d operations in the document", len(operations))
	}
}
