package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/format"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/registry"
)

// exampleCall is an example call of an operation. The key is in the environment variable API_KEY.
type exampleCall struct {
	method, query, body string
	server, path        string // scheme and host; path with example values
	status              int    // response status

	template     string            // path with variable parts
	params       []pathParam       // the variable parts
	values       map[string]string // values of the variable parts, by name
	placeholders []Placeholder     // placeholders in the body
}

func newExampleCall(publicURL string, op *operation) exampleCall {
	c := exampleCall{
		method: op.method(), template: basePath + op.Path, params: op.pathParams(), query: op.Sample,
		server: cmp.Or(publicURL, defaultURL), status: op.success(),
	}
	if op.Body != nil {
		c.body = string(mustEncodeJSON(op.Body.Example))
		c.placeholders = op.Body.Placeholders
	}
	c, _ = c.with(nil)
	return c
}

// with returns the call with the given path parameter values, by name. It also returns the
// remaining placeholders. Parameters without a value keep their examples.
func (c exampleCall) with(values map[string]string) (exampleCall, []Placeholder) {
	placeholders := slices.Clone(c.placeholders)
	c.path, c.values = c.template, map[string]string{}
	for i, p := range c.params {
		value, known := values[p.Name]
		if !known {
			value = p.Example
			if p.Placeholder {
				placeholders = slices.Insert(placeholders, min(i, len(placeholders)), Placeholder{p.Name, p.Example})
			}
		}
		c.values[p.Name] = value
		c.path = strings.Replace(c.path, "{"+p.Name+"}", pathEscape(value), 1)
	}
	return c, placeholders
}

// pathEscape is url.PathEscape, except that it also escapes the dollar sign, which shells expand.
func pathEscape(value string) string { return strings.ReplaceAll(url.PathEscape(value), "$", "%24") }

// queryEscape is url.QueryEscape, except that it keeps commas readable.
func queryEscape(value string) string { return withCommas(url.QueryEscape(value)) }

// withCommas unescapes the commas in a query.
func withCommas(query string) string { return strings.ReplaceAll(query, "%2C", ",") }

// target returns the path and query.
func (c exampleCall) target() string {
	if c.query == "" {
		return c.path
	}
	return c.path + "?" + c.query
}

// queryParams returns the decoded query parameters, in order.
func (c exampleCall) queryParams() (params [][2]string) {
	for part := range strings.SplitSeq(c.query, "&") {
		name, value, ok := strings.Cut(part, "=")
		if value, err := url.QueryUnescape(value); ok && err == nil {
			params = append(params, [2]string{name, value})
		}
	}
	return params
}

// samples returns the call in several languages. Each is a complete program that prints the
// response's data, or fails with the error.
func (c exampleCall) samples() []Sample {
	return []Sample{
		{"curl", c.curl()}, {"Python", c.python()}, {"JavaScript", c.javaScript()}, {"Go", c.golang()},
	}
}

func (c exampleCall) curl() string {
	call := "curl "
	if c.method != http.MethodGet && (c.method != http.MethodPost || c.body == "") { // a body makes it a POST
		call += "-X " + c.method + " "
	}
	call += "-H \"X-API-Key: $API_KEY\""
	if c.body != "" {
		call += " -H \"Content-Type: application/json\" \\\n  -d '" + c.indentedBody("  ", "  ") + "'"
	}
	return call + " \\\n  \"" + c.server + c.target() + "\""
}

func (c exampleCall) python() string {
	lines := []string{
		"import os", "import requests  # pip install requests", "",
		"response = requests." + strings.ToLower(c.method) + "(",
		"    \"" + c.server + c.path + "\",",
		"    headers={\"X-API-Key\": os.environ[\"API_KEY\"]},",
	}
	if params := c.queryParams(); params != nil {
		lines = append(lines, "    "+literal("params={", members(params, strconv.Quote, strconv.Quote), "},", "    ", "    "))
	}
	if c.body != "" {
		lines = append(lines, "    json="+pythonLiteral.Replace(c.indentedBody("    ", "    "))+",")
	}
	lines = append(lines, "    timeout=30,", ")", "if not response.ok:", "    raise SystemExit(response.text)")
	if c.status != http.StatusNoContent {
		lines = append(lines, "print(response.json()[\"data\"])")
	}
	return strings.Join(lines, "\n")
}

// pythonLiteral replaces JSON constants with Python's. Strings in example bodies don't contain
// these words.
var pythonLiteral = strings.NewReplacer("true", "True", "false", "False", "null", "None")

