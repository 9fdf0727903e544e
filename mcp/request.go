package mcp

import (
	"context"
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

// exchange is one message and what becomes of it. It travels in the context, through mcp-go, to the handler of a tool, resource
// or prompt.
type exchange struct {
	message
	caller  cola.Caller
	event   *web.Event
	state   cola.QuotaState // where the account stands after it, for the headers; unknown until it is asked for
	handled bool            // a handler has asked the service
	refused *cola.Error     // what the service said to it before a handler could ask
	failure error           // told in place of mcp-go's answer: a *rpcError, or a *cola.Error that is told by HTTP
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// counted are the methods that count in the burst. The handshake and the lists do not: a client sends them by itself.
var counted = []string{string(protocol.MethodToolsCall), string(protocol.MethodResourcesRead), string(protocol.MethodPromptsGet)}

// methods are those that are served. Others are told by one word in the log.
var methods = append([]string{
	string(protocol.MethodInitialize), string(protocol.MethodPing), string(protocol.MethodServerDiscover),
	string(protocol.MethodToolsList), string(protocol.MethodResourcesList), string(protocol.MethodResourcesTemplatesList),
	string(protocol.MethodPromptsList), string(protocol.MethodCompletionComplete), string(protocol.MethodSetLogLevel),
}, counted...)

func (x *exchange) counts() bool { return slices.Contains(counted, x.method) }

// label notes in the request's event what was asked for, in words of ours only.
func (x *exchange) label(e *edge) {
	method := web.Other
	if slices.Contains(methods, x.method) {
		method = x.method
	} else if x.id == nil {
		method = "notification"
	}
	x.event.Beside = append(x.event.Beside, slog.String("mcp_method", method))
	if x.method == string(protocol.MethodToolsCall) {
		x.event.Beside = append(x.event.Beside, slog.String("mcp_tool", e.toolLabel(x.target)))
	}
}

// toolLabel returns the name of a tool, or the word for what is none.
func (e *edge) toolLabel(name string) string {
	if e.tools[name] != nil {
		return name
	}
	return web.Other
}

// subject is what a counted message is measured under: the tool, or what else is asked for.
func (x *exchange) subject(e *edge) string {
	if x.method == string(protocol.MethodToolsCall) {
		return e.toolLabel(x.target)
	}
	return x.method
}

// attempt does the work of a counted message within its time, and returns what is safe to show of a failure: its own errors,
// and a request id in place of faults of ours, panics among them. What it returns is noted for the log and the metrics.
func (e *edge) attempt(ctx context.Context, meter cola.Meter, work func(context.Context, *exchange) (cola.QuotaState, error)) *cola.Error {
	x := exchangeOf(ctx)
	begun := time.Now()
	x.handled = true
	limited, cancel := context.WithTimeout(ctx, e.opts.Timeout)
	defer cancel()
	state, err := x.guarded(limited, work)
	x.state = state
	x.event.Meter, x.event.Units = meter, state.Charged
	shown := x.shown(ctx, err)
	code := "ok"
	if shown != nil {
		code = string(shown.Code)
	}
	e.metrics.called(x.subject(e), code, time.Since(begun))
	return shown
}

// guarded makes a panic of the work an error.
func (x *exchange) guarded(ctx context.Context, work func(context.Context, *exchange) (cola.QuotaState, error)) (state cola.QuotaState, err error) {
	defer func() {
		if p := recover(); p != nil {
			x.event.Stack = debug.Stack()
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(ctx, x)
}

// shown turns an error into one to show, and notes it. One that credentials cannot have caused is left to the handler; the
// others are told by HTTP.
func (x *exchange) shown(ctx context.Context, err error) *cola.Error {
	if err == nil {
		return nil
	}
	shown, fault := web.Shown(err, x.event.RequestID)
	if !errors.Is(ctx.Err(), context.Canceled) { // else the caller went away, and nobody is told
		x.event.Fault = fault
	}
	x.event.Code = shown.Code
	if isAccess(shown.Code) {
		x.failure = shown
	}
	return shown
}

// isAccess reports whether an error is one of credentials, which is told by HTTP so that a client can see to them.
func isAccess(code cola.Code) bool {
	return web.StatusOf(code) == http.StatusUnauthorized || web.StatusOf(code) == http.StatusForbidden
}

// metrics measures calls. A nil *metrics measures nothing.
type metrics struct {
	calls *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// newMetrics registers the metrics of an edge with these tools; there are none without a registerer. Reads of resources and
// prompts are told among the tools, by their methods.
func newMetrics(registerer prometheus.Registerer, names []string) *metrics {
	if registerer == nil {
		return nil
	}
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_mcp_calls_total",
			Help: "Calls of tools, and reads of resources and prompts, by outcome: ok, or the code of the error.",
		}, []string{"tool", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "colaregistry_mcp_call_duration_seconds",
			Help:    "Time that a call took, the ledger's commit included, without the network.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"tool"}),
	}
	registerer.MustRegister(m.calls, m.took)
	for _, name := range slices.Concat(names, []string{string(protocol.MethodResourcesRead), string(protocol.MethodPromptsGet), web.Other}) {
		m.calls.WithLabelValues(name, "ok")
		m.took.WithLabelValues(name)
	}
	return m
}

// called counts a call. Both labels are words of ours.
func (m *metrics) called(tool, outcome string, took time.Duration) {
	if m != nil {
		m.calls.WithLabelValues(tool, outcome).Inc()
		m.took.WithLabelValues(tool).Observe(took.Seconds())
	}
}
