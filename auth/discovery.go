package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	askWithin     = 5 * time.Second // for discovery and keys together
	mostBody      = 1 << 20         // bytes of a response
	mostRedirects = 3
	shownError    = 300 // bytes of an error that may quote a response
)

// discover reads the discovery document of an issuer into a struct.
func discover(ctx context.Context, client *http.Client, issuer string, into any) error {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), issuer)
	if err != nil {
		return fmt.Errorf("discover: %s", shortened(strconv.Quote(err.Error()))) // it may quote the whole response
	}
	if err := provider.Claims(into); err != nil {
		return fmt.Errorf("discover: %w", err)
	}
	return nil
}

// fetchKeys returns the keys that an issuer publishes. It discovers their address each time, since
// issuers move.
func fetchKeys(ctx context.Context, client *http.Client, issuer string) (keySet, error) {
	var document struct {
		JWKSURI string `json:"jwks_uri"`
	}
	if err := discover(ctx, client, issuer, &document); err != nil {
		return nil, err
	}
	if at, err := url.Parse(document.JWKSURI); err != nil || !isSafe(at) {
		return nil, fmt.Errorf("the jwks_uri %s is not an https URL", cola.Quoted(document.JWKSURI))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, document.JWKSURI, nil)
	if err != nil {
		return nil, fmt.Errorf("get keys: %w", err)
	}
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("get keys: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get keys: status %s", response.Status)
	}
	body, err := io.ReadAll(response.Body) // the client bounds it
	if err != nil {
		return nil, fmt.Errorf("get keys: %w", err)
	}
	keys, err := parseKeySet(body)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return keys, nil
}

func shortened(s string) string {
	if len(s) > shownError {
		return s[:shownError] + "…"
	}
	return s
}

// isSafe reports whether responses from an address are authentic: over https, or from this machine.
func isSafe(u *url.URL) bool {
	switch u.Scheme {
	case "https":
		return u.Hostname() != ""
	case "http":
		ip := net.ParseIP(u.Hostname())
		return u.Hostname() == "localhost" || ip.IsLoopback()
	}
	return false
}

// askingClient returns the client for requests to issuers: the given one with defaults, or our own. It
// bounds the size of responses.
func askingClient(given *http.Client) *http.Client {
	client := http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: askWithin,
		DisableKeepAlives: true, // a few requests an hour
	}}
	if given != nil {
		client = *given
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = boundedTransport{client.Transport}
	if client.CheckRedirect == nil {
		client.CheckRedirect = checkRedirect
	}
	if client.Timeout == 0 {
		client.Timeout = askWithin
	}
	return &client
}

func checkRedirect(next *http.Request, so []*http.Request) error {
	switch {
	case len(so) > mostRedirects:
		return fmt.Errorf("redirected more than %d times", mostRedirects)
	case !isSafe(next.URL), next.URL.Scheme == "http" && so[0].URL.Scheme == "https":
		return errors.New("redirect target is not an https URL")
	}
	return nil
}

// boundedTransport fails reading bodies longer than mostBody.
type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{ReadCloser: response.Body, left: mostBody}
	}
	return response, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)]) // one more byte shows that the body is too long
	if n > b.left {
		return 0, fmt.Errorf("the response is longer than %d bytes", mostBody)
	}
	b.left -= n
	return n, err
}

const (
	refreshAfter = 15 * time.Minute // older documents are fetched again, and used in the meantime
	keepFor      = 24 * time.Hour   // older documents are not used
	// askEvery is the least time between two fetches, so that tokens that name made-up keys cause no
	// flood of requests. askEveryWithout applies while there is no document, and nobody can sign in.
	askEvery        = 30 * time.Second
	askEveryWithout = 5 * time.Second
)

// published caches something that an issuer publishes: its keys or its endpoints. It is fetched when
// it is used, by one request for all callers that wait. While the issuer does not answer, the document
// stays in use. published is safe for concurrent use.
type published[T any] struct {
	name   string // for the log
	issuer string
	fetch  func(context.Context) (T, error)
	now    cola.Clock
	log    *slog.Logger

	mu      sync.Mutex
	latest  *edition[T]  // nil before the first
	tried   time.Time    // start of the last fetch
	failing bool         // the last fetch failed
	running *fetching[T] // nil if no fetch is running
}

