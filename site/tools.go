package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"

	"github.com/colaregistry/colaregistry"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/mcp"
)

// toolsFile is the generated list of tools. The pages show its introduction, its responses, the
// resources and the prompts; the rest comes from the tools themselves.
const toolsFile = "tools.md"

// toolOperations returns the REST API operation that each tool calls. The tool returns the same
// errors.
func toolOperations() map[string]string {
	return map[string]string{
		"search_colas": "searchColas", "get_cola": "getCola", "count_labels": "countColas", "check_brand": "searchBrands",
		"lookup_barcode": "lookUpBarcode", "suggest_values": "suggestValues", "search_permittees": "searchPermittees",
		"get_permittee": "getPermittee", "get_usage": "getUsage", "list_saved_searches": "listSavedSearches",
		"create_saved_search": "createSavedSearch", "update_saved_search": "changeSavedSearch",
		"delete_saved_search": "deleteSavedSearch", "get_processing_times": "listProcessingTimes",
		"list_production_reports": "listProductionReports", "search_avas": "listAVAs", "get_ava": "getAVA",
		"search": "searchColas", "fetch": "getCola",
	}
}

// toolsOverview is the data for the overview of the tools.
type toolsOverview struct {
	Intro, Rest template.HTML
	Sections    []httpapi.Section
}

// addTools adds an overview of the MCP tools and a page for each section.
func (s *server) addTools() {
	source, err := colaregistry.Docs.ReadFile(toolsFile)
	if err != nil {
		panic(err) // unreachable: the file is embedded
	}
	sections := s.toolSections(context.Background(), nil)
	intro, _, _ := bytes.Cut(source, []byte("\n## "))
	_, intro, _ = bytes.Cut(intro, []byte("\n- ")) // after the notes for contributors
	rest := source[bytes.Index(source, []byte("\n## Resources\n")):]
	m := s.renderMarkdown(toolsFile, rest)
	const description = "Tools, resources and prompts for AI assistants, with arguments, costs and example results."
	s.add(page{
		Title: areaTools, Path: toolsPath, Body: "tools", Headings: append([]heading{{"tools", "Tools", 2}}, m.headings...),
		Description: description,
		Data: toolsOverview{
			template.HTML(s.renderMarkdown(toolsFile, append([]byte("- "), intro...)).html), template.HTML(m.html), sections,
		},
	})
	s.search.add(entry{Area: areaTools, Page: areaTools, Title: areaTools, Path: toolsPath, text: description})
	for _, section := range m.sections {
		s.search.add(entry{
			Area: areaTools, Page: "Overview", Title: section.title, Path: toolsPath + "#" + section.id,
			text: section.text, code: section.code,
		})
	}
	s.addSections(toolsPath, sections)
	s.indexOperations(areaTools, toolsPath, sections)
}

// toolSections describes the tools in the same way as REST API operations. records has the values
// for the arguments of example calls.
func (s *server) toolSections(ctx context.Context, records map[string]string) (sections []httpapi.Section) {
	for _, group := range mcp.ToolSections() {
		section := httpapi.Section{Name: group.Name, Anchor: group.Anchor, Description: group.Description}
		for _, t := range group.Tools {
			section.Operations = append(section.Operations, s.toolOperation(ctx, t, records))
		}
		sections = append(sections, section)
	}
	return sections
}

func (s *server) toolOperation(ctx context.Context, t mcp.ToolDoc, records map[string]string) httpapi.Operation {
	op := httpapi.Operation{
		ID: t.Name, Path: t.Name, Summary: t.Title, ReadOnly: t.ReadOnly,
		Description: identifiers.ReplaceAllString(t.Description, "`$0`"), Cost: strings.ToUpper(t.Cost[:1]) + t.Cost[1:],
		Responses: []httpapi.Response{{Status: "Result", MediaType: "application/json", Example: toolResponse(t.Name)}},
	}
	for _, a := range t.Arguments {
		f := httpapi.NewField(a.Name, a.Schema)
		f.Required = a.Required
		op.Parameters = append(op.Parameters, f)
	}
	id := toolOperations()[t.Name]
	for _, section := range s.opts.Reference.Sections {
		for _, rest := range section.Operations {
			if rest.ID == id {
				op.Errors, op.Public = toolErrors(rest.Errors), rest.Public
			}
		}
	}
	arguments := s.answerTool(ctx, &op, t.Example, records)
	op.Samples, op.ExamplePath = s.toolSamples(t.Name, arguments), t.Name+"?"+argumentQuery(arguments)
	return op
}

