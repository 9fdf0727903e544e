package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// Limits on a message. strictjson.MaxValues limits the number of its values.
const (
	maxMessageBytes = 1 << 20  // size of a tool call
	maxOtherBytes   = 64 << 10 // size of any other message
	maxDepth        = 32       // levels of nested objects and arrays; protocol messages need less than a third
	maxID           = 1 << 53  // the largest integer that every client can represent exactly

	messageTooLong = "The message is larger than %d bytes."
)

// message is one JSON-RPC message. parse rejects ambiguous ones, in which a name appears twice or
// in the wrong letter case. mcp-go gets the decoded parameters, so it and this package act on the
// same message.
type message struct {
	id              json.RawMessage // nil for a notification
	method          string
	params          messageParams
	target          string              // name of a tool or prompt, URI of a resource, or log level
	arguments       []strictjson.Member // arguments of the call, in the order sent
	rawArguments    json.RawMessage     // as sent; nil if absent
	malformed       bool                // the arguments are not an object
	protocolVersion string              // as stated in the message; may be empty
	modern          bool                // the protocol version has no handshake
}

// messageParams are the parameters of all methods. mcp-go gets all of them except the arguments,
// which only this package reads: mcp-go would decode their numbers as float64.
type messageParams struct {
	Name            string              `json:"name,omitzero"`
	URI             string              `json:"uri,omitzero"`
	Cursor          string              `json:"cursor,omitzero"`
	Level           json.RawMessage     `json:"level,omitzero"`
	ProtocolVersion string              `json:"protocolVersion,omitzero"`
	RequestState    string              `json:"requestState,omitzero"`
	Arguments       json.RawMessage     `json:"arguments,omitzero"`
	Ref             *completionRef      `json:"ref,omitzero"`      // subject of a completion
	Argument        *completionArgument `json:"argument,omitzero"` // argument to complete
	Context         jsonObject          `json:"context,omitzero"`
	Capabilities    jsonObject          `json:"capabilities,omitzero"`
	ClientInfo      jsonObject          `json:"clientInfo,omitzero"`
	Task            jsonObject          `json:"task,omitzero"`
	InputResponses  jsonObject          `json:"inputResponses,omitzero"`
	Meta            jsonObject          `json:"_meta,omitzero"`
}

// completionRef names the prompt or resource of a completion.
type completionRef struct {
	Type string `json:"type,omitzero"`
	Name string `json:"name,omitzero"`
	URI  string `json:"uri,omitzero"`
}

// completionArgument is a partially typed argument.
type completionArgument struct {
	Name  string `json:"name,omitzero"`
	Value string `json:"value,omitzero"`
}

type jsonObject map[string]json.RawMessage

// The types of references in completions.
const (
	promptReference   = "ref/prompt"
	resourceReference = "ref/resource"
)

// knownNames are the member names that are rejected if their letter case is wrong.
var knownNames = map[string][]string{
	"message": {"jsonrpc", "id", "method", "params", "result", "error"},
	"params": {
		"name", "uri", "arguments", "ref", "argument", "context", "cursor", "level", "protocolVersion",
		"capabilities", "clientInfo", "task", "requestState", "inputResponses", "_meta",
	},
	"ref":      {"type", "name", "uri"},
	"argument": {"name", "value"},
	"_meta":    {protocol.MetaKeyProtocolVersion, protocol.MetaKeyClientCapabilities, protocol.MetaKeyClientInfo},
}

// parse reads a message. Its error is a *rpcError, or a *cola.Error for an HTTP response if the
// message is too long for its method. It checks limits before decoding.
func parse(body []byte) (m message, err error) {
	switch strictjson.Bounded(body, maxDepth, strictjson.MaxValues) {
	case strictjson.ErrDepth:
		return m, invalidMessage("The message has more than %d levels of nesting.", maxDepth)
	case strictjson.ErrValues:
		return m, invalidMessage("The message has more than %d values.", strictjson.MaxValues)
	}
	length := len(body)
	body = bytes.TrimSpace(body)
	switch {
	case !strictjson.Valid(body):
		return m, &rpcError{Code: protocol.PARSE_ERROR, Message: "The body is not JSON."}
	case body[0] == '[':
		return m, invalidMessage("Batches are not accepted; send each message in its own request.")
	case body[0] != '{':
		return m, invalidMessage("The body is not a JSON-RPC message: it is not an object.")
	}
	err = m.read(body, length)
	return m, err
}

// read decodes a message. length is its size, including surrounding white space. It returns the
// same errors as parse.
func (m *message) read(body json.RawMessage, length int) error {
	all, rpcErr := strictMembers("message", body)
	if rpcErr != nil {
		return rpcErr
	}
	m.id = strictjson.Find(all, "id")
	if !isRequestID(m.id) {
		m.id = nil
		return invalidMessage("The id must be a string or an integer from -2^53 to 2^53; a notification has no id.")
	}
	version, _ := strictjson.Text(strictjson.Find(all, "jsonrpc"))
	m.method, _ = strictjson.Text(strictjson.Find(all, "method"))
	params := strictjson.Find(all, "params")
	switch {
	case version != protocol.JSONRPC_VERSION:
		return invalidMessage(`The message is not JSON-RPC 2.0: set "jsonrpc" to "2.0".`)
	case m.method == "":
		return invalidMessage(`The message has no "method". This server sends no requests, so it accepts no responses.`)
	case length > maxOtherBytes && m.method != string(protocol.MethodToolsCall):
		return cola.Errorf(cola.CodePayloadTooLarge, messageTooLong, maxOtherBytes)
	case params != nil && params[0] != '{' && params[0] != 'n':
		return invalidMessage(`"params" must be an object, such as {"name": "get_usage"}.`)
	case params != nil && params[0] == '{':
		rpcErr = m.readParams(params)
	}
	if rpcErr == nil {
		rpcErr = m.checkTarget()
	}
	if rpcErr != nil {
		return rpcErr
	}
	return nil
}

