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

// TestGoldenTools compares tools.md with the tool table. The responses in tools.md are those of the
// example calls to a fake with a few records.
func TestGoldenTools(t *testing.T) {
	var b strings.Builder
	fmt.Fprint(&b, toolsIntroduction)
	for _, one := range toolsAt(ChatGPTPath) {
		writeTool(t, &b, at(ChatGPTPath, mustServe(t, newFake(), io.Discard)), &one)
	}
	h := mustServe(t, newFake(), io.Discard)
	writeResources(t, &b, h)
	writePrompts(t, &b, h)
	checkGolden(t, "../tools.md", []byte(b.String()))
}

const toolsIntroduction = `# Tools

This page documents the MCP tools at ` + "`/mcp`" + `. ` + "`make generate`" + ` writes it; the example responses come from a few
demo records. [Assistants](docs/ASSISTANTS.md) explains how to connect a client.

- Every call except ` + "`suggest_values`" + ` counts as one request toward the account's rate limit, like a REST API request. Connecting
  and listing tools don't count.
- Arguments have the same names as the REST parameters. For an unknown argument, the error suggests the closest name. All problems
  are reported at once.
- Some values of the wrong JSON type are converted: a number where a string is expected, a string where a number or boolean is
  expected, and a single value where an array is expected. Null means absent.
- ` + "`response_format`" + ` is ` + "`concise`" + ` (omits empty and rarely needed fields) or ` + "`detailed`" + `. Responses are limited to 25,000
  tokens: longer ones are truncated, only the returned records are charged, and a note says so.
- A result has ` + "`notes`" + ` (messages from this service), ` + "`data`" + ` (records, which contain third-party text) and, if the call used
  quota, ` + "`charged`" + `. It is returned as structured content and as the same JSON in a text block.
- A failed call returns a result with ` + "`isError`" + `, the REST API's error envelope, and a hint. Missing or invalid credentials return
  HTTP 401.
- ` + "`search` and `fetch`" + ` exist only at ` + "`/mcp/chatgpt`" + `. OpenAI defines their arguments and results.
`

func writeTool(t *testing.T, b *strings.Builder, h http.Handler, one *tool) {
	fmt.Fprintf(b, "\n## %s\n\n**%s.** %s\n\nCost: %s\n", one.name, one.title, one.description, one.cost)
	if len(one.input) > 0 {
		fmt.Fprint(b, "\n| Argument | Type | Description |\n|---|---|---|\n")
	}
	writeArguments(b, "", one.input)
	got := call(t, h, one.name, one.example)
	if got.failed {
		t.Errorf("example of %s fails: %s", one.name, got.texts[0])
	}
	fmt.Fprintf(b, "\n```json\n{\"name\": \"%s\", \"arguments\": %s}\n```\n\nResponse:\n\n```json\n%s\n```\n", one.name, one.example, indented(t, got.texts[0]))
}

func writeArguments(b *strings.Builder, prefix string, all []argument) {
	for _, a := range all {
		name := "`" + prefix + a.name + "`"
		if a.required {
			name += " (required)"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, typeOf(a.schema), cell(a.schema.Description))
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
	fmt.Fprint(b, "\n## Resources\n\n| resource | content |\n|---|---|\n")
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
	fmt.Fprint(b, "\n## Prompts\n\n| prompt | arguments | content |\n|---|---|---|\n")
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
