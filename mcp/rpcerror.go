package mcp

import (
	"encoding/json"
	"net/http"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// refusedCode is the JSON-RPC code of a refusal that has none of its own, such as a used-up quota, where no tool result can
// tell it. It lies in the range that JSON-RPC leaves to servers.
const refusedCode = -32000

// rpcError is an error in JSON-RPC's own form: of the message itself, or of a read of a resource or prompt, which have no
// other way to fail.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"` // the envelope that REST would answer with, or an unread

	httpStatus int // 0: derived from Code
}

// unread is what goes with the error of a read: the envelope, and what was to be read, as the newest revision asks for.
type unread struct {
	web.ErrorBody
	URI string `json:"uri"`
}

// Error returns the message.
func (e *rpcError) Error() string { return e.Message }

// rpcErrorOf is the one table from an error that is safe to show to its JSON-RPC form.
func rpcErrorOf(shown *cola.Error, x *exchange) *rpcError {
	e := &rpcError{Code: refusedCode, Message: shown.Message, Data: web.Envelope(shown)}
	if x.method == string(protocol.MethodResourcesRead) {
		e.Data = unread{web.Envelope(shown), x.target}
	}
	switch shown.Code {
	case cola.CodeValidation:
		e.Code = protocol.INVALID_PARAMS
	case cola.CodeInternal:
		e.Code = protocol.INTERNAL_ERROR
	case cola.CodeNotFound:
		e.Code = protocol.RESOURCE_NOT_FOUND
		if x.modern {
			e.Code = protocol.INVALID_PARAMS // the newer revision has no code of its own for it
		}
	}
	return e
}

// status returns the HTTP status of an error: the newer revision tells it in the status, too, older ones only what is wrong
// with the message itself.
func (e *rpcError) status(modern bool) int {
	if e.httpStatus != 0 {
		return e.httpStatus
	}
	switch e.Code {
	case protocol.PARSE_ERROR, protocol.INVALID_REQUEST, protocol.HEADER_MISMATCH, protocol.UNSUPPORTED_PROTOCOL_VERSION,
		protocol.MISSING_REQUIRED_CLIENT_CAPABILITY:
		return http.StatusBadRequest
	case protocol.INVALID_PARAMS:
		if modern {
			return http.StatusBadRequest
		}
	case protocol.METHOD_NOT_FOUND:
		if modern {
			return http.StatusNotFound
		}
	}
	return http.StatusOK
}

// answer returns the answer to the message with an id. A nil id is one that could not be read.
func (e *rpcError) answer(id json.RawMessage) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return mustJSON(object{{"jsonrpc", protocol.JSONRPC_VERSION}, {"id", id}, {"error", e}})
}
