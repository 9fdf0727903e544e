package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// kinds tells what the parameters of messages are: a text ('"') or an object ('{'). Those that are not named may be anything.
var kinds = map[string]byte{
	"name": '"', "uri": '"', "cursor": '"', "protocolVersion": '"', "requestState": '"',
	"ref": '{', "argument": '{', "context": '{', "capabilities": '{', "clientInfo": '{', "task": '{', "inputResponses": '{', "_meta": '{',
}

// The kinds of what is in the reference and in the argument of a completion.
var (
	referenceKinds = map[string]byte{"type": '"', "name": '"', "uri": '"'}
	argumentKinds  = map[string]byte{"name": '"', "value": '"'}
)

// checkKinds tells of the first member of an object that is not of its kind, here since mcp-go would tell of it in Go's words. null
// is nothing.
func checkKinds(what string, members []strictjson.Member, kinds map[string]byte) *rpcError {
	for _, m := range members {
		kind, known := kinds[m.Name]
		switch {
		case !known || m.Value[0] == kind || m.Value[0] == 'n':
		case kind == '"':
			return invalidParams("The %s in %s must be a text.", m.Name, what)
		default:
			return invalidParams("The %s in %s must be an object.", m.Name, what)
		}
	}
	return nil
}

// misdirected tells what a message with parameters of the right kinds asks for in vain: a further page of a list that has one, or the
// completion of nothing.
func (m *message) misdirected() *rpcError {
	switch m.method {
	case string(protocol.MethodToolsList), string(protocol.MethodResourcesList), string(protocol.MethodResourcesTemplatesList), string(protocol.MethodPromptsList):
		if m.cursor != "" {
			return invalidParams("There is no such page: the list has one, and gives out no cursor. Leave cursor out.")
		}
	case string(protocol.MethodCompletionComplete):
		return m.checkCompletion()
	}
	return nil
}

// The types of what has arguments to complete.
const (
	promptReference   = "ref/prompt"
	resourceReference = "ref/resource"
)

func (m *message) checkCompletion() *rpcError {
	reference, wrong := partsOf("ref", m.reference, referenceKinds, `{"type": "ref/prompt", "name": "brand_clearance"}`)
	if wrong != nil {
		return wrong
	}
	argument, wrong := partsOf("argument", m.completed, argumentKinds, `{"name": "class", "value": "red"}`)
	if wrong != nil {
		return wrong
	}
	types := []string{promptReference, resourceReference}
	if t, _ := strictjson.Text(strictjson.Find(reference, "type")); !slices.Contains(types, t) {
		return invalidParams("The type of ref is %s.", strings.Join(types, " or "))
	}
	if name, _ := strictjson.Text(strictjson.Find(argument, "name")); name == "" {
		return invalidParams("The argument has no name: there is nothing to complete.")
	}
	return nil
}

// partsOf returns the members of a parameter that must be there.
func partsOf(name string, value json.RawMessage, kinds map[string]byte, example string) ([]strictjson.Member, *rpcError) {
	if value == nil || value[0] != '{' {
		return nil, invalidParams("The params have no %s; send an object, such as %s.", name, example)
	}
	members, err := unambiguous(name, value)
	if err != nil {
		return nil, err
	}
	return members, checkKinds(name, members, kinds)
}

func invalidParams(format string, args ...any) *rpcError {
	return &rpcError{Code: protocol.INVALID_PARAMS, Message: fmt.Sprintf(format, args...)}
}
