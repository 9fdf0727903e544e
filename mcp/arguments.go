package mcp

import (
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// flattener makes text of JSON; a params.Reader does.
type flattener interface {
	Values(members []strictjson.Member) ([]params.Value, cola.Problems)
}

// values turns the arguments of a call into text, with what is wrong with them as JSON.
func (m *message) values(f flattener) (values []params.Value, problems cola.Problems) {
	if m.malformed {
		problems.Add("arguments", "They are no object; send them by name, such as {\"q\": \"oak\"}.")
		return nil, problems
	}
	return f.Values(m.arguments)
}
