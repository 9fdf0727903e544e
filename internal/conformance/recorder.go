package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// recorder is a reverse proxy that records requests and responses, so that a client's claims can be
// checked against its traffic. It can add an API key to every request, for clients that cannot send
// credentials.
type recorder struct {
	listener net.Listener
	server   *http.Server
	served   chan error
	count    *atomic.Int64 // exchanges across all recorders

	mu        sync.Mutex
	target    string   // host and port
	keys      []string // used in turn to spread requests over accounts, except where ownsState is true
	turn      int
	exchanges []*exchange
}

// exchange is one request and its response, without credentials.
type exchange struct {
	at           int64 // sequence number across all recorders
	server       *recorder
	agent        string // User-Agent
	method, path string
	query, form  url.Values // from the URL and from a form body
	revision     string     // protocol revision in the header
	rpcMethod    string     // method of an MCP message
	target       string     // tool, prompt or resource URI in the message
	status       int        // 0 if there was no response
	challenge    string     // WWW-Authenticate
	credentials  bool       // the request had an Authorization header
}

type exchangeKey struct{}

// newRecorder starts a recorder that returns 502 until forward is called. count numbers the
// exchanges of all recorders that share it.
func newRecorder(ctx context.Context, count *atomic.Int64) (*recorder, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &recorder{listener: listener, served: make(chan error, 1), count: count}
	proxy := &httputil.ReverseProxy{
		Rewrite:        r.rewrite,
		ModifyResponse: note,
		ErrorLog:       slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // the client gets a 502
	}
	r.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.serve(proxy, w, req) }),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { r.served <- r.server.Serve(listener) }()
	return r, nil
}

// origin returns the recorder's own scheme, host and port.
func (r *recorder) origin() string { return "http://" + r.listener.Addr().String() }

// forward makes the recorder forward requests to an address (host and port), each with one of the
// keys if there are any.
func (r *recorder) forward(address string, keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target, r.keys = address, keys
}

func (r *recorder) serve(proxy http.Handler, w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	x := newExchange(req, body)
	r.mu.Lock()
	x.at, x.server = r.count.Add(1), r
	r.exchanges = append(r.exchanges, x)
	r.mu.Unlock()
	proxy.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), exchangeKey{}, &recorded{r, x})))
}

// recorded is an exchange in flight.
type recorded struct {
	*recorder
	*exchange
}

// newExchange extracts the recorded parts of a request.
func newExchange(req *http.Request, body []byte) *exchange {
	x := &exchange{
		agent: req.UserAgent(), method: req.Method, path: req.URL.Path, query: req.URL.Query(),
		revision: req.Header.Get("Mcp-Protocol-Version"), credentials: req.Header.Get("Authorization") != "",
	}
	switch media, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type")); media {
	case "application/x-www-form-urlencoded":
		x.form, _ = url.ParseQuery(string(body)) // the server reports errors
	case "application/json":
		var message struct {
			Method string
			Params struct{ Name, URI string }
		}
		if json.Unmarshal(body, &message) == nil {
			x.rpcMethod, x.target = message.Method, message.Params.Name+message.Params.URI
		}
	}
	return x
}

// rewrite prepares the request to the server. When it adds a key, it replaces the recorder's own
// address in the Host header with the server's. It leaves other Host headers and Origin unchanged,
// because tests check how the server handles foreign ones.
func (r *recorder) rewrite(p *httputil.ProxyRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Out.URL.Scheme, p.Out.URL.Host = "http", r.target
	p.Out.Host = p.In.Host
	if len(r.keys) == 0 {
		return
	}
	if p.In.Host == r.listener.Addr().String() {
		p.Out.Host = r.target
	}
	key := r.keys[0]
	if on := p.In.Context().Value(exchangeKey{}).(*recorded); !on.ownsState() {
		key = r.keys[r.turn%len(r.keys)]
		r.turn++
	}
	p.Out.Header.Set("Authorization", "Bearer "+key)
}

// ownsState reports whether an exchange reads or changes one account's data, so that it must always
// use the same key.
func (x *exchange) ownsState() bool { return strings.Contains(x.target, "saved_search") }

// note records the response to a request.
func note(resp *http.Response) error {
	on := resp.Request.Context().Value(exchangeKey{}).(*recorded)
	on.mu.Lock()
	defer on.mu.Unlock()
	on.status, on.challenge = resp.StatusCode, resp.Header.Get("WWW-Authenticate")
	return nil
}

// since returns the exchanges after sequence number n, ordered by request.
func (r *recorder) since(n int64) (all []exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.exchanges {
		if x.at > n {
			all = append(all, *x)
		}
	}
	return all
}

// close stops the recorder and aborts requests in flight.
func (r *recorder) close() error {
	err := r.server.Close()
	if served := <-r.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// isMethod reports whether an exchange is an MCP message with one of these methods.
func (x exchange) isMethod(methods ...string) bool {
	return strings.HasPrefix(x.path, endpoint) && x.method == http.MethodPost && slices.Contains(methods, x.rpcMethod)
}
