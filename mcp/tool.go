package mcp

import (
	"context"
	"encoding/json"
	"slices"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

// tool is one tool: the row that offers it, describes it and runs it.
type tool struct {
	name        string
	title       string
	description string // what it answers, when to use it, what comes next
	cost        string
	meter       cola.Meter
	scope       cola.Scope // that the caller needs; empty: none
	required    []string   // arguments
	writes      bool       // it makes something; else it only reads
	settles     bool       // the service tells which arguments are missing
	defaults    map[string]any
	output      schema // of the structured content
	notFound    string // hint for a record that is not there: what finds one
	example     string // arguments of an example call, as JSON

	input []argument // in the order of the parameters; set by newTool
	run   func(ctx context.Context, svc Service, x *exchange) (answer, cola.QuotaState, error)
}

// free is the cost of what no quota pays for.
const free = "Free of quota; counts as one request of the minute."

// newTool completes a tool whose arguments are read into a P. ask gets them with whatever is wrong noted in their Problems,
// missing ones included, and lets the service refuse them so that all problems are told at once.
func newTool[P any](t tool, ask func(ctx context.Context, svc Service, c cola.Caller, p P) (answer, cola.QuotaState, error)) tool {
	reader := params.New[P]("this tool")
	t.input = inputOf[P](&t)
	t.run = func(ctx context.Context, svc Service, x *exchange) (answer, cola.QuotaState, error) {
		values, problems := x.values(reader)
		for _, name := range t.required {
			if !t.settles && !given(values, name) && problems[name] == nil {
				problems.Add(name, "It is required.")
			}
		}
		ans, state, err := ask(ctx, svc, x.caller, reader.Read(values, problems))
		ans.charge(t.meter, state)
		return ans, state, err
	}
	return t
}

func given(values []params.Value, name string) bool {
	for _, v := range values {
		if v.Name == name && v.Text != "" {
			return true
		}
	}
	return false
}

// describe makes the tool's entry in the list of tools.
func (t *tool) describe() protocol.Tool {
	no, reads := false, !t.writes
	return protocol.Tool{
		Name:            t.name,
		Title:           t.title,
		Description:     t.description + "\n\nCost: " + t.cost,
		RawInputSchema:  t.inputSchema(),
		RawOutputSchema: json.RawMessage(t.output.bytes()),
		Annotations: protocol.ToolAnnotation{
			Title: t.title, ReadOnlyHint: &reads, DestructiveHint: &no, OpenWorldHint: &no,
			IdempotentHint: &reads, // what writes takes a call that comes again for the same one for some minutes only
		},
	}
}

// formatted are the arguments of a tool whose answer comes in two sizes.
type formatted struct {
	ResponseFormat string `json:"response_format" enum:"concise,detailed" default:"concise" doc:"concise leaves out what is unknown and what is rarely needed; detailed has every field." example:"concise"`
}

var formats = []string{"concise", "detailed"}

// detailed tells the size that was asked for, noting a problem with it.
func (f formatted) detailed(problems *cola.Problems) bool {
	return problems.Choice("response_format", f.ResponseFormat, formats) == formats[1]
}

// perPage is how many records a page has unless told otherwise: fewer than in REST, as an assistant reads all of them.
const perPage = 10

func pageSize(asked cola.Opt[int]) cola.Opt[int] { return cola.Some(asked.Or(perPage)) }

// tools is every tool, in the order of the documentation.
func tools() []tool {
	return slices.Concat(
		colaTools(), barcodeTools(), permitteeTools(), usageTools(), savedSearchTools(), processingTimeTools(), productionReportTools(), avaTools(),
	)
}
