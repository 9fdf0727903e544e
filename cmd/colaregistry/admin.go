package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// adminDrain limits how long in-flight requests, such as profiles, delay shutdown.
	adminDrain   = 3 * time.Second
	probeTimeout = 5 * time.Second
)

// admin is the admin listener: metrics, probes and profiles. It has a separate address because it
// requires no authentication. A nil *admin means that the listener is disabled.
type admin struct {
	log     *slog.Logger
	address net.Addr
	metrics *prometheus.Registry
	http    *http.Server
	ready   atomic.Pointer[func(context.Context) error] // nil while starting
	ended   chan struct{}                               // closed when the listener has stopped
}

// openAdmin starts the listener, or returns nil for an empty address. The caller must close it.
func openAdmin(env *environment, address string) (*admin, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(env, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--admin-listen: listen on %s: %w", address, err)
	}
	a := &admin{log: env.log, address: listener.Addr(), metrics: newMetricsRegistry(), ended: make(chan struct{})}
	// No write timeout: profiles take as long as requested.
	a.http = &http.Server{
		Handler: a.routes(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(env.log.Handler(), slog.LevelWarn),
	}
	a.log.Info("admin listener started", "address", a.address.String())
	if !isLoopback(a.address) {
		a.log.Warn("the admin listener requires no authentication and is reachable from other machines",
			"address", a.address.String())
	}
	go func() {
		defer close(a.ended)
		if err := a.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("admin listener failed", "error", err)
		}
	}()
	return a, nil
}

// newMetricsRegistry returns a registry with the metrics of the Go runtime and the process.
func newMetricsRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "colaregistry_build_info",
		Help:        "Always 1; labeled with the program version and the Go release.",
		ConstLabels: prometheus.Labels{"version": version(), "goversion": runtime.Version()},
	}, func() float64 { return 1 })
	r.MustRegister(build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// registerer returns the registry for metrics, or nil if they are disabled.
func (a *admin) registerer() prometheus.Registerer {
	if a == nil {
		return nil // untyped, so that the interface is nil
	}
	return a.metrics
}

// register adds metrics to the registry, unless the listener is disabled.
func (a *admin) register(metrics prometheus.Collector) {
	if a != nil {
		a.metrics.MustRegister(metrics)
	}
}

// setReady sets the readiness check. Until it is called, /readyz returns 503.
func (a *admin) setReady(ready func(context.Context) error) {
	if a != nil {
		a.ready.Store(&ready)
	}
}

// close stops the listener and waits briefly for in-flight requests.
func (a *admin) close() {
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminDrain)
	defer cancel()
	if err := a.http.Shutdown(ctx); err != nil {
		_ = a.http.Close() // aborts the remaining requests
	}
	<-a.ended
}

func (a *admin) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", a.index)
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(a.log.Handler(), slog.LevelError),
		ErrorHandling: promhttp.ContinueOnError, Registry: a.metrics,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", a.readyz)
	// Not pprof.Cmdline: the command line may contain a database URL with a password.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	return mux
}

// readyz reports whether the program is ready and, if not, why.
func (a *admin) readyz(w http.ResponseWriter, r *http.Request) {
	check := a.ready.Load()
	if check == nil {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
	defer cancel()
	if err := (*check)(ctx); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, "ok\n")
}

// index lists the paths.
func (a *admin) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>colaregistry admin</title>
<h1>colaregistry admin</h1>
<ul>
<li><a href="/metrics">/metrics</a>: Prometheus metrics
<li><a href="/debug/pprof/">/debug/pprof/</a>: profiles
<li><a href="/healthz">/healthz</a>: the process is running
<li><a href="/readyz">/readyz</a>: the server is ready for traffic
</ul>
</html>
`)
}
