package main

import (
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestReferenceExamples checks that every example in the reference returns demo records, unless it
// is marked as a placeholder.
func TestReferenceExamples(t *testing.T) {
	t.Parallel()
	s := startServer(t, embedded(t))
	checkFound(t, s, firstCall(t, s))
	if created := s.create(t, s.key, `{"name":"To be listed","filters":{}}`); created.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", created.StatusCode, created.body)
	}
	s.mustAnswer(t, http.StatusCreated, http.MethodPost, "/destinations",
		s.key, `{"kind":"webhook","address":"https://hooks.invalid/"}`)
	placeholders := 0
	for path, item := range s.get(t, "/openapi.json", "").at("paths").(map[string]any) {
		methods := item.(map[string]any)
		if posted, ok := methods["post"].(map[string]any); ok {
			sample := answer{json: posted}.at("x-codeSamples").([]any)[0].(map[string]any)
			if !strings.Contains(sample["label"].(string), "placeholder") {
				checkSent(t, s, sample["source"].(string))
			}
		}
		get, ok := methods["get"].(map[string]any)
		if !ok || path == "/deliveries" { // the demo registry has no deliveries
			continue
		}
		op := answer{json: get}
		sample := op.at("x-codeSamples").([]any)[0].(map[string]any)
		if strings.Contains(sample["label"].(string), "placeholder") {
			placeholders++
			continue
		}
		checkFound(t, s, pasted(t, sample["source"].(string)))
		for _, query := range singleExamples(op) {
			checkFound(t, s, s.base+path+"?"+query)
		}
	}
	// One label, one permittee, one barcode, five for saved searches, one destination and one
	// delivery.
	if placeholders != 10 {
		t.Errorf("%d example calls with a placeholder, want 10", placeholders)
	}
}

// firstCall returns the URL of the first call on the reference page.
func firstCall(t *testing.T, s *serverProcess) string {
	t.Helper()
	resp, err := http.Get(strings.TrimSuffix(s.base, "/api/v1") + "/docs/reference")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(page), "") // highlighting
	_, call, ok := strings.Cut(html.UnescapeString(text), "curl -H")
	if !ok {
		t.Fatal("reference page has no first call")
	}
	return pasted(t, call)
}

var quotedAddress = regexp.MustCompile(`"(http://[^"]+)"`)

// pasted returns the URL in a curl line.
func pasted(t *testing.T, source string) string {
	t.Helper()
	m := quotedAddress.FindStringSubmatch(source)
	if m == nil {
		t.Fatalf("no URL in %q", source)
	}
	return m[1]
}

// singleExamples returns one query string for each query parameter of an operation, with the
// parameter's example, the required parameters and, for a volume bound, its unit. It omits the
// "fields" parameter, because responses with selected fields lack others that the schema requires.
func singleExamples(op answer) (queries []string) {
	examples, required := url.Values{}, url.Values{}
	parameters, _ := op.at("parameters").([]any)
	for _, p := range parameters {
		p := p.(map[string]any)
		if p["in"] != "query" || strings.Contains(p["description"].(string), "placeholder") {
			continue
		}
		value := fmt.Sprint(p["example"])
		if values, ok := p["example"].([]any); ok {
			words := make([]string, len(values))
			for i, v := range values {
				words[i] = fmt.Sprint(v)
			}
			value = strings.Join(words, ",")
		}
		examples.Set(p["name"].(string), value)
		if p["required"] == true {
			required.Set(p["name"].(string), value)
		}
	}
	examples.Del("fields")
	for name := range examples {
		query := maps.Clone(required)
		query[name] = examples[name]
		if strings.HasPrefix(name, "volume_") {
			query["volume_unit"] = examples["volume_unit"]
		}
		queries = append(queries, query.Encode())
	}
	return queries
}

// checkSent sends the POST request in a curl line and checks that it creates a record or counts
// labels.
func checkSent(t *testing.T, s *serverProcess, source string) {
	t.Helper()
	_, rest, _ := strings.Cut(source, "-d '")
	body, _, ok := strings.Cut(rest, "'")
	if !ok {
		t.Fatalf("no body in %q", source)
	}
	switch address := pasted(t, source); address {
	case s.base + "/saved-searches":
		got := s.create(t, s.key, body)
		if uuid, _ := got.at("data", "uuid").(string); got.StatusCode != http.StatusCreated || uuid == "" ||
			!strings.HasSuffix(got.Header.Get("Location"), "/"+uuid) {
			t.Errorf("%s: status %d, want 201 with the Location of the search: %.300s", source, got.StatusCode, got.body)
		}
	case s.base + "/destinations":
		got := s.rest(t, http.MethodPost, "/destinations", s.key, body)
		if secret, _ := got.at("data", "secret").(string); got.StatusCode != http.StatusCreated ||
			!strings.HasPrefix(secret, "whsec_") {
			t.Errorf("%s: status %d, want 201 with a secret: %.300s", source, got.StatusCode, got.body)
		}
	case s.base + "/saved-searches/preview":
		if got := s.rest(t, http.MethodPost, "/saved-searches/preview", s.key, body); got.StatusCode != http.StatusOK ||
			got.at("data", "total") == 0. {
			t.Errorf("%s: status %d, want 200 with labels: %.300s", source, got.StatusCode, got.body)
		}
	default:
		t.Errorf("%s: unexpected URL %s", source, address)
	}
}

// checkFound requests a URL and checks that it succeeds and that a list is not empty.
func checkFound(t *testing.T, s *serverProcess, address string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", s.key)
	got := do(t, req)
	if rows, isList := got.at("data").([]any); got.StatusCode != http.StatusOK || isList && len(rows) == 0 {
		t.Errorf("%s: status %d, want 200 with records: %.200s", address, got.StatusCode, got.body)
	}
}
