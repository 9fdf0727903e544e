package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/internal/params"
)

// What a message may be at most.
const (
	maxMessageBytes = 1 << 20
	maxDepth        = 32 // of objects and arrays within one another; no message of the protocol needs a third of it
)

// message is one JSON-RPC message, as far as this package reads it. What mcp-go reads in the same bytes is the same: a message
// that could be read in two ways, by a name given twice or in another letter case, is refused.
type message struct {
	id        json.RawMessage // nil: a notification
	method    string
	target    string   // what is called, got or read: the name of a tool or prompt, or the URI of a resource
	arguments []member // of the call, in the order sent
	malformed bool     // arguments are there and no object
	modern    bool     // of a revision without a handshake
	passed    object   // what of it is passed on to mcp-go
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// spellings are the names that mean something, in the only spelling that does.
var spellings = map[string][]string{
	"message": {"jsonrpc", "id", "method", "params", "result", "error"},
	"params":  {"name", "uri", "arguments", "ref", "argument", "context", "cursor", "protocolVersion", "capabilities", "clientInfo", "task", "_meta"},
	"_meta":   {protocol.MetaKeyProtocolVersion, protocol.MetaKeyClientCapabilities, protocol.MetaKeyClientInfo},
}

// parse reads a message, or tells what is wrong with it.
func parse(body []byte) (message, *rpcError) {
	if deeper(body, maxDepth) {
		return message{}, invalidMessage("The message is nested too deeply; at most %d levels are read.", maxDepth)
	}
	body = bytes.TrimSpace(body)
	switch {
	case !utf8.Valid(body) || !json.Valid(body):
		return message{}, &rpcError{Code: protocol.PARSE_ERROR, Message: "The body is not JSON."}
	case body[0] == '[':
		return message{}, invalidMessage("Batches are not accepted; send each message in a request of its own.")
	case body[0] != '{':
		return message{}, invalidMessage("The body is not a JSON-RPC message: it is no object.")
	}
	var m message
	err := m.read(body)
	return m, err
}

// read takes a message apart.
func (m *message) read(body json.RawMessage) *rpcError {
	all, err := unambiguous("message", body)
	if err != nil {
		return err
	}
	version, _ := text(find(all, "jsonrpc"))
	if id := find(all, "id"); id != nil && !bytes.Equal(id, []byte("null")) {
		m.id = id
	}
	var ok bool
	switch m.method, ok = text(find(all, "method")); {
	case version != protocol.JSONRPC_VERSION:
		return invalidMessage(`The message is not JSON-RPC 2.0; "jsonrpc" is "2.0".`)
	case !ok || m.method == "":
		return invalidMessage(`The message has no "method": this server asks nothing, so there is nothing to answer.`)
	case m.id != nil && m.id[0] != '"' && m.id[0] != '-' && (m.id[0] < '0' || m.id[0] > '9'):
		return invalidMessage("The id of a message is a string or a number.")
	}
	var wrong *rpcError
	for _, one := range all {
		value := any(one.value)
		if one.name == "params" && one.value[0] == '{' {
			value, wrong = m.readParams(one.value)
		}
		m.passed = append(m.passed, field{one.name, value})
	}
	return wrong
}

// readParams takes the parameters apart, and returns those that are passed on: arguments are read here alone. mcp-go would read
// numbers as floating-point ones, and refuse in words of its own what is no text.
func (m *message) readParams(given json.RawMessage) (passed object, err *rpcError) {
	all, err := unambiguous("params", given)
	if err != nil {
		return nil, err
	}
	if meta := find(all, "_meta"); meta != nil && meta[0] == '{' {
		members, err := unambiguous("_meta", meta)
		if err != nil {
			return nil, err
		}
		version, _ := text(find(members, protocol.MetaKeyProtocolVersion))
		m.modern = protocol.IsModernProtocol(version)
	}
	m.target, _ = text(find(all, "name"))
	if m.method == string(protocol.MethodResourcesRead) {
		m.target, _ = text(find(all, "uri"))
	}
	for _, one := range all {
		if one.name != "arguments" {
			passed = append(passed, field{one.name, one.value})
			continue
		}
		switch one.value[0] {
		case '{':
			m.arguments = members(one.value)
		case 'n':
		default:
			m.malformed = true
		}
	}
	return passed, nil
}

// unambiguous returns the members of an object, unless two have one name, or one has a name that means something in another
// spelling.
func unambiguous(what string, object json.RawMessage) ([]member, *rpcError) {
	all := members(object)
	met := make(map[string]bool, len(all))
	for _, m := range all {
		if met[m.name] {
			return nil, invalidMessage("The %s has %s twice.", what, params.Quoted(m.name))
		}
		met[m.name] = true
		for _, right := range spellings[what] {
			if m.name != right && strings.EqualFold(m.name, right) {
				return nil, invalidMessage("The %s has %s; it is spelt %s.", what, params.Quoted(m.name), params.Quoted(right))
			}
		}
	}
	return all, nil
}

// members returns the members of valid JSON that is an object, in their order, also those of one name.
func members(object json.RawMessage) (all []member) {
	d := json.NewDecoder(bytes.NewReader(object))
	_, _ = d.Token() // the brace; nothing here fails on valid JSON
	for d.More() {
		name, _ := d.Token()
		var m member
		m.name, _ = name.(string)
		_ = d.Decode(&m.value)
		all = append(all, m)
	}
	return all
}

func find(all []member, name string) json.RawMessage {
	for _, m := range all {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// text returns a JSON string; ok is false for anything else.
func text(value json.RawMessage) (s string, ok bool) {
	return s, len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &s) == nil
}

// deeper reports whether JSON is nested deeper than a number of levels, without reading it otherwise.
func deeper(b []byte, levels int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > levels {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

func invalidMessage(format string, args ...any) *rpcError {
	return &rpcError{Code: protocol.INVALID_REQUEST, Message: fmt.Sprintf(format, args...)}
}
