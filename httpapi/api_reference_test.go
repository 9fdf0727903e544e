package httpapi

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

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

// TestSampleFieldOrder checks that generated examples have the fields in the order of
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

// TestSampleLines checks that lines of the Python, JavaScript and Go samples are short, except for
// URLs.
func TestSampleLines(t *testing.T) {
	for _, section := range New(newFake(), nil, Options{}).Reference.Sections {
		for _, op := range section.Operations {
			for _, sample := range op.Samples[1:] {
				for line := range strings.Lines(sample.Source) {
					if len(line) > 80 && !strings.Contains(line, "http") {
						t.Errorf("the %s sample of %s has the line %s", sample.Language, op.ID, line)
					}
				}
			}
		}
	}
}