// maxSampleLine is the maximum length of a line in a sample, in characters. Longer calls and
// literals take several lines.
const maxSampleLine = 60

// indentedBody returns the body. A long one is indented, and all but the first line start with a
// prefix.
func (c exampleCall) indentedBody(prefix, indent string) string {
	if len(c.body) <= maxSampleLine {
		return c.body
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(c.body), prefix, indent); err != nil {
		panic("httpapi: example body: " + err.Error()) // unreachable: it is encoded JSON
	}
	return b.String()
}

// members formats query parameters as the members of an object literal.
func members(params [][2]string, name, value func(string) string) (all []string) {
	for _, p := range params {
		all = append(all, name(p[0])+": "+value(p[1]))
	}
	return all
}

// literal returns an object literal with the given members, on one line if it is short. The opening
// and closing parts have the braces. Lines after the first start with a prefix.
func literal(opening string, members []string, closing, prefix, indent string) string {
	line := strings.TrimSpace(opening + strings.Join(members, ", ") + closing)
	if len(prefix+line) <= maxSampleLine {
		return line
	}
	separator := "\n" + prefix + indent
	return strings.TrimSpace(opening) + separator + strings.Join(members, ","+separator) + ",\n" + prefix + strings.TrimSpace(closing)
}

// javaScriptQuote returns a JavaScript string literal. Go's literals have escapes that JavaScript
// lacks.
func javaScriptQuote(s string) string { return string(mustEncodeJSON(s)) }

func (c exampleCall) javaScript() string {
	var lines []string
	target := "\"" + c.server + c.path + "\""
	if params := c.queryParams(); params != nil {
		query := members(params, func(name string) string { return name }, javaScriptQuote)
		lines = append(lines, literal("const query = new URLSearchParams({ ", query, " });", "", "  "))
		target = "`" + c.server + c.path + "?${query}`"
	}
	send := "const response = await fetch(" + target + ", {"
	if len(send) > maxSampleLine {
		lines = append(lines, "const url = "+target+";")
		send = "const response = await fetch(url, {"
	}
	lines = append(lines, send)
	headers := []string{"\"X-API-Key\": process.env.API_KEY"}
	if c.method != http.MethodGet {
		lines = append(lines, "  method: \""+c.method+"\",")
	}
	if c.body != "" {
		headers = append(headers, "\"Content-Type\": \"application/json\"")
	}
	lines = append(lines, "  "+literal("headers: { ", headers, " },", "  ", "  "))
	if c.body != "" {
		lines = append(lines, "  body: JSON.stringify("+c.indentedBody("  ", "  ")+"),")
	}
	lines = append(lines, "});", "if (!response.ok) throw new Error(await response.text());")
	if c.status != http.StatusNoContent {
		lines = append(lines, "const { data } = await response.json();", "console.log(data);")
	}
	return strings.Join(lines, "\n")
}

func (c exampleCall) golang() string {
	body, target, build := "nil", "\""+c.server+c.path+"\"", ""
	imports := []string{"io", "log", "net/http", "os"}
	if c.body != "" {
		body, imports = "body", append(imports, "strings")
		build = "\tbody := strings.NewReader(`" + c.indentedBody("", "  ") + "`)\n"
	}
	if params := c.queryParams(); params != nil {
		imports = slices.Insert(imports, 3, "net/url")
		values := members(params, strconv.Quote, func(value string) string { return "{" + strconv.Quote(value) + "}" })
		build += "\t" + literal("query := url.Values{", values, "}", "\t", "\t") + "\n"
		target = strings.TrimSuffix(target, "\"") + "?\"+query.Encode()"
	}
	request := "http.NewRequest(\"" + c.method + "\", " + target + ", " + body + ")"
	if len(request) > maxSampleLine {
		request = "http.NewRequest(\n\t\t\"" + c.method + "\",\n\t\t" + target + ",\n\t\t" + body + ",\n\t)"
	}
	var send strings.Builder
	send.WriteString(build + "\treq, err := " + request + "\n" + goFatal +
		"\treq.Header.Set(\"X-API-Key\", os.Getenv(\"API_KEY\"))\n")
	if c.body != "" {
		send.WriteString("\treq.Header.Set(\"Content-Type\", \"application/json\")\n")
	}
	send.WriteString("\tresp, err := http.DefaultClient.Do(req)\n" + goFatal + "\tdefer resp.Body.Close()\n" +
		"\tif resp.StatusCode != " + strconv.Itoa(c.status) + " {\n\t\tmessage, _ := io.ReadAll(resp.Body)\n\t\tlog.Fatalf(\"%s: %s\", resp.Status, message)\n\t}\n")
	if c.status != http.StatusNoContent {
		imports = append([]string{"encoding/json", "fmt"}, imports...)
		send.WriteString("\tvar result struct{ Data any }\n\tif err := json.NewDecoder(resp.Body).Decode(&result); err != nil {\n" +
			"\t\tlog.Fatal(err)\n\t}\n\tfmt.Println(result.Data)\n")
	}
	source := "package main\n\nimport (\n\t\"" + strings.Join(imports, "\"\n\t\"") + "\"\n)\n\nfunc main() {\n" + send.String() + "}"
	formatted, err := format.Source([]byte(source)) // aligns values
	if err != nil {
		return source
	}
	return string(formatted)
}

