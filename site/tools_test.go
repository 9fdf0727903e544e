package site

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/colaregistry/colaregistry/mcp"
)

// TestTools checks that the tool pages contain every tool with its arguments, cost, example call,
// result and errors, that former links to /docs/tools still lead to the tool, and that there are no
// notes for contributors.
func TestTools(t *testing.T) {
	s := newTestServer()
	pages, n := mustParseAll(t, s), 0
	overview := pages[toolsPath]
	if strings.Contains(shownText(overview.Node), "make generate") || overview.ids["resources"] == nil || overview.ids["prompts"] == nil {
		t.Error("overview contains notes for contributors, or lacks resources or prompts")
	}
	for _, section := range mcp.ToolSections() {
		page := pages[toolsPath+"/"+section.Anchor]
		for _, tool := range section.Tools {
			n++
			if overview.ids[strings.ReplaceAll(tool.Name, "_", "-")] == nil || page.ids[tool.Name] == nil {
				t.Errorf("%s is missing", tool.Name)
				continue
			}
			for _, a := range tool.Arguments {
				if shown := page.ids[tool.Name+"."+a.Name]; shown == nil || !strings.Contains(shownText(shown), strings.Join(strings.Fields(a.Schema.Description), " ")) {
					t.Errorf("%s: no argument %s", tool.Name, a.Name)
				}
			}
			text := shownText(page.ids[tool.Name])
			for _, want := range []string{tool.Cost[1:], publicURL + tool.Path, `"method":"tools/call"`, `"data":`, "401", "429"} {
				if !strings.Contains(text, want) && !(section.Anchor == "chatgpt" && want == `"data":`) {
					t.Errorf("%s lacks %q", tool.Name, want)
				}
			}
		}
	}
	if n < 19 {
		t.Errorf("%d tools, want at least 19", n)
	}
}

// TestTryTools checks that read-only tools have a form with the arguments of the example call, that
// those arguments produce the printed samples, and that tools that write have no samples for other
// arguments.
func TestTryTools(t *testing.T) {
	s := newTestServer()
	h, pages, tried := s.routes(), mustParseAll(t, s), 0
	get := func(tool, arguments string) (status int, all []string) {
		resp := send(h, "GET", "/docs/samples/"+tool+"?"+url.Values{"arguments": {arguments}}.Encode())
		return resp.StatusCode, sources(mustParse(t, tool, []byte(mustRead(t, resp))).Node)
	}
	for _, section := range mcp.ToolSections() {
		for _, tool := range section.Tools {
			shown := pages[toolsPath+"/"+section.Anchor].ids[tool.Name]
			form := tryForm(shown)
			if (form != nil) != tool.ReadOnly {
				t.Errorf("%s can be tried: %t, want %t", tool.Name, form != nil, tool.ReadOnly)
			}
			if form == nil {
				if status, _ := get(tool.Name, tool.Example); status != http.StatusNotFound {
					t.Errorf("%s: status %d, want 404", tool.Name, status)
				}
				continue
			}
			tried++
			if got := attr(form, "data-endpoint"); got != tool.Path {
				t.Errorf("%s: endpoint %q, want %q", tool.Name, got, tool.Path)
			}
			if n := len(fieldValues(form)); n != len(tool.Arguments) {
				t.Errorf("%s: %d fields for %d arguments", tool.Name, n, len(tool.Arguments))
			}
			status, got := get(tool.Name, formArguments(t, form))
			if diff := cmp.Diff(sources(shown)[:2], got); status != http.StatusOK || diff != "" {
				t.Errorf("%s: status %d, samples (-printed +for the form):\n%s", tool.Name, status, diff)
			}
		}
	}
	if tried < 15 {
		t.Errorf("%d tools can be tried", tried)
	}
	for _, arguments := range []string{"", "[]", `{"q":`} {
		if status, _ := get("search_colas", arguments); status != http.StatusNotFound {
			t.Errorf("arguments %q: status %d, want 404", arguments, status)
		}
	}
	if status, all := get("search_colas", "{\"q\":\"\xff\"}"); status != http.StatusOK || !strings.Contains(all[0], "\"q\": \"\uFFFD\"") {
		t.Errorf("invalid UTF-8: status %d, samples %q", status, all)
	}
}

// formArguments returns the arguments that the reference sends for a form, in the order of its
// fields.
func formArguments(t *testing.T, form *html.Node) string {
	t.Helper()
	var members []string
	values := fieldValues(form)
	for n := range form.Descendants() {
		name := attr(n, "name")
		var value any = values[name]
		switch kind := attr(n, "data-type"); {
		case values[name] == "":
			continue
		case kind == "array":
			value = strings.Split(values[name], ",")
		case kind != "":
			value = json.RawMessage(values[name])
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, fmt.Sprintf("%q:%s", name, text))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// TestToolRecords checks that example calls use the records' IDs, and otherwise placeholders.
func TestToolRecords(t *testing.T) {
	records := map[string]string{"ttb_id": "26266001000016", "permit_number": `A"1`}
	for _, tt := range []struct {
		arguments, want string
		placeholders    int
	}{
		{`{"ttb_id":"1"}`, `{"ttb_id":"26266001000016"}`, 0},
		{`{"id":"1"}`, `{"id":"26266001000016"}`, 0},
		{`{"permit_number":"1"}`, `{"permit_number":"A\"1"}`, 0},
		{`{"barcode_value":"1"}`, `{"barcode_value":"1"}`, 1},
		{`{"uuid":"1","schedule":{}}`, `{"uuid":"1","schedule":{}}`, 1},
		{`{}`, `{}`, 0},
	} {
		if got, placeholders := withRecords(tt.arguments, records); got != tt.want || len(placeholders) != tt.placeholders {
			t.Errorf("%s: %s, %v", tt.arguments, got, placeholders)
		}
	}
}

// TestToolCallQuoting runs the curl example of a tool in a shell, with an ID that contains shell
// syntax.
func TestToolCallQuoting(t *testing.T) {
	const permit = `A'; echo injected; 'B $HOME "C"`
	for _, section := range newTestServer().toolSections(t.Context(), map[string]string{"permit_number": permit}) {
		for _, op := range section.Operations {
			if op.ID != "get_permittee" {
				continue
			}
			script := `curl() { while [ "$1" != -d ]; do shift; done; printf %s "$2"; }` + "\n" + op.Samples[1].Source
			out, err := exec.CommandContext(t.Context(), "sh", "-c", script).Output()
			if err != nil {
				t.Fatal(err)
			}
			var body struct {
				Params struct {
					Arguments struct {
						Permit string `json:"permit_number"`
					} `json:"arguments"`
				} `json:"params"`
			}
			if err := json.Unmarshal(out, &body); err != nil || body.Params.Arguments.Permit != permit {
				t.Errorf("command sends %s: %v", out, err)
			}
			return
		}
	}
	t.Error("no get_permittee")
}
