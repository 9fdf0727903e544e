package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/web"
)

// codeRefused is the JSON-RPC code of errors without a more specific code, such as an exhausted
// quota outside of tool calls. It is in the range that JSON-RPC reserves for servers.
const codeRefused = -32000

// rpcError is a JSON-RPC error, for an invalid message or a failed read of a resource or
// prompt. Failed tool calls are results instead.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"` // the REST error envelope, or a readErrorData

	httpStatus int // default derived from Code
}

// readErrorData is the data of a failed read: the envelope and, as the newest protocol version
// requires, the URI.
type readErrorData struct {
	web.ErrorBody
	URI string `json:"uri"`
}

// Error returns the message.
func (e *rpcError) Error() string { return e.Message }

// newRPCError converts a public error to a JSON-RPC error.
func newRPCError(shown *cola.Error, req *request) *rpcError {
	e := &rpcError{Code: codeRefused, Message: shown.Message, Data: web.Envelope(shown)}
	if req.method == string(protocol.MethodResourcesRead) {
		e.Data = readErrorData{web.Envelope(shown), req.target}
	}
	switch shown.Code {
	case cola.CodeValidation:
		e.Code = protocol.INVALID_PARAMS
	case cola.CodeInternal:
		e.Code = protocol.INTERNAL_ERROR
	case cola.CodeNotFound:
		e.Code = protocol.RESOURCE_NOT_FOUND
		if req.modern {
			e.Code = protocol.INVALID_PARAMS // the newest protocol version has no separate code
		}
	}
	return e
}