const goFatal = "\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n"

// WithRecords returns the reference with example calls for records in this registry. values holds
// path parameters by name. Their descriptions lose the note that the example is a placeholder.
// Parameters without a value, and those of an account's own records, keep their examples.
func (ref Reference) WithRecords(values map[string]string) Reference {
	ref.Sections = slices.Clone(ref.Sections)
	for i := range ref.Sections {
		section := &ref.Sections[i]
		section.Operations = slices.Clone(section.Operations)
		for j := range section.Operations {
			if op := &section.Operations[j]; op.Public {
				op.setCall(op.call.with(values))
				op.Parameters = withExamples(op.Parameters, values)
			}
		}
	}
	return ref
}

// withExamples returns parameters with the given values of path parameters as examples.
func withExamples(params []Field, values map[string]string) []Field {
	params = slices.Clone(params)
	for i := range params {
		f := &params[i]
		if value, ok := values[f.Name]; ok && f.Place == "path" {
			f.Example, f.Doc = value, strings.TrimSuffix(f.Doc, placeholderNote)
		}
	}
	return params
}

// WithParams returns the operation with samples for the given path and query parameters. Parameters
// of the example call come first. Unknown parameters are ignored, and path parameters without a
// value keep their examples.
func (op Operation) WithParams(values url.Values) Operation {
	c, path, query := op.call, map[string]string{}, []string{}
	examples := c.queryParams()
	position := func(f Field) int {
		if i := slices.IndexFunc(examples, func(p [2]string) bool { return p[0] == f.Name }); i >= 0 {
			return i
		}
		return len(examples)
	}
	byPosition := func(a, b Field) int { return position(a) - position(b) }
	for _, f := range slices.SortedStableFunc(slices.Values(op.Parameters), byPosition) {
		value := strings.ToValidUTF8(values.Get(f.Name), "\uFFFD")
		switch {
		case value == "":
		case f.Place == "path":
			path[f.Name] = value
		case f.Place == "query":
			query = append(query, f.Name+"="+queryEscape(value))
		}
	}
	c.query = strings.Join(query, "&")
	op.setCall(c.with(path))
	return op
}

// setCall sets the example call.
func (op *Operation) setCall(c exampleCall, placeholders []Placeholder) {
	op.call, op.Placeholders, op.Samples, op.ExamplePath = c, placeholders, c.samples(), c.target()
}

// Answers returns this registry's responses to the example call of a public operation, one per
// format. The call is free and not recorded; see registry.SampleCaller.
func (a *API) Answers(ctx context.Context, op *Operation) ([]Response, error) {
	i := slices.IndexFunc(a.api.ops, func(o operation) bool { return o.ID == op.ID && op.Public })
	if i < 0 {
		return nil, fmt.Errorf("httpapi: %s is not a public operation", op.ID)
	}
	route := chi.NewRouteContext()
	for name, value := range op.call.values {
		route.URLParams.Add(name, url.PathEscape(value))
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, chi.RouteCtxKey, route), http.MethodGet, op.ExamplePath, nil)
	if err != nil {
		return nil, err
	}
	res, _, err := a.api.ops[i].call(r, registry.SampleCaller())
	if err != nil {
		return nil, err
	}
	answers := slices.Clone(op.Responses)
	for i := range answers {
		if answers[i].Example, err = res.encoded(answers[i].MediaType); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// encoded returns the body of a result in a media type. JSON is indented.
func (res *result) encoded(mediaType string) (string, error) {
	appendTo := map[string]func([]byte) ([]byte, error){
		mediaCSV: res.list.rows.AppendCSV, mediaNDJSON: res.list.rows.AppendNDJSON,
	}[mediaType]
	if appendTo != nil {
		text, err := appendTo(nil)
		return string(text), err
	}
	text, err := res.body.appendJSON(nil)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = json.Indent(&b, text, "", "  ")
	return b.String(), err
}
