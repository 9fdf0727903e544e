package httpapi

import (
	"html"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
)

// TestReferencePage checks that the page shows every operation, parameter, object, field
// and cost in the description.
func TestReferencePage(t *testing.T) {
	doc := describe(operations(newFake()), "https://registry.example")
	page := html.UnescapeString(mustRead(t, send(t, mustServe(t, newFake(), io.Discard), "GET", "/docs")))
	want := []string{"http://127.0.0.1:8080/api/v1", "1,000,000", "upgrade_url", "Retry-After", `id="plans"`, "plain text", "placeholder for <code>ttb_id</code>", "curl -X DELETE", "No body.",
		"<code>schedule.day</code><span>integer, 0 to 28, or null</span>"}
	for _, op := range doc.operations {
		want = append(want, op.path, `<span class="method">`+op.method, op.Summary, `id="`+op.OperationID+`"`, `href="#`+op.OperationID+`"`)
		for _, p := range op.Parameters {
			want = append(want, "<code>"+p.Name+"</code>", p.Description)
		}
	}
	for _, f := range cola.FieldsOf[cola.SavedSearchFilters]() {
		want = append(want, "<code>filters."+f.Name+"</code>")
	}
	want = append(want, "<code>name</code><span>string, up to 200 characters, required</span>", "<code>schedule.cadence</code>", "<code>schedule</code><span><a href=\"#ScheduleRequest\">object</a></span>")
	for _, op := range operations(newFake()) {
		want = append(want, op.Cost)
	}
	for name, schema := range doc.Components.Schemas.Map() {
		want = append(want, `id="`+name+`"`)
		for field, property := range schema.Properties {
			want = append(want, "<code>"+field+"</code>", property.Description)
		}
	}
	for name := range doc.Components.Headers {
		want = append(want, "<code>"+name+"</code>")
	}
	for _, text := range want {
		if !strings.Contains(page, text) {
			t.Errorf("page does not contain %q", text)
		}
	}
}

func TestReferenceLinks(t *testing.T) {
	page := mustRead(t, send(t, mustServe(t, newFake(), io.Discard), "GET", "/docs"))
	ids := map[string]int{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		ids[id[1]]++
		if ids[id[1]] > 1 {
			t.Errorf("duplicate element ID %s", id[1])
		}
	}
	links := regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(links) < 30 {
		t.Errorf("page has %d links, want at least 30", len(links))
	}
	for _, link := range links {
		if ids[link[1]] == 0 {
			t.Errorf("link #%s has no target", link[1])
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "ZgotmplZ") {
		t.Error("page has a script or a value rejected by the template")
	}
}

func TestMarkup(t *testing.T) {
	tests := map[string]string{
		"plain":                  "<p>plain</p>",
		"one\n\ntwo":             "<p>one</p><p>two</p>",
		"a `b` and **c**":        "<p>a <code>b</code> and <strong>c</strong></p>",
		"<script> & `<i>`":       "<p>&lt;script&gt; &amp; <code>&lt;i&gt;</code></p>",
		"lone ` and ** are kept": "<p>lone ` and ** are kept</p>",
	}
	for in, want := range tests {
		if got := string(markup(in)); got != want {
			t.Errorf("markup(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 10000: "10,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestTypeOf(t *testing.T) {
	low, high, length := 0.0, 100.5, 200
	tests := []struct {
		schema      huma.Schema
		words, link string
	}{
		{huma.Schema{Type: "string"}, "string", ""},
		{huma.Schema{Type: "string", Format: "date"}, "date", ""},
		{huma.Schema{Type: "string", MaxLength: &length}, "string, up to 200 characters", ""},
		{huma.Schema{Type: "number", Minimum: &low}, "number, at least 0", ""},
		{huma.Schema{Type: "number", Maximum: &high}, "number, at most 100.5", ""},
		{huma.Schema{Type: "integer", Minimum: &low, Maximum: &high}, "integer, 0 to 100.5", ""},
		{huma.Schema{Ref: schemaPrefix + "Image"}, "Image", "Image"},
		{huma.Schema{Type: "array", MaxItems: &length, Items: &huma.Schema{Ref: schemaPrefix + "Image"}}, "array of Image, at most 200", "Image"},
	}
	for _, tt := range tests {
		if words, link := typeOf(&tt.schema); words != tt.words || link != tt.link {
			t.Errorf("typeOf(%+v) = %q, %q; want %q, %q", tt.schema, words, link, tt.words, tt.link)
		}
	}
}

// TestSampleFieldOrder compares the first and last fields of the generated examples with
// encoding/json.
func TestSampleFieldOrder(t *testing.T) {
	s := newComponents()
	for _, op := range operations(newFake()) {
		if op.Response == nil {
			continue
		}
		empty := reflect.New(op.Response).Elem().Interface()
		if got, want := memberNames(t, s.Sample(s.Of(op.Response))), memberNames(t, empty); !isSubsequence(want, got) {
			t.Errorf("%s: response fields = %q, example fields = %q", op.ID, want, got)
		}
	}
}

// memberNames lists the member names in a JSON text, in order. Empty arrays and objects contribute
// no names.
func memberNames(t *testing.T, v any) (names []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`"([a-z_]+)":`).FindAllSubmatch(mustEncode(t, v), -1) {
		names = append(names, string(m[1]))
	}
	return names
}

func isSubsequence(part, whole []string) bool {
	for _, name := range whole {
		if len(part) > 0 && part[0] == name {
			part = part[1:]
		}
	}
	return len(part) == 0
}
