package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// tool is an MCP tool as a client sees it.
type tool struct {
	Name        string `json:"name"`
	Annotations struct {
		ReadOnly bool `json:"readOnlyHint"`
	} `json:"annotations"`
	Input struct {
		Required   []string            `json:"required"`
		Properties map[string]property `json:"properties"`
	} `json:"inputSchema"`
	Output any `json:"outputSchema"`
}

type property struct {
	Enum  []any `json:"enum"`
	Items struct {
		Enum []any `json:"enum"`
	} `json:"items"`
}

type toolCall struct {
	Name      string         `json:"-"` // used in reports
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

// toolOutcome is the result of a call as decoded by a client.
type toolOutcome struct {
	Structured any    `json:"structured"`
	Error      string `json:"error"`
}

// operationsOf maps read tools to the REST operations with the same parameters.
var operationsOf = map[string][]string{
	"search_colas":            {"searchColas"},
	"count_labels":            {"countColas"},
	"get_cola":                {"getCola"},
	"lookup_barcode":          {"lookUpBarcode"},
	"check_brand":             {"searchBrands"},
	"search_permittees":       {"searchPermittees"},
	"get_permittee":           {"getPermittee"},
	"suggest_values":          {"suggestValues"},
	"get_usage":               {"getUsage"},
	"list_saved_searches":     {"listSavedSearches"},
	"get_processing_times":    {"listProcessingTimes", "listFormulaProcessingTimes", "listRegistrationProcessingTimes"},
	"list_production_reports": {"listProductionReports"},
	"search_avas":             {"listAVAs"},
	"get_ava":                 {"getAVA"},
	"search":                  {}, // see bench.known
	"fetch":                   {},
}

// companions maps arguments to other arguments that they require.
var companions = map[string]map[string]any{
	"volume_min":                            {"volume_unit": "milliliters"},
	"volume_max":                            {"volume_unit": "milliliters"},
	"get_processing_times formula_type":     {"kind": "formula"},
	"get_processing_times category":         {"kind": "registration"},
	"get_processing_times application_type": {"kind": "registration"},
}

// callsPerAccount is below an account's rate limit.
const callsPerAccount = 100

// callTools calls every read tool with every client.
func (b *bench) callTools(t *testing.T) {
	gosdk := filepath.Join(b.goDir, "bin", "gosdk")
	endpoint, key := b.URL+"/mcp/chatgpt", b.newKey("tools") // the endpoint with all tools
	remote, err := b.kit.Program("mcp-remote", "mcp-remote")
	if err != nil {
		t.Fatal(err)
	}
	tools := b.listTools(t, gosdk, endpoint, key)
	calls := b.toolCalls(t, tools)
	script := func(name string) func(string, string, string) *exec.Cmd {
		return func(key, calls, outcomes string) *exec.Cmd {
			return b.kit.Command(t.Context(), b.kit.Script(name), endpoint, key, calls, outcomes)
		}
	}
	for _, client := range []struct {
		name, account string
		command       func(key, calls, outcomes string) *exec.Cmd
	}{
		{"@langchain/mcp-adapters", "langchain", script("mcp-langchain.mjs")},
		{"@ai-sdk/mcp", "ai-sdk", script("mcp-ai-sdk.mjs")},
		{"@openai/agents", "openai-agents", script("mcp-openai-agents.mjs")},
		{"github.com/modelcontextprotocol/go-sdk", "go-sdk", func(key, calls, outcomes string) *exec.Cmd {
			return nodetest.Command(t.Context(), gosdk, "call", endpoint, key, calls, outcomes)
		}},
		{"mcp-remote", "mcp-remote", func(key, calls, outcomes string) *exec.Cmd {
			cmd := b.kit.Command(t.Context(), remote, endpoint,
				"--header", "X-API-Key:"+key, "--transport", "http-only", "--allow-http")
			stdio := b.kit.Command(t.Context(), "") // provides the environment
			stdio.Path, stdio.Args = gosdk, slices.Concat([]string{gosdk, "call", "-", key, calls, outcomes}, cmd.Args)
			return stdio
		}},
	} {
		t.Run(client.account, func(t *testing.T) {
			started := time.Now()
			var outcomes []toolOutcome
			for part := range slices.Chunk(calls, callsPerAccount) {
				account := fmt.Sprintf("%s-%d", client.account, len(outcomes))
				outcomes = append(outcomes, b.runCalls(t, part, b.newKey(account), client.command)...)
			}
			report(t, client.name, problems(t, tools, calls, outcomes))
			b.add(t, client.name, fmt.Sprintf("made %d calls to %d tools", len(calls), len(tools)), started)
		})
	}
}

// listTools returns the read tools, by name.
func (b *bench) listTools(t *testing.T, gosdk, endpoint, key string) map[string]tool {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tools.json")
	if _, err := nodetest.Succeed(nodetest.Command(t.Context(), gosdk, "tools", endpoint, key, file)); err != nil {
		t.Fatal(err)
	}
	var listed []tool
	readJSON(t, file, &listed)
	tools := map[string]tool{}
	for _, l := range listed {
		if l.Annotations.ReadOnly {
			tools[l.Name] = l
		}
	}
	if len(tools) < 10 {
		t.Fatalf("%d read tools, want at least 10: %v", len(tools), listed)
	}
	return tools
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// toolCalls returns calls to each tool: with its required arguments, then with each optional
// argument in turn, and with every value in the alternative forms that assistants send.
func (b *bench) toolCalls(t *testing.T, tools map[string]tool) (calls []toolCall) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		input := tools[name].Input
		required := map[string]any{}
		for _, argument := range input.Required {
			required[argument] = b.example(t, tools[name], argument)
		}
		calls = append(calls, toolCall{name, name, required})
		for _, argument := range slices.Sorted(maps.Keys(input.Properties)) {
			value := b.example(t, tools[name], argument)
			forms := map[string]any{"": value}
			maps.Copy(forms, otherForms(value))
			for _, form := range slices.Sorted(maps.Keys(forms)) {
				if form == "" && required[argument] != nil {
					continue // same as the first call
				}
				arguments := maps.Clone(required)
				maps.Copy(arguments, companions[argument])
				maps.Copy(arguments, companions[name+" "+argument])
				arguments[argument] = forms[form]
				calls = append(calls, toolCall{strings.TrimSpace(name + " " + argument + " " + form), name, arguments})
			}
		}
	}
	return calls
}