// status returns the HTTP status of an error. Errors in the message itself always have an error
// status; invalid params and unknown methods have one only in the newest protocol version. Other
// errors have status 200 unless httpStatus is set.
func (e *rpcError) status(modern bool) int {
	if e.httpStatus != 0 {
		return e.httpStatus
	}
	switch e.Code {
	case protocol.PARSE_ERROR, protocol.INVALID_REQUEST, protocol.HEADER_MISMATCH,
		protocol.UNSUPPORTED_PROTOCOL_VERSION,
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

// response returns the error response to the message with the given ID. If id is empty, the
// response has a null ID.
func (e *rpcError) response(id json.RawMessage) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return mustJSON(object{{"jsonrpc", protocol.JSONRPC_VERSION}, {"id", id}, {"error", e}})
}

// errorResult returns the result of a failed call: the REST error envelope, and a hint on what to
// do next. It has no structured content, because that would have to match the tool's output schema.
func errorResult(e *cola.Error, t *tool, state cola.QuotaState) *protocol.CallToolResult {
	b, err := cola.AppendJSON(nil, web.Envelope(e))
	if err != nil { // the details can't be encoded as JSON
		b, _ = cola.AppendJSON(nil, web.Envelope(&cola.Error{Code: e.Code, Message: e.Message}))
	}
	content := []protocol.Content{protocol.TextContent{Type: protocol.ContentTypeText, Text: string(b)}}
	if hint := errorHint(e, t, state); hint != "" {
		content = append(content, protocol.TextContent{Type: protocol.ContentTypeText, Text: hint})
	}
	return &protocol.CallToolResult{Content: content, IsError: true}
}

// errorHint returns the next step for an assistant after an error.
func errorHint(e *cola.Error, t *tool, state cola.QuotaState) string {
	switch e.Code {
	case cola.CodeValidation:
		return "Correct all arguments listed in error.details, then call again. This call was free."
	case cola.CodeSearchTooBroad:
		return "The search was not saved. Add a narrower filter, such as brand_name or query, or save it without a " +
			"schedule."
	case cola.CodeWatchlistLimit:
		return "The search was not saved; retrying won't help. If the limit is on active alerts, offer to " +
			"pause one with update_saved_search, or to save this search without a schedule or with schedule.active " +
			"false. If it is on saved searches, offer to delete one with delete_saved_search."
	case cola.CodeNotFound:
		return "This call was free. " + t.notFound
	case cola.CodeUnavailable:
		return fmt.Sprintf("This call was free. Wait %s, then retry once.", cola.WaitWords(e.RetryAfter))
	case cola.CodeInternal:
		return "The service failed; the arguments are fine. Retry once. If it fails again, give the user the " +
			"request_id in error.details."
	case cola.CodeQuotaExceeded:
		return quotaHint(e, state)
	}
	return ""
}

// quotaHint returns the hint for an exceeded rate limit, which resets shortly, or for a used-up
// quota, which doesn't.
func quotaHint(e *cola.Error, state cola.QuotaState) string {
	if e.RetryAfter > 0 {
		return fmt.Sprintf("Wait %s before calling any tool.", cola.WaitWords(e.RetryAfter))
	}
	hint := "Don't call again before error.details.reset. Explain that this month's quota is used up"
	if e.UpgradeURL != "" {
		hint += " and that larger plans are available at " + e.UpgradeURL
	}
	return hint + ". " + remainingTools(state)
}

// remainingTools names the tools that an account has quota for.
func remainingTools(state cola.QuotaState) string {
	available := "The reference tools, the saved-search tools, suggest_values and get_usage still work"
	if !state.Known() {
		return available + "."
	}
	if n := state.DetailViewsRemaining(); n > 0 {
		available += fmt.Sprintf("; so do get_cola and get_permittee (detail views left: %d)", n)
	}
	if n := state.ListRecordsRemaining(); n > 0 {
		available += fmt.Sprintf("; so do search_colas, check_brand, count_labels, search_permittees and "+
			"lookup_barcode (list records left: %d)", n)
	}
	return available + "."
}

// handleUnserved completes a message that reached no handler, because it needs none or mcp-go
// rejected it. It replaces mcp-go's error messages, and counts the message toward the rate limit if
// its method is in countedMethods.
func (e *edge) handleUnserved(ctx context.Context, req *request, rpcErr *rpcError) {
	var refusal *cola.Error
	switch {
	case rpcErr == nil:
	case rpcErr.Code == protocol.INVALID_PARAMS, rpcErr.Code == protocol.RESOURCE_NOT_FOUND:
		refusal = e.unknownTarget(req)
	case rpcErr.Code == protocol.INVALID_REQUEST:
		refusal = cola.Errorf(cola.CodeValidation, "Invalid params for %s. Check them against the MCP specification.", cola.Quoted(req.method))
	}
	if req.isCounted() {
		e.countRefused(ctx, req, refusal)
	} else if refusal != nil {
		req.failure = newRPCError(refusal, req)
	}
}

// countRefused counts a message toward the rate limit, even though mcp-go rejected it. refusal
// replaces mcp-go's error; nil keeps it.
func (e *edge) countRefused(ctx context.Context, req *request, refusal *cola.Error) {
	public := e.execute(context.WithValue(ctx, requestKey{}, req), cola.MeterNone,
		func(ctx context.Context, req *request) (cola.QuotaState, error) {
			if refusal == nil {
				return e.svc.Refuse(ctx, req.caller, cola.Errorf(cola.CodeNotFound, "rejected by mcp-go"))
			}
			return e.svc.Refuse(ctx, req.caller, refusal)
		})
	switch {
	case req.failure != nil || public == nil:
	case public.Code != cola.CodeNotFound:
		req.failure = newRPCError(public, req)
	case refusal != nil && req.method == string(protocol.MethodResourcesRead):
		req.failure = newRPCError(public, req)
	case refusal != nil:
		req.failure = &rpcError{Code: protocol.INVALID_PARAMS, Message: public.Message, Data: web.Envelope(public)}
	}
}

// unknownTarget returns an error if the requested tool, prompt or resource does not exist, and nil
// otherwise.
func (e *edge) unknownTarget(req *request) *cola.Error {
	switch req.method {
	case string(protocol.MethodToolsCall):
		return unknownName("tool", req.target, e.names)
	case string(protocol.MethodPromptsGet):
		return unknownName("prompt", req.target, e.prompts)
	case string(protocol.MethodResourcesRead):
		return unknownResource(req.target)
	}
	return nil
}

// unknownName returns an error if names does not contain name, and nil otherwise.
func unknownName(kind, name string, names []string) *cola.Error {
	nearest, ok := vocabulary.Nearest(name, names)
	switch all := strings.Join(names, ", "); {
	case ok && nearest == name:
		return nil
	case name == "":
		return cola.Errorf(cola.CodeValidation, "params.name is missing. Available %ss: %s.", kind, all)
	case ok:
		return cola.Errorf(cola.CodeNotFound, "Unknown %s %s. Did you mean %s?", kind, cola.Quoted(name), nearest)
	default:
		return cola.Errorf(cola.CodeNotFound, "Unknown %s %s. Available: %s.", kind, cola.Quoted(name), all)
	}
}

// unknownResource returns the error for a URI without a handler.
func unknownResource(uri string) *cola.Error {
	var names []string
	for _, r := range referenceResources {
		names = append(names, r.name)
	}
	name, isReference := strings.CutPrefix(uri, referenceScheme)
	nearest, ok := vocabulary.Nearest(name, names)
	switch {
	case uri == "":
		return cola.Errorf(cola.CodeValidation, "params.uri is missing.")
	case strings.HasPrefix(uri, labelScheme):
		return cola.Errorf(cola.CodeNotFound,
			"Unknown resource %s. Labels are at %s followed by a 14-digit TTB ID.", cola.Quoted(uri), labelScheme)
	case isReference && ok:
		return cola.Errorf(cola.CodeNotFound, "Unknown resource %s. Did you mean %s?", cola.Quoted(uri),
			referenceScheme+nearest)
	default:
		return cola.Errorf(cola.CodeNotFound,
			"Unknown resource %s. See resources/list and resources/templates/list.", cola.Quoted(uri))
	}
}
