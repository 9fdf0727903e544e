package mcp

import (
	"context"
	"slices"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

// tool defines an MCP tool: its description, its arguments and the function that runs it.
type tool struct {
	name               string
	title              string
	description        string // result, purpose and follow-up tools
	cost               string
	meter              cola.Meter
	scope              cola.Scope // required scope; may be empty
	required           []string   // required arguments
	effect             effect
	serviceValidates   bool              // the service reports missing arguments
	describedElsewhere []string          // arguments whose members or values another tool lists
	undescribed        []string          // arguments and members that need no description here
	defaults           map[string]any    // argument defaults that differ from REST
	docs               map[string]string // argument and member descriptions that differ from REST
	output             object            // schema of the structured content; may be nil
	notFound           string            // hint for an unknown record: how to find one
	example            string            // arguments of an example call, as JSON

	input []argument // in the order of the parameters; set by newTool
	run   func(ctx context.Context, svc Service, req *request) (toolResult, cola.QuotaState, error)
}

// effect is the effect of a call on the account's data.
type effect int

const (
	reads   effect = iota
	creates        // a repeated call may create another record
	changes        // changes or deletes; repeating a call has no further effect
)

// free is the cost of calls that use no quota.
const free = "free; counts toward the rate limit."

// newTool completes a tool with arguments of type P. It passes the arguments to handle together
// with their problems, including missing arguments, so that the service reports all problems at
// once.
func newTool[P any](
	t tool, handle func(ctx context.Context, svc Service, c cola.Caller, p P) (toolResult, cola.QuotaState, error),
) tool {
	reader := params.New[P]("this tool")
	t.input = inputArguments[P](&t)
	t.run = func(ctx context.Context, svc Service, req *request) (toolResult, cola.QuotaState, error) {
		values, problems := req.values(reader)
		for _, name := range t.required {
			if !t.serviceValidates && !isGiven(values, name) && problems[name] == nil {
				problems.Add(name, "This argument is required.")
			}
		}
		caller := req.caller
		caller.Needs = t.scope // even if the arguments are invalid
		ans, state, err := handle(ctx, svc, caller, reader.Read(values, problems))
		ans.setCharge(t.meter, state)
		return ans, state, err
	}
	return t
}

func isGiven(values []params.Value, name string) bool {
	for _, v := range values {
		if v.Name == name && v.Text != "" {
			return true
		}
	}
	return false
}

// describe returns the tool's entry in the list of tools.
func (t *tool) describe() protocol.Tool {
	no, onlyReads, destroys := false, t.effect == reads, t.effect == changes
	var repeatable *bool // meaningless for a read-only tool
	if !onlyReads {
		repeatable = &destroys
	}
	listed := protocol.Tool{
		Name:           t.name,
		Description:    t.description + "\n\nCost: " + t.cost,
		RawInputSchema: t.inputSchema(),
		Annotations: protocol.ToolAnnotation{
			Title: t.title, ReadOnlyHint: &onlyReads, DestructiveHint: &destroys, IdempotentHint: repeatable,
			OpenWorldHint: &no,
		},
	}
	if t.output != nil {
		listed.RawOutputSchema = mustJSON(t.output)
	}
	return listed
}

// formatArgs are the arguments of a tool with two response formats.
type formatArgs struct {
	ResponseFormat string `json:"response_format" enum:"concise,detailed" default:"concise" doc:"detailed adds rare and empty fields." example:"concise"`
}

var responseFormats = []string{"concise", "detailed"}

// pageArguments select a page. Tools whose pages need no explanation leave them undescribed.
var pageArguments = []string{"page", "per_page"}

// detailed reports whether the detailed format was requested. It adds a problem for an unknown
// format.
func (f formatArgs) detailed(problems *cola.Problems) bool {
	return problems.Choice("response_format", f.ResponseFormat, responseFormats) == responseFormats[1]
}

// toolsAt returns the tools of an endpoint, in the order of the documentation.
func toolsAt(path string) []tool {
	switch path {
	case ReadOnlyPath:
		return slices.DeleteFunc(tools(), func(t tool) bool { return t.effect != reads })
	case ChatGPTPath:
		return append(tools(), chatGPTTools()...)
	}
	return tools()
}

// tools returns the tools at Path.
func tools() []tool {
	return slices.Concat(
		colaTools(), countTools(), brandTools(), barcodeTools(), permitteeTools(), suggestTools(), usageTools(),
		savedSearchTools(), processingTimeTools(), productionReportTools(), avaTools(),
	)
}
