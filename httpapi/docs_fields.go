package httpapi

import (
	"encoding/json"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// newField describes a schema in words.
func newField(name string, schema *huma.Schema) fieldDoc {
	f := fieldDoc{Name: name, Doc: schema.Description, Nullable: schema.Nullable || len(schema.AnyOf) > 0, Default: plainText(schema.Default)}
	f.Type, f.Link = typeOf(schema)
	if len(schema.Examples) > 0 {
		f.Example = plainText(schema.Examples[0])
	}
	values := schema
	if schema.Items != nil {
		values = schema.Items
	}
	for _, v := range values.Enum {
		if v != nil {
			f.Allowed = append(f.Allowed, plainText(v))
		}
	}
	return f
}

// typeOf names the type of a schema with its bounds; link is the object it refers to, if any.
func typeOf(schema *huma.Schema) (words, link string) {
	switch {
	case len(schema.AnyOf) > 0: // an object or null
		return typeOf(schema.AnyOf[0])
	case schema.Ref != "":
		name := strings.TrimPrefix(schema.Ref, schemaPrefix)
		return name, name
	case schema.Type == huma.TypeArray:
		words, link = typeOf(schema.Items)
		words = "array of " + words
		if schema.MaxItems != nil {
			words += ", at most " + strconv.Itoa(*schema.MaxItems)
		}
		return words, link
	case schema.Format == "date":
		return "date", ""
	}
	return schema.Type + bounds(schema), ""
}

func bounds(s *huma.Schema) string {
	number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return ", " + number(s.Minimum) + " to " + number(s.Maximum)
	case s.Minimum != nil:
		return ", at least " + number(s.Minimum)
	case s.Maximum != nil:
		return ", at most " + number(s.Maximum)
	case s.MaxLength != nil:
		return ", up to " + strconv.Itoa(*s.MaxLength) + " characters"
	}
	return ""
}

// plainText shows an example or default as a person would write it in a request.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []string:
		return strings.Join(v, ",")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	boldSpan = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// markup turns the little CommonMark that descriptions use (paragraphs, code, bold) into HTML.
func markup(s string) template.HTML {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(s, "\n\n") {
		p := template.HTMLEscapeString(paragraph)
		p = codeSpan.ReplaceAllString(p, "<code>$1</code>")
		p = boldSpan.ReplaceAllString(p, "<strong>$1</strong>")
		b.WriteString("<p>" + p + "</p>")
	}
	return template.HTML(b.String()) // escaped above
}

// count writes a number with commas between thousands.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func anchor(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