// edition is a document as it was at one time. It never changes.
type edition[T any] struct {
	value T
	at    time.Time
}

// fetching is a running fetch.
type fetching[T any] struct {
	at      time.Time     // when it began
	done    chan struct{} // closed when the other fields are set
	edition *edition[T]
	err     error
}

// errAskedLately means that the issuer was asked too recently to be asked again.
var errAskedLately = errors.New("the issuer was asked a moment ago")

// get returns the document. It waits only if there is none to use.
func (p *published[T]) get(ctx context.Context) (*edition[T], error) {
	p.mu.Lock()
	e := p.current()
	if e != nil && p.now().Sub(e.at) < refreshAfter {
		p.mu.Unlock()
		return e, nil
	}
	f := p.ask()
	p.mu.Unlock()
	if e != nil {
		return e, nil
	}
	return f.wait(ctx)
}

// newer returns an edition that was fetched after another one, or the same if the issuer was asked too
// recently.
func (p *published[T]) newer(ctx context.Context, than *edition[T]) (*edition[T], error) {
	p.mu.Lock()
	e, failing := p.current(), p.failing
	if e != nil && e != than {
		p.mu.Unlock()
		return e, nil
	}
	f := p.ask()
	p.mu.Unlock()
	if f == nil && !failing {
		return than, nil
	}
	return f.wait(ctx)
}

// refresh fetches the document now.
func (p *published[T]) refresh(ctx context.Context) (*edition[T], error) {
	p.mu.Lock()
	f := p.start()
	p.mu.Unlock()
	return f.wait(ctx)
}

// retryAfter returns when the issuer may be asked again.
func (p *published[T]) retryAfter() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.pause()-p.now().Sub(p.tried), time.Second)
}

// wait returns the result of a fetch; a nil fetch is one that must not be started yet.
func (f *fetching[T]) wait(ctx context.Context) (*edition[T], error) {
	if f == nil {
		return nil, errAskedLately
	}
	select {
	case <-f.done:
		return f.edition, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// current returns the edition that may be used, or nil. The caller holds the lock, as for all that
// follow.
func (p *published[T]) current() *edition[T] {
	if p.latest == nil || p.now().Sub(p.latest.at) >= keepFor {
		return nil
	}
	return p.latest
}

func (p *published[T]) pause() time.Duration {
	if p.current() == nil {
		return askEveryWithout
	}
	return askEvery
}

// ask returns the running fetch, or starts one unless the last one was too recent: then it returns nil.
func (p *published[T]) ask() *fetching[T] {
	if p.running == nil && !p.tried.IsZero() && p.now().Sub(p.tried) < p.pause() {
		return nil
	}
	return p.start()
}

// start returns the running fetch, or starts one. It continues after its callers have left, for
// askWithin at most.
func (p *published[T]) start() *fetching[T] {
	if p.running != nil {
		return p.running
	}
	f := &fetching[T]{done: make(chan struct{}), at: p.now()}
	p.running, p.tried = f, f.at
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), askWithin)
		defer cancel()
		value, err := p.fetch(ctx)
		p.finish(f, value, err)
	}()
	return f
}

func (p *published[T]) finish(f *fetching[T], value T, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(f.done)
	if f.err = err; err == nil {
		f.edition = &edition[T]{value, f.at}
		p.latest = f.edition
	} else {
		p.tried = p.now() // the pause begins after a slow failure
	}
	switch {
	case err != nil:
		p.log.Warn("could not fetch the "+p.name+" of an issuer", "issuer", p.issuer, "error", err, "known", p.current() != nil)
	case p.failing:
		p.log.Info("fetched the "+p.name+" of an issuer again", "issuer", p.issuer)
	}
	p.failing, p.running = err != nil, nil
}
