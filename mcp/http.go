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

// serveHTTP handles one request. It authenticates the caller first, and parses the message strictly
// before mcp-go sees it.
func (e *edge) serveHTTP(w http.ResponseWriter, r *http.Request) {
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
	req := &request{caller: caller, event: event}
	if refusal := e.limits.take(caller, r.ContentLength); refusal != nil {
		e.refuseMessage(w, r, req, refusal)
		return
	}
	body, err := e.readBody(w, r)
	if err == nil {
		req.message, err = parse(body)
	}
	if err != nil {
		e.refuse(w, r, req, err)
		return
	}
	req.addLogAttrs(e)
	if revision := r.Header.Get(protocol.HeaderProtocolVersion); isUnsupportedVersion(revision) &&
		req.method != string(protocol.MethodInitialize) {
		e.refuse(w, r, req, invalidMessage("Protocol version %s is not supported; supported versions: %s.",
			cola.Quoted(revision), strings.Join(protocolVersions, ", ")))
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, req))
	e.respond(w, r, req)
}

// readBody returns the body of a request, which must be a POST with JSON.
func (e *edge) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, &cola.Error{
			Code: cola.CodeMethodNotAllowed,
			Message: fmt.Sprintf(
				"%s is not allowed at %s; use POST. The server is stateless and has no event streams.",
				displayMethod(r.Method), e.path),
			Details: map[string]any{"allowed": []string{http.MethodPost}},
		}
	}
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, encoding := parameters["charset"], r.Header.Get("Content-Encoding")
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") ||
		encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, cola.Errorf(cola.CodeUnsupportedMediaType,
			"Send messages as application/json in UTF-8, without compression (no Content-Encoding).")
	}
	return web.ReadBody(r, maxMessageBytes, messageTooLong)
}

func displayMethod(method string) string {
	if len(method) > 20 {
		return "This method"
	}
	return method
}

// refuse rejects a request before it reaches mcp-go. The request doesn't count toward the rate
// limit; the service is called only for the quota headers.
func (e *edge) refuse(w http.ResponseWriter, r *http.Request, req *request, refusal error) {
	if state, err := e.svc.Standing(web.Detach(r.Context()), req.caller); err != nil {
		req.state, refusal = state, err
	} else {
		req.state = state
	}
	e.writeError(w, r, req, refusal)
}

// writeError writes a JSON-RPC or HTTP error.
func (e *edge) writeError(w http.ResponseWriter, r *http.Request, req *request, err error) {
	web.SetQuota(w.Header(), req.state)
	req.event.Logged = r.Method != http.MethodGet // clients routinely try GET, to open a stream
	rpcErr, ok := err.(*rpcError)
	if !ok {
		web.Fail(w, r, err)
		return
	}
	req.writeRPCError(w, rpcErr)
}

// respond answers a message with mcp-go. The quota headers require the quota state before the
// response is written. Handlers get it from the service; for other messages, respond looks it up.
func (e *edge) respond(w http.ResponseWriter, r *http.Request, req *request) {
	if !req.isCounted() || req.id == nil {
		state, err := e.svc.Standing(r.Context(), req.caller)
		req.state = state
		if err != nil {
			e.writeError(w, r, req, err)
			return
		}
	}
	if e.respondDirectly(w, r, req) {
		return
	}
	result, rpcErr := e.callProtocol(r.Context(), req, r.Header)
	if !req.handled {
		e.handleUnserved(r.Context(), req, rpcErr)
	}
	web.SetQuota(w.Header(), req.state)
	switch {
	case req.failure != nil:
		e.writeError(w, r, req, req.failure)
	case r.Context().Err() != nil:
		w.WriteHeader(web.StatusClientGone)
	case rpcErr != nil:
		req.writeRPCError(w, rpcErr)
	default:
		web.WriteJSON(w, http.StatusOK,
			mustJSON(object{{"jsonrpc", protocol.JSONRPC_VERSION}, {"id", req.id}, {"result", result}}))
	}
}

// respondDirectly answers messages that mcp-go must not handle, and reports whether it did.
func (e *edge) respondDirectly(w http.ResponseWriter, r *http.Request, req *request) bool {
	switch {
	case req.id == nil:
		// A notification. It is not passed to mcp-go, which would apply a cancellation to any
		// caller's request with that ID.
		web.SetQuota(w.Header(), req.state)
		w.WriteHeader(http.StatusAccepted)
	case req.method == string(protocol.MethodSubscriptionsListen):
		e.writeError(w, r, req, &rpcError{Code: protocol.METHOD_NOT_FOUND,
			Message: "The server sends no notifications."})
	case req.method == string(protocol.MethodSetLogLevel) && !req.modern:
		e.setLogLevel(w, r, req)
	default:
		return false
	}
	return true
}

// logLevels are the log levels that a client may set, least severe first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLogLevel answers logging/setLevel. The server neither sends log messages nor declares the
// capability, so a valid level has no effect. The newest protocol version has no such method.
func (e *edge) setLogLevel(w http.ResponseWriter, r *http.Request, req *request) {
	if !slices.Contains(logLevels, req.target) {
		e.writeError(w, r, req, &rpcError{
			Code:    protocol.INVALID_PARAMS,
			Message: "Unknown log level " + params.Quoted(req.target) + "; use " + strings.Join(logLevels, ", ") + ".",
		})
		return
	}
	web.SetQuota(w.Header(), req.state)
	web.WriteJSON(w, http.StatusOK,
		mustJSON(object{{"jsonrpc", protocol.JSONRPC_VERSION}, {"id", req.id}, {"result", object{}}}))
}
