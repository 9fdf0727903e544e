package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
)

// answer is the answer of a tool.
type answer struct {
	notes   []string // sentences of ours, apart from the data
	data    []byte   // JSON, cleaned
	beside  []field  // members of ours that follow it
	charged *charged
}

// charged is what a call cost. Assistants do not see the quota headers.
type charged struct {
	Units     int        `json:"units"`
	Meter     cola.Meter `json:"meter"`     // the quota that was charged
	Remaining int        `json:"remaining"` // of that quota, this month
}

// note adds a sentence.
func (a *answer) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// put sets the data.
func (a *answer) put(data []byte) { a.data = clean(data) }

// add adds a member beside the data.
func (a *answer) add(name string, value any) { a.beside = append(a.beside, field{name, value}) }

// charge tells what was charged, where anything is.
func (a *answer) charge(m cola.Meter, state cola.QuotaState) {
	switch m {
	case cola.MeterDetailViews:
		a.charged = &charged{state.Charged, m, state.DetailViewsRemaining()}
	case cola.MeterListRecords:
		a.charged = &charged{state.Charged, m, state.ListRecordsRemaining()}
	}
}

// json assembles the structured content.
func (a *answer) json() json.RawMessage {
	o := object{}
	if len(a.notes) > 0 {
		o = append(o, field{"notes", a.notes})
	}
	o = append(append(o, field{"data", json.RawMessage(a.data)}), a.beside...)
	if a.charged != nil {
		o = append(o, field{"charged", a.charged})
	}
	return mustJSON(o)
}

// result is the answer as a tool's result: structured, and the same as text for clients that read no other.
func (a *answer) result() *protocol.CallToolResult {
	content := a.json()
	return &protocol.CallToolResult{
		Content:           []protocol.Content{protocol.TextContent{Type: protocol.ContentTypeText, Text: string(content)}},
		StructuredContent: content,
	}
}

// besideSchema describes members beside the data by their Go types.
func besideSchema(members ...field) (beside []field) {
	for _, m := range members {
		beside = append(beside, field{m.name, recordSchema([]reflect.Type{m.value.(reflect.Type)})})
	}
	return beside
}

// The types of what comes beside the data.
var (
	paginationMember = field{"pagination", reflect.TypeFor[cola.Pagination]()}
	defaultsMember   = field{"defaults_applied", reflect.TypeFor[cola.DefaultsApplied]()}
	metaMember       = field{"meta", reflect.TypeFor[cola.Meta]()}
	pageMetaMember   = field{"meta", reflect.TypeFor[cola.PageMeta]()}
	chargedMember    = field{"charged", reflect.TypeFor[charged]()}
)