// readParams decodes the parameters. A null parameter counts as absent.
func (m *message) readParams(given json.RawMessage) *rpcError {
	all, rpcErr := strictMembers("params", given)
	for _, one := range all {
		nested := one.Name == "ref" || one.Name == "argument" || one.Name == "_meta"
		if rpcErr == nil && nested && one.Value[0] == '{' {
			_, rpcErr = strictMembers(one.Name, one.Value)
		}
	}
	if rpcErr != nil {
		return rpcErr
	}
	p := &m.params
	err := json.Unmarshal(given, p) // continues after a value of the wrong type
	m.protocolVersion, _ = strictjson.Text(p.Meta[protocol.MetaKeyProtocolVersion])
	m.modern = protocol.IsModernProtocol(m.protocolVersion)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrongType(mistyped)
	}
	switch m.method {
	case string(protocol.MethodResourcesRead):
		m.target = p.URI
	case string(protocol.MethodSetLogLevel):
		m.target, _ = strictjson.Text(p.Level)
	default:
		m.target = p.Name
	}
	if raw := p.Arguments; raw != nil && raw[0] == '{' {
		m.arguments = strictjson.Members(raw)
	} else {
		m.malformed = raw != nil && raw[0] != 'n'
	}
	m.rawArguments, p.Arguments = p.Arguments, nil
	return nil
}

// wrongType reports a parameter of the wrong type. The error from mcp-go would name Go types.
func wrongType(err *json.UnmarshalTypeError) *rpcError {
	in, name := "params", err.Field
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		in, name = name[:i], name[i+1:]
	}
	expected := "an object"
	if err.Type.Kind() == reflect.String {
		expected = "a string"
	}
	return invalidParams("%[2]s.%[1]s must be %[3]s.", name, in, expected)
}

// checkTarget reports requests whose parameters have the right types but can't be used: a cursor
// for a list that has one page, or a completion without a reference or argument.
func (m *message) checkTarget() *rpcError {
	switch m.method {
	case string(protocol.MethodToolsList), string(protocol.MethodResourcesList),
		string(protocol.MethodResourcesTemplatesList), string(protocol.MethodPromptsList):
		if m.params.Cursor != "" {
			return invalidParams("Invalid cursor: the list has one page. Omit cursor.")
		}
	case string(protocol.MethodCompletionComplete):
		return m.params.checkCompletion()
	}
	return nil
}

func (p *messageParams) checkCompletion() *rpcError {
	types := []string{promptReference, resourceReference}
	switch {
	case p.Ref == nil:
		return invalidParams(
			`params.ref is missing; send an object, such as {"type": "ref/prompt", "name": "brand_clearance"}.`)
	case p.Argument == nil:
		return invalidParams(`params.argument is missing; send an object, such as {"name": "class", "value": "red"}.`)
	case !slices.Contains(types, p.Ref.Type):
		return invalidParams("ref.type must be %s.", strings.Join(types, " or "))
	case p.Argument.Name == "":
		return invalidParams("argument.name is missing.")
	}
	return nil
}

// values converts the arguments of a call to text, and reports problems with their JSON.
func (m *message) values(f argumentReader) (values []params.Value, problems cola.Problems) {
	if m.malformed {
		problems.Add("arguments", "The arguments must be an object, such as {\"q\": \"oak\"}.")
		return nil, problems
	}
	return f.Values(m.arguments)
}

// argumentReader converts JSON to text; params.Reader implements it.
type argumentReader interface {
	Values(members []strictjson.Member) ([]params.Value, cola.Problems)
}

// isRequestID reports whether an id is valid or absent; null is neither.
func isRequestID(id json.RawMessage) bool {
	if id == nil || id[0] == '"' {
		return true
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return n >= -maxID && n <= maxID
	}
	f, err := strconv.ParseFloat(string(id), 64) // such as 1.0
	return err == nil && f == math.Trunc(f) && math.Abs(f) < maxID
}

// strictMembers returns the members of an object. It fails if a name appears twice, or if a known
// name is in the wrong letter case.
func strictMembers(what string, object json.RawMessage) ([]strictjson.Member, *rpcError) {
	all, ambiguity := strictjson.Unambiguous(object, knownNames[what])
	switch {
	case ambiguity == nil:
		return all, nil
	case ambiguity.Correct == "":
		return nil, invalidMessage("%s appears twice in the %s.", params.Quoted(ambiguity.Name), what)
	}
	return nil, invalidMessage("Unknown member %s in the %s. Did you mean %s?", params.Quoted(ambiguity.Name), what,
		params.Quoted(ambiguity.Correct))
}

func invalidMessage(format string, args ...any) *rpcError {
	return &rpcError{Code: protocol.INVALID_REQUEST, Message: fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) *rpcError {
	return &rpcError{Code: protocol.INVALID_PARAMS, Message: fmt.Sprintf(format, args...)}
}