// example returns a value for an argument: a known existing value, or else the first one that its
// schema allows, or else the example of the corresponding REST parameter.
func (b *bench) example(t *testing.T, tl tool, argument string) any {
	t.Helper()
	if value, ok := b.known[argument]; ok {
		return value
	}
	p := tl.Input.Properties[argument]
	if len(p.Enum) > 0 {
		return p.Enum[0]
	}
	if len(p.Items.Enum) > 0 {
		return p.Items.Enum[:1]
	}
	operations := readOperations(t)
	for _, id := range operationsOf[tl.Name] {
		if example, ok := operations[id].examples[argument]; ok {
			return example
		}
	}
	t.Fatalf("no example for argument %s of %s; add its operation to operationsOf, or a value to bench.known",
		argument, tl.Name)
	return nil
}

// otherForms returns a value in the alternative forms that the MCP endpoint accepts.
func otherForms(value any) map[string]any {
	switch v := value.(type) {
	case float64:
		return map[string]any{"as text": plain(v)}
	case bool:
		return map[string]any{"as text": strconv.FormatBool(v)}
	case []any:
		return map[string]any{"as one value": v[0]}
	case string:
		if v == "true" {
			return map[string]any{"as boolean": true}
		}
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n < 1<<53 && plain(float64(n)) == v {
			return map[string]any{"as number": n}
		}
	}
	return nil
}

// runCalls makes calls with a client.
func (b *bench) runCalls(
	t *testing.T, calls []toolCall, key string, command func(key, calls, outcomes string) *exec.Cmd,
) (outcomes []toolOutcome) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "calls.json"), filepath.Join(dir, "outcomes.json")
	content, err := json.Marshal(calls)
	if err == nil {
		err = os.WriteFile(in, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nodetest.Succeed(command(key, in, out)); err != nil {
		t.Fatal(err)
	}
	readJSON(t, out, &outcomes)
	if len(outcomes) != len(calls) {
		t.Fatalf("%d outcomes for %d calls", len(outcomes), len(calls))
	}
	return outcomes
}

// problems returns the error from each call by name, or nil if it succeeded.
func problems(t *testing.T, tools map[string]tool, calls []toolCall, outcomes []toolOutcome) map[string]error {
	t.Helper()
	wrong := map[string]error{}
	for i, c := range calls {
		switch o := outcomes[i]; {
		case o.Error != "":
			wrong[c.Name] = fmt.Errorf("with %v: %s", c.Arguments, o.Error)
		case o.Structured == nil:
			wrong[c.Name] = fmt.Errorf("with %v: no structured content", c.Arguments)
		case tools[c.Tool].Output != nil:
			wrong[c.Name] = mustSchema(t, tools[c.Tool]).Validate(o.Structured)
		}
	}
	return wrong
}

func mustSchema(t *testing.T, tl tool) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", tl.Output); err != nil {
		t.Fatalf("output schema of %s: %v", tl.Name, err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatalf("output schema of %s: %v", tl.Name, err)
	}
	return schema
}

// TestExampleArguments checks that every argument of the read tools has an example value.
func TestExampleArguments(t *testing.T) {
	files, err := filepath.Glob("../../mcp/testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]tool{}
	for _, file := range files {
		var one tool
		readJSON(t, file, &one)
		if one.Annotations.ReadOnly {
			tools[one.Name] = one
		}
	}
	if len(tools) != len(operationsOf) {
		t.Errorf("%d read tools, %d in operationsOf", len(tools), len(operationsOf))
	}
	b := &bench{known: map[string]string{"cursor": "AQAB", "query": "oak", "id": "11054001000049"}}
	values := map[string]any{}
	for _, call := range b.toolCalls(t, tools) {
		for argument, value := range call.Arguments {
			if call.Name == call.Tool+" "+argument {
				values[call.Name] = value
			}
		}
	}
	for name, want := range map[string]any{
		"search_colas category": []any{"Beer"}, "get_processing_times category": "Alcohol", "search_avas state": "CA",
		"get_processing_times commodity": "Wine", "get_processing_times formula_type": "Formula Approval",
	} {
		if !reflect.DeepEqual(values[name], want) {
			t.Errorf("%s = %v, want %v", name, values[name], want)
		}
	}
}