// argumentQuery returns arguments as a query, with the text that a form's fields show for them.
func argumentQuery(arguments string) string {
	var all map[string]any
	if err := json.Unmarshal([]byte(arguments), &all); err != nil {
		panic("site: tool example: " + err.Error()) // unreachable: tests check the examples
	}
	query := url.Values{}
	for name, value := range all {
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, v := range list {
			query.Add(name, fmt.Sprint(v))
		}
	}
	return query.Encode()
}

// toolSamples returns samples for a call. arguments is a JSON object.
func (s *server) toolSamples(name, arguments string) []httpapi.Sample {
	call := fmt.Sprintf(`{"name": %q, "arguments": %s}`, name, arguments)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + call + `}`
	return []httpapi.Sample{
		{Language: "Arguments", Source: indented(call)},
		{Language: "curl", Source: "curl -H \"X-API-Key: $API_KEY\" -H \"Content-Type: application/json\" \\\n" +
			"  -H \"Accept: application/json, text/event-stream\" \\\n" +
			"  -d " + web.ShellQuote(body) + " \\\n  \"" + s.opts.PublicURL + s.tools[name].Path + "\""},
	}
}

// toolsByName returns the documentation of all tools, by name.
func toolsByName() map[string]mcp.ToolDoc {
	tools := map[string]mcp.ToolDoc{}
	for _, section := range mcp.ToolSections() {
		for _, t := range section.Tools {
			tools[t.Name] = t
		}
	}
	return tools
}

// answerTool replaces the example response of a tool that reads public records with this
// registry's, and returns the arguments of the call.
func (s *server) answerTool(ctx context.Context, op *httpapi.Operation, example string, records map[string]string) (arguments string) {
	arguments, op.Placeholders = withRecords(example, records)
	if s.opts.ToolAnswer == nil || records == nil || !op.Public || len(op.Placeholders) > 0 {
		return arguments
	}
	answer, err := s.opts.ToolAnswer(ctx, op.ID, arguments)
	if err != nil || isEmptyAnswer(string(answer)) {
		s.logUnanswered(op.ID, err)
		arguments, op.Placeholders = withRecords(example, nil)
		return arguments
	}
	op.Responses[0].Example = indented(string(answer))
	return arguments
}

// identifiers finds the names of tools, arguments and fields in descriptions, which are plain text.
var identifiers = regexp.MustCompile(`\b[a-z]+(?:[_.][a-z]+)+\b`)

// toolErrors returns an operation's errors except those about HTTP bodies and media types.
func toolErrors(all []httpapi.ErrorDoc) (errors []httpapi.ErrorDoc) {
	for _, e := range all {
		switch e.Status {
		case "304", "406", "408", "413", "415":
		default:
			errors = append(errors, e)
		}
	}
	return errors
}

// withRecords replaces IDs in the arguments of an example call, and returns the IDs that the reader
// must replace.
func withRecords(arguments string, records map[string]string) (string, []httpapi.Placeholder) {
	var all map[string]any
	if err := json.Unmarshal([]byte(arguments), &all); err != nil {
		panic("site: tool example: " + err.Error()) // unreachable: tests check the examples
	}
	var placeholders []httpapi.Placeholder
	for _, name := range []string{"uuid", "ttb_id", "id", "permit_number", "barcode_value"} {
		value, ok := all[name].(string)
		if !ok {
			continue
		}
		record := records[name]
		if name == "id" {
			record = records["ttb_id"]
		}
		if record == "" {
			placeholders = append(placeholders, httpapi.Placeholder{Name: name, Value: value})
			continue
		}
		quoted, _ := json.Marshal(record) // encoding a string can't fail
		arguments = strings.Replace(arguments, `"`+value+`"`, string(quoted), 1)
	}
	return arguments, placeholders
}

// toolResponse returns the result of a tool's example call in toolsFile.
func toolResponse(name string) string {
	source, _ := colaregistry.Docs.ReadFile(toolsFile)
	_, rest, _ := strings.Cut(string(source), "\n## "+name+"\n")
	_, rest, _ = strings.Cut(rest, "\nResponse:\n\n```json\n")
	response, _, ok := strings.Cut(rest, "\n```")
	if !ok {
		panic("site: no response for " + name + " in " + toolsFile)
	}
	return response
}

// indented indents JSON, which must be valid.
func indented(source string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(source), "", "  "); err != nil {
		panic("site: indent JSON: " + err.Error()) // unreachable: the sources are encoded JSON
	}
	return b.String()
}
