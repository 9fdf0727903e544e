package mcp

import (
	"context"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/web"
)

// reword sees to a message that no handler has seen, because it is none that needs one, or because mcp-go has refused it. What it
// asks for in a wrong way is told in our words, and counts in the burst if its method does.
func (e *edge) reword(ctx context.Context, x *exchange, wrong *rpcError) {
	var refusal *cola.Error
	switch {
	case wrong == nil:
	case wrong.Code == protocol.INVALID_PARAMS, wrong.Code == protocol.RESOURCE_NOT_FOUND:
		refusal = e.unknown(x)
	case wrong.Code == protocol.INVALID_REQUEST:
		refusal = cola.Errorf(cola.CodeValidation, "The params of %s are not of the form that the protocol has for them.", cola.Quoted(x.method))
	}
	if x.counts() {
		e.countRefused(ctx, x, refusal)
	} else if refusal != nil {
		x.failure = rpcErrorOf(refusal, x)
	}
}

// countRefused counts a message in the burst that mcp-go has refused. refusal tells why in our words; it is nil where mcp-go's will do.
func (e *edge) countRefused(ctx context.Context, x *exchange, refusal *cola.Error) {
	shown := e.attempt(context.WithValue(ctx, exchangeKey{}, x), cola.MeterNone, func(ctx context.Context, x *exchange) (cola.QuotaState, error) {
		if refusal == nil {
			return e.svc.Refuse(ctx, x.caller, cola.Errorf(cola.CodeNotFound, "refused by the protocol"))
		}
		return e.svc.Refuse(ctx, x.caller, refusal)
	})
	switch {
	case x.failure != nil || shown == nil:
	case shown.Code != cola.CodeNotFound:
		x.failure = rpcErrorOf(shown, x)
	case refusal != nil && x.method == string(protocol.MethodResourcesRead):
		x.failure = rpcErrorOf(shown, x)
	case refusal != nil:
		x.failure = &rpcError{Code: protocol.INVALID_PARAMS, Message: shown.Message, Data: web.Envelope(shown)}
	}
}

// unknown tells that there is no tool, prompt or resource of the name that a message asks for, or returns nil when there is one.
func (e *edge) unknown(x *exchange) *cola.Error {
	switch x.method {
	case string(protocol.MethodToolsCall):
		return noneNamed("tool", x.target, e.names)
	case string(protocol.MethodPromptsGet):
		return noneNamed("prompt", x.target, e.prompts)
	case string(protocol.MethodResourcesRead):
		return noResource(x.target)
	}
	return nil
}

// noneNamed tells that there is nothing of a name, or returns nil when there is.
func noneNamed(kind, name string, names []string) *cola.Error {
	nearest, ok := vocabulary.Nearest(name, names)
	switch all := strings.Join(names, ", "); {
	case ok && nearest == name:
		return nil
	case name == "":
		return cola.Errorf(cola.CodeValidation, "The message names no %s; there are %s.", kind, all)
	case ok:
		return cola.Errorf(cola.CodeNotFound, "There is no %s %s; did you mean %s?", kind, cola.Quoted(name), nearest)
	default:
		return cola.Errorf(cola.CodeNotFound, "There is no %s %s; there are %s.", kind, cola.Quoted(name), all)
	}
}

// noResource tells that there is no resource of a URI, which no handler takes.
func noResource(uri string) *cola.Error {
	var names []string
	for _, r := range references {
		names = append(names, r.name)
	}
	name, isReference := strings.CutPrefix(uri, referenceScheme)
	nearest, ok := vocabulary.Nearest(name, names)
	switch {
	case uri == "":
		return cola.Errorf(cola.CodeValidation, "The message names no resource: it has no uri.")
	case strings.HasPrefix(uri, labelScheme):
		return cola.Errorf(cola.CodeNotFound, "There is no resource %s; that of a label is %s and its TTB id of 14 digits, and nothing else.", cola.Quoted(uri), labelScheme)
	case isReference && ok:
		return cola.Errorf(cola.CodeNotFound, "There is no resource %s; did you mean %s?", cola.Quoted(uri), referenceScheme+nearest)
	default:
		return cola.Errorf(cola.CodeNotFound, "There is no resource %s; resources/list and resources/templates/list tell which there are.", cola.Quoted(uri))
	}
}
