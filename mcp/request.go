package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// request is one message and its outcome. The context carries it through mcp-go to the handler of a
// tool, resource or prompt.
type request struct {
	message
	caller  cola.Caller
	event   *web.Event
	state   cola.QuotaState // quota state after the message, for the headers; unknown until it is looked up
	handled bool            // a handler has called the service
	failure error           // replaces mcp-go's response: a *rpcError, or a *cola.Error for an HTTP error
}

type requestKey struct{}

func requestFrom(ctx context.Context) *request {
	req, _ := ctx.Value(requestKey{}).(*request)
	return req
}

// countedMethods count toward the rate limit. The handshake and the lists do not, because clients
// request them automatically.
var countedMethods = []string{
	string(protocol.MethodToolsCall), string(protocol.MethodResourcesRead),
	string(protocol.MethodPromptsGet),
}

// servedMethods are the supported methods. In the log, all other requests share one label, and all
// other notifications share another.
var servedMethods = append([]string{
	string(protocol.MethodInitialize), string(protocol.MethodPing), string(protocol.MethodServerDiscover),
	string(protocol.MethodToolsList), string(protocol.MethodResourcesList),
	string(protocol.MethodResourcesTemplatesList),
	string(protocol.MethodPromptsList), string(protocol.MethodCompletionComplete), string(protocol.MethodSetLogLevel),
}, countedMethods...)

func (req *request) isCounted() bool { return slices.Contains(countedMethods, req.method) }

// addLogAttrs adds the method and the tool to the request's log line. Unknown names are logged
// under fixed labels. It also describes the message for the account's request log, which includes
// counted messages and errors.
func (req *request) addLogAttrs(e *edge) {
	req.event.Logged = req.isCounted() && req.id != nil
	req.event.Call = &web.Call{Method: req.method, Target: req.target, Input: req.rawArguments}
	method := web.Other
	if slices.Contains(servedMethods, req.method) {
		method = req.method
	} else if req.id == nil {
		method = "notification"
	}
	req.event.Attrs = append(req.event.Attrs, slog.String("mcp_method", method))
	if req.method == string(protocol.MethodToolsCall) {
		req.event.Attrs = append(req.event.Attrs, slog.String("mcp_tool", e.toolLabel(req.target)))
	}
}

// toolLabel returns the name of a tool, or web.Other for an unknown one.
func (e *edge) toolLabel(name string) string {
	if e.tools[name] != nil {
		return name
	}
	return web.Other
}

// metricLabel returns the metric label of a counted message: its tool or its method.
func (req *request) metricLabel(e *edge) string {
	if req.method == string(protocol.MethodToolsCall) {
		return e.toolLabel(req.target)
	}
	return req.method
}

// execute runs work for a counted message with a time limit. It returns the public error, with a
// request ID in place of internal errors and panics. The outcome is recorded for the log and the
// metrics.
func (e *edge) execute(
	ctx context.Context, meter cola.Meter, work func(context.Context, *request) (cola.QuotaState, error),
) *cola.Error {
	req := requestFrom(ctx)
	start := time.Now()
	req.handled = true
	limited, cancel := context.WithTimeout(ctx, e.opts.Timeout)
	defer cancel()
	state, err := req.callRecovered(limited, work)
	req.state = state
	req.event.Meter, req.event.Units = meter, state.Charged
	public := req.publicError(ctx, err)
	code := "ok"
	if public != nil {
		code = string(public.Code)
	}
	e.metrics.observeCall(req.metricLabel(e), code, time.Since(start))
	return public
}

// callRecovered calls work and turns a panic into an error.
func (req *request) callRecovered(
	ctx context.Context, work func(context.Context, *request) (cola.QuotaState, error),
) (state cola.QuotaState, err error) {
	defer func() {
		if p := recover(); p != nil {
			req.event.Stack = debug.Stack()
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(ctx, req)
}

// publicError returns the public form of an error, and records it for the log. Credential errors
// become HTTP errors; handlers return all others.
func (req *request) publicError(ctx context.Context, err error) *cola.Error {
	if err == nil {
		return nil
	}
	public, fault := web.PublicError(err, req.event.RequestID)
	if !errors.Is(ctx.Err(), context.Canceled) { // otherwise the client has disconnected
		req.event.Fault = fault
	}
	req.event.Code, req.event.Answer = public.Code, web.Envelope(public)
	if isAuthError(public.Code) {
		req.failure = public
	}
	return public
}

// writeRPCError writes a JSON-RPC error.
func (req *request) writeRPCError(w http.ResponseWriter, rpcErr *rpcError) {
	if req.event.Code == "" {
		req.event.Code = cola.CodeValidation
	}
	body := rpcErr.response(req.id)
	req.event.Logged, req.event.Answer = true, json.RawMessage(body)
	web.WriteJSON(w, rpcErr.status(req.modern), body)
}

// isAuthError reports whether an error concerns credentials. Such errors become HTTP errors, so
// that clients can handle them.
func isAuthError(code cola.Code) bool {
	return web.StatusOf(code) == http.StatusUnauthorized || web.StatusOf(code) == http.StatusForbidden
}

// metrics measures calls. A nil *metrics is a no-op.
type metrics struct {
	calls *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// newMetrics registers the metrics of the named tools; it returns nil without a registerer. Reads
// of resources and prompts are labeled with their methods.
func newMetrics(registerer prometheus.Registerer, names []string) *metrics {
	if registerer == nil {
		return nil
	}
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_mcp_calls_total",
			Help: "Tool calls and reads of resources and prompts, by outcome (ok or the error code).",
		}, []string{"tool", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "colaregistry_mcp_call_duration_seconds",
			Help:    "Duration of a call, including the ledger's commit but not the network.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"tool"}),
	}
	registerer.MustRegister(m.calls, m.took)
	for _, name := range slices.Concat(names,
		[]string{string(protocol.MethodResourcesRead), string(protocol.MethodPromptsGet), web.Other}) {
		m.calls.WithLabelValues(name, "ok")
		m.took.WithLabelValues(name)
	}
	return m
}

// observeCall records a call. Both labels are from fixed lists.
func (m *metrics) observeCall(tool, outcome string, took time.Duration) {
	if m != nil {
		m.calls.WithLabelValues(tool, outcome).Inc()
		m.took.WithLabelValues(tool).Observe(took.Seconds())
	}
}
