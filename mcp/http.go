package mcp

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// serve answers one request. Who asks is settled before anything is told of what is asked, and nothing of a message reaches
// the protocol before it has been read here.
func (e *edge) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Authorization, X-API-Key")
	h.Set("Cache-Control", "private, no-store")
	event := web.EventOf(r.Context())
	event.Channel = cola.ChannelMCP
	caller, err := e.auth.Authenticate(r.Context(), r.Header, cola.ChannelMCP)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	event.Caller = caller
	x := &exchange{caller: caller, event: event}
	if refusal := e.limits.take(caller, r.ContentLength); refusal != nil {
		e.refuseMessage(w, r, x, refusal)
		return
	}
	body, err := readBody(w, r)
	if err == nil {
		x.message, err = parse(body)
	}
	if err != nil {
		e.turnAway(w, r, x, err)
		return
	}
	x.label(e)
	if revision := r.Header.Get(protocol.HeaderProtocolVersion); outdated(revision) && x.method != string(protocol.MethodInitialize) {
		e.turnAway(w, r, x, invalidMessage("The revision %s of the protocol is not served; those served are %s.",
			cola.Quoted(revision), strings.Join(revisions, ", ")))
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	if scope := e.lacking(x); scope != "" {
		e.forbid(w, r, x, scope)
		return
	}
	e.answer(w, r, x)
}

// lacking returns the scope that a call needs and its caller has not, or none.
func (e *edge) lacking(x *exchange) cola.Scope {
	if x.method != string(protocol.MethodToolsCall) {
		return ""
	}
	t := e.tools[x.target]
	if t == nil || t.scope == "" || x.caller.Has(t.scope) {
		return ""
	}
	return t.scope
}

// forbid refuses a call for want of a scope, by HTTP: so a client knows to ask the account holder for it and to come back. The
// service would refuse the call too; a result of the protocol is not what makes clients ask. A call that is not even let through, in a
// full minute say, is told so as any other call is, and the service is not asked again.
func (e *edge) forbid(w http.ResponseWriter, r *http.Request, x *exchange, scope cola.Scope) {
	refused := e.attempt(r.Context(), cola.MeterNone, func(ctx context.Context, x *exchange) (cola.QuotaState, error) {
		return e.svc.Refuse(ctx, x.caller, x.caller.Lacks(scope))
	})
	if isAccess(refused.Code) {
		e.tell(w, r, x, refused)
		return
	}
	x.refused = refused
	e.answer(w, r, x)
}

// readBody returns the body of a request in the one form that is taken.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, &cola.Error{
			Code:    cola.CodeMethodNotAllowed,
			Message: fmt.Sprintf("%s is not allowed at %s; use POST. The server keeps no sessions and opens no streams.", shownMethod(r.Method), Path),
			Details: map[string]any{"allowed": []string{http.MethodPost}},
		}
	}
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, encoding := parameters["charset"], r.Header.Get("Content-Encoding")
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") || encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, cola.Errorf(cola.CodeUnsupportedMediaType, "A message is sent as application/json in UTF-8, without a content encoding.")
	}
	return web.ReadBody(r, maxMessageBytes, messageTooLong)
}

func shownMethod(method string) string {
	if len(method) > 20 {
		return "This method"
	}
	return method
}

// turnAway answers a request that is refused before it is a message of the protocol, or in place of the protocol's answer. It
// counts nowhere; what the headers tell is asked for.
func (e *edge) turnAway(w http.ResponseWriter, r *http.Request, x *exchange, refusal error) {
	if state, err := e.svc.Standing(web.Outlasting(r.Context()), x.caller); err != nil {
		x.state, refusal = state, err
	} else {
		x.state = state
	}
	e.tell(w, r, x, refusal)
}

// tell answers with an error in the form that it has.
func (e *edge) tell(w http.ResponseWriter, r *http.Request, x *exchange, err error) {
	web.SetQuota(w.Header(), x.state)
	wrong, ok := err.(*rpcError)
	if !ok {
		web.Fail(w, r, err)
		return
	}
	if x.event.Code == "" {
		x.event.Code = cola.CodeValidation
	}
	web.WriteJSON(w, wrong.status(x.modern), wrong.answer(x.id))
}

// answer lets the protocol answer a message. What a message costs is known before the answer is sent, so that the headers can
// tell it: handlers have asked the service by then, and for any other message the account is looked at.
func (e *edge) answer(w http.ResponseWriter, r *http.Request, x *exchange) {
	if !x.counts() || x.id == nil {
		state, err := e.svc.Standing(r.Context(), x.caller)
		x.state = state
		if err != nil {
			e.tell(w, r, x, err)
			return
		}
	}
	if e.answerAlone(w, r, x) {
		return
	}
	result, wrong := e.ask(r.Context(), x, r.Header)
	if !x.handled {
		e.reword(r.Context(), x, wrong)
	}
	web.SetQuota(w.Header(), x.state)
	switch {
	case x.failure != nil:
		e.tell(w, r, x, x.failure)
	case r.Context().Err() != nil:
		w.WriteHeader(web.StatusClientGone)
	case wrong != nil:
		web.WriteJSON(w, wrong.status(x.modern), wrong.answer(x.id))
	default:
		web.WriteJSON(w, http.StatusOK, mustJSON(object{{"jsonrpc", protocol.JSONRPC_VERSION}, {"id", x.id}, {"result", result}}))
	}
}

// answerAlone answers what mcp-go has no part in, and reports whether a message is of that kind.
func (e *edge) answerAlone(w http.ResponseWriter, r *http.Request, x *exchange) bool {
	switch {
	case x.id == nil:
		// Told and not asked. It is not passed on: mcp-go would take a cancellation for any caller's request with that id.
		web.SetQuota(w.Header(), x.state)
		w.WriteHeader(http.StatusAccepted)
	case x.method == string(protocol.MethodSubscriptionsListen):
		e.tell(w, r, x, &rpcError{Code: protocol.METHOD_NOT_FOUND, Message: "Nothing changes here that could be listened for: the server has no notifications."})
	case x.method == string(protocol.MethodSetLogLevel) && !x.modern:
		e.setLogLevel(w, r, x)
	default:
		return false
	}
	return true
}

// logLevels are the severities from which on a client may want messages of a server's log, least first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLogLevel answers a client that says how severe a message of the log must be to be sent to it. The server sends none and does
// not claim to, so any level is kept already, and a client that asks all the same has no reason to fail. The newest revision has
// no such method.
func (e *edge) setLogLevel(w http.ResponseWriter, r *http.Request, x *exchange) {
	if !slices.Contains(logLevels, x.target) {
		e.tell(w, r, x, &rpcError{
			Code:    protocol.INVALID_PARAMS,
			Message: "There is no level " + params.Quoted(x.target) + "; there are " + strings.Join(logLevels, ", ") + ".",
		})
		return
	}
	web.SetQuota(w.Header(), x.state)
	web.WriteJSON(w, http.StatusOK, mustJSON(object{{"jsonrpc", protocol.JSONRPC_VERSION}, {"id", x.id}, {"result", object{}}}))
}
