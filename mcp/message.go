package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// Limits on a message. strictjson.MaxValues limits its values.
const (
	maxMessageBytes = 1 << 20  // of a tool call
	maxPlainBytes   = 64 << 10 // of any other message
	maxDepth        = 32       // of nested objects and arrays; messages of the protocol need less than a third

	messageTooLong = "The message has more than %d bytes, the limit."
)

// message is one JSON-RPC message, as far as this package reads it. What mcp-go reads in the same bytes is the same: a message
// that could be read in two ways, by a name given twice or in another letter case, is refused.
type message struct {
	id        json.RawMessage // nil: a notification
	method    string
	target    string              // what is called, got or read: the name of a tool or prompt, the URI of a resource, a level
	cursor    string              // where a list is to go on
	reference json.RawMessage     // what a completion is for; nil: not told
	completed json.RawMessage     // the argument that is completed
	arguments []strictjson.Member // of the call, in the order sent
	malformed bool                // arguments are there and no object
	modern    bool                // of a revision without a handshake
	passed    object              // what of it is passed on to mcp-go
}

// spellings are the names that mean something, in the only spelling that does.
var spellings = map[string][]string{
	"message":  {"jsonrpc", "id", "method", "params", "result", "error"},
	"params":   {"name", "uri", "arguments", "ref", "argument", "context", "cursor", "level", "protocolVersion", "capabilities", "clientInfo", "task", "_meta"},
	"ref":      {"type", "name", "uri"},
	"argument": {"name", "value"},
	"_meta":    {protocol.MetaKeyProtocolVersion, protocol.MetaKeyClientCapabilities, protocol.MetaKeyClientInfo},
}

// parse reads a message. Its error is a *rpcError, or a *cola.Error for an HTTP response if the message
// is too long for its method. It checks limits before decoding.
func parse(body []byte) (message, error) {
	switch strictjson.Bounded(body, maxDepth, strictjson.MaxValues) {
	case strictjson.ErrDepth:
		return message{}, invalidMessage("The message is nested too deeply; the limit is %d levels.", maxDepth)
	case strictjson.ErrValues:
		return message{}, invalidMessage("The message has too many values; the limit is %d.", strictjson.MaxValues)
	}
	body = bytes.TrimSpace(body)
	switch {
	case !strictjson.Valid(body):
		return message{}, &rpcError{Code: protocol.PARSE_ERROR, Message: "The body is not JSON."}
	case body[0] == '[':
		return message{}, invalidMessage("Batches are not accepted; send each message in a request of its own.")
	case body[0] != '{':
		return message{}, invalidMessage("The body is not a JSON-RPC message: it is no object.")
	}
	var m message
	if err := m.read(body); err != nil {
		return m, err
	}
	return m, nil
}

// read decodes a message. It fails as parse does.
func (m *message) read(body json.RawMessage) error {
	all, err := unambiguous("message", body)
	if err != nil {
		return err
	}
	version, _ := strictjson.Text(strictjson.Find(all, "jsonrpc"))
	var ok bool
	if m.id, ok = readID(all); !ok {
		return invalidMessage("The id of a message is a text or a whole number from -2^53 to 2^53; a message that wants no answer has none.")
	}
	switch m.method, ok = strictjson.Text(strictjson.Find(all, "method")); {
	case version != protocol.JSONRPC_VERSION:
		return invalidMessage(`The message is not JSON-RPC 2.0; "jsonrpc" is "2.0".`)
	case !ok || m.method == "":
		return invalidMessage(`The message has no "method": this server asks nothing, so there is nothing to answer.`)
	case len(body) > maxPlainBytes && m.method != string(protocol.MethodToolsCall):
		return cola.Errorf(cola.CodePayloadTooLarge, messageTooLong, maxPlainBytes)
	}
	for _, one := range all {
		value := any(one.Value)
		switch {
		case one.Name != "params" || one.Value[0] == 'n':
		case one.Value[0] != '{':
			return invalidMessage(`The "params" of a message are an object, such as {"name": "get_usage"}.`)
		default:
			var wrong *rpcError
			if value, wrong = m.readParams(one.Value); wrong != nil {
				return wrong
			}
		}
		m.passed = append(m.passed, field{one.Name, value})
	}
	if wrong := m.misdirected(); wrong != nil {
		return wrong
	}
	return nil
}

// readParams takes the parameters apart, and returns those that are passed on: arguments are read here alone. mcp-go would read
// numbers as floating-point ones, and refuse in words of its own what is no text.
func (m *message) readParams(given json.RawMessage) (passed object, err *rpcError) {
	all, err := unambiguous("params", given)
	if err != nil {
		return nil, err
	}
	if meta := strictjson.Find(all, "_meta"); meta != nil && meta[0] == '{' {
		members, err := unambiguous("_meta", meta)
		if err != nil {
			return nil, err
		}
		version, _ := strictjson.Text(strictjson.Find(members, protocol.MetaKeyProtocolVersion))
		m.modern = protocol.IsModernProtocol(version)
	}
	if err := checkKinds("params", all, kinds); err != nil {
		return nil, err
	}
	m.target, _ = strictjson.Text(strictjson.Find(all, m.targetName()))
	m.cursor, _ = strictjson.Text(strictjson.Find(all, "cursor"))
	m.reference, m.completed = strictjson.Find(all, "ref"), strictjson.Find(all, "argument")
	for _, one := range all {
		if one.Name != "arguments" {
			passed = append(passed, field{one.Name, one.Value})
			continue
		}
		switch one.Value[0] {
		case '{':
			m.arguments = strictjson.Members(one.Value)
		case 'n':
		default:
			m.malformed = true
		}
	}
	return passed, nil
}

// targetName returns the name of the parameter that says what a message is for.
func (m *message) targetName() string {
	switch m.method {
	case string(protocol.MethodResourcesRead):
		return "uri"
	case string(protocol.MethodSetLogLevel):
		return "level"
	}
	return "name"
}

// unambiguous returns the members of an object, unless two have one name, or one has a name that means something in another
// spelling.
func unambiguous(what string, object json.RawMessage) ([]strictjson.Member, *rpcError) {
	all, ambiguity := strictjson.Unambiguous(object, spellings[what])
	switch {
	case ambiguity == nil:
		return all, nil
	case ambiguity.Right == "":
		return nil, invalidMessage("The %s has %s twice.", what, params.Quoted(ambiguity.Name))
	}
	return nil, invalidMessage("The %s has %s; it is spelt %s.", what, params.Quoted(ambiguity.Name), params.Quoted(ambiguity.Right))
}

func invalidMessage(format string, args ...any) *rpcError {
	return &rpcError{Code: protocol.INVALID_REQUEST, Message: fmt.Sprintf(format, args...)}
}
