package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// TestGoldenTools compares tools.md with the tool table. Its responses are those of the example
// calls over a few records.
func TestGoldenTools(t *testing.T) {
	var b strings.Builder
	fmt.Fprint(&b, toolsIntroduction)
	for _, one := range tools() {
		writeTool(t, &b, mustServe(t, newFake(), io.Discard), &one)
	}
	h := mustServe(t, newFake(), io.Discard)
	writeResources(t, &b, h)
	writePrompts(t, &b, h)
	checkGolden(t, "../tools.md", []byte(b.String()))
}

const toolsIntroduction = `# Tools

What assistants find at ` + "`/mcp`" + `, written by ` + "`make generate`" + ` from the table of tools. The answers are those of the example calls over a few
records in the shape of the demonstration data. [Assistants](docs/ASSISTANTS.md) explains how to connect one.

- Every call counts as one request toward the account's rate limit, like a request of the REST API. Connecting and listing do not.
- Arguments have the names of the REST API. An unknown one is an error that names the nearest; all problems are reported at once.
- Arguments may come as another JSON type: a number for a string, a string for a number or boolean, one value for an array. Null means absent.
- ` + "`response_format`" + `, where a tool has it, is ` + "`concise`" + ` (without unknown and rarely needed fields) or ` + "`detailed`" + `. No answer exceeds 25,000 tokens: a longer
  one is cut before it is charged, and says so.
- An answer has ` + "`notes`" + ` (remarks by this service), ` + "`data`" + ` (records; their texts are third parties'), and ` + "`charged`" + ` where it cost quota. It comes as structured
  content and as the same in text.
- A failed call is a result with ` + "`isError`" + `: the error envelope of the REST API, and a sentence on what to do. Missing or invalid credentials are HTTP 401.
`

func writeTool(t *testing.T, b *strings.Builder, h http.Handler, one *tool) {
	fmt.Fprintf(b, "\n## %s\n\n**%s.** %s\n\nCost: %s\n", one.name, one.title, one.description, one.cost)
	if len(one.input) > 0 {
		fmt.Fprint(b, "\n| argument | type | |\n|---|---|---|\n")
	}
	writeArguments(b, "", one.input)
	got := call(t, h, one.name, one.example)
	if got.failed {
		t.Errorf("the example of %s fails: %s", one.name, got.texts[0])
	}
	fmt.Fprintf(b, "\n```json\n{\"name\": \"%s\", \"arguments\": %s}\n```\n\nanswers\n\n```json\n%s\n```\n", one.name, one.example, indented(t, got.texts[0]))
}

func writeArguments(b *strings.Builder, prefix string, all []argument) {
	for _, a := range all {
		fmt.Fprintf(b, "| `%s`%s | %s | %s |\n", prefix+a.name, map[bool]string{true: " (required)"}[a.required], typeOf(a.schema), cell(a.schema.Description))
		writeArguments(b, prefix+a.name+".", a.members)
	}
}

// typeOf describes the type of an argument in a few words.
func typeOf(s *huma.Schema) string {
	words := s.Type
	if s.Type == huma.TypeArray {
		words, s = "array of "+s.Items.Type, &huma.Schema{Enum: s.Items.Enum}
	}
	if s.Format == "date" {
		words = "date"
	}
	for _, w := range s.Enum {
		words += fmt.Sprintf(", `%v`", w)
	}
	if s.Minimum != nil && s.Maximum != nil {
		words += fmt.Sprintf(", %v to %v", *s.Minimum, *s.Maximum)
	} else if s.Minimum != nil {
		words += fmt.Sprintf(", at least %v", *s.Minimum)
	}
	if s.Default != nil {
		words += fmt.Sprintf("; default `%v`", s.Default)
	}
	return words
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func indented(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(s), "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func writeResources(t *testing.T, b *strings.Builder, h http.Handler) {
	t.Helper()
	fmt.Fprint(b, "\n## Resources\n\n| resource | |\n|---|---|\n")
	for _, r := range rpc(t, h, "resources/list", "{}").json.Result["resources"].([]any) {
		one := r.(map[string]any)
		fmt.Fprintf(b, "| `%v` | %v |\n", one["uri"], one["description"])
	}
	for _, r := range rpc(t, h, "resources/templates/list", "{}").json.Result["resourceTemplates"].([]any) {
		one := r.(map[string]any)
		fmt.Fprintf(b, "| `%v` | %v |\n", one["uriTemplate"], one["description"])
	}
}

func writePrompts(t *testing.T, b *strings.Builder, h http.Handler) {
	t.Helper()
	fmt.Fprint(b, "\n## Prompts\n\n| prompt | arguments | |\n|---|---|---|\n")
	for _, p := range rpc(t, h, "prompts/list", "{}").json.Result["prompts"].([]any) {
		one := p.(map[string]any)
		var arguments []string
		for _, a := range one["arguments"].([]any) {
			a := a.(map[string]any)
			word := fmt.Sprintf("`%v`", a["name"])
			if a["required"] == true {
				word += " (required)"
			}
			arguments = append(arguments, word)
		}
		fmt.Fprintf(b, "| `%v` | %s | %v |\n", one["name"], strings.Join(arguments, ", "), one["description"])
	}
}
