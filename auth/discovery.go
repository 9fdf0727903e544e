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
	requestTimeout = 5 * time.Second // for discovery and keys together
	maxBody        = 1 << 20         // bytes of a response
	maxRedirects   = 3
	maxErrorLen    = 300 // in bytes, for errors that may quote a response
)

// discover reads the discovery document of an issuer into a struct.
func discover(ctx context.Context, client *http.Client, issuer string, dst any) error {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), issuer)
	if err != nil {
		return fmt.Errorf("discover: %s", truncateError(strconv.Quote(err.Error()))) // it may quote the whole response
	}
	if err := provider.Claims(dst); err != nil {
		return fmt.Errorf("discover: %w", err)
	}
	return nil
}

// fetchKeys returns the keys that an issuer publishes. It discovers their URL each time, because
// the URL can change.
func fetchKeys(ctx context.Context, client *http.Client, issuer string) (keySet, error) {
	var document struct {
		JWKSURI string `json:"jwks_uri"`
	}
	if err := discover(ctx, client, issuer, &document); err != nil {
		return nil, err
	}
	if at, err := url.Parse(document.JWKSURI); err != nil || !isTrustedURL(at) {
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
	body, err := io.ReadAll(response.Body) // the client limits the size of the body
	if err != nil {
		return nil, fmt.Errorf("get keys: %w", err)
	}
	keys, err := parseKeySet(body)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return keys, nil
}

func truncateError(s string) string {
	if len(s) > maxErrorLen {
		return s[:maxErrorLen] + "…"
	}
	return s
}

// isTrustedURL reports whether responses from a URL are authentic: over https, or from this
// machine.
func isTrustedURL(u *url.URL) bool {
	switch u.Scheme {
	case "https":
		return u.Hostname() != ""
	case "http":
		ip := net.ParseIP(u.Hostname())
		return u.Hostname() == "localhost" || ip.IsLoopback()
	}
	return false
}

// issuerClient returns the client for requests to issuers: base with defaults, or a default client
// if base is nil. It limits the size of responses.
func issuerClient(base *http.Client) *http.Client {
	client := http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: requestTimeout,
		DisableKeepAlives: true, // there are only a few requests an hour
	}}
	if base != nil {
		client = *base
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = boundedTransport{client.Transport}
	if client.CheckRedirect == nil {
		client.CheckRedirect = checkRedirect
	}
	if client.Timeout == 0 {
		client.Timeout = requestTimeout
	}
	return &client
}

func checkRedirect(next *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("redirected more than %d times", maxRedirects)
	case !isTrustedURL(next.URL), next.URL.Scheme == "http" && via[0].URL.Scheme == "https":
		return errors.New("redirect target is not an https URL")
	}
	return nil
}

// boundedTransport returns an error when a response body is longer than maxBody.
type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{ReadCloser: response.Body, left: maxBody}
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
		return 0, fmt.Errorf("the response is longer than %d bytes", maxBody)
	}
	b.left -= n
	return n, err
}

const (
	refreshAfter   = 15 * time.Minute // older documents are fetched again, and used in the meantime
	maxDocumentAge = 24 * time.Hour   // older documents are not used
	// minFetchInterval is the minimum pause between fetches, so that tokens with unknown keys
	// cannot flood the issuer. retryInterval applies while no document is usable.
	minFetchInterval = 30 * time.Second
	retryInterval    = 5 * time.Second
)

// cachedDocument caches a document that an issuer publishes: its keys or its endpoints. The
// document is fetched on demand, by one request for all waiting callers. While the issuer is
// unavailable, the cached document stays in use for up to maxDocumentAge. A cachedDocument is safe
// for concurrent use.
type cachedDocument[T any] struct {
	name   string // for the log
	issuer string
	load   func(context.Context) (T, error)
	now    cola.Clock
	log    *slog.Logger

	mu        sync.Mutex
	current   *documentVersion[T] // nil before the first fetch
	lastFetch time.Time           // start of the last fetch, or its end if it failed
	failing   bool                // the last fetch failed
	running   *pendingFetch[T]    // nil if no fetch is running
}

// documentVersion is a fetched version of a document. It never changes.
type documentVersion[T any] struct {
	value T
	at    time.Time
}

// pendingFetch is a running fetch.
type pendingFetch[T any] struct {
	at      time.Time     // start of the fetch
	done    chan struct{} // closed after version or err is set
	version *documentVersion[T]
	err     error
}

// errFetchedRecently is the error for a document that was fetched too recently to be fetched again.
var errFetchedRecently = errors.New("the issuer was contacted too recently")

// get returns the document. It waits only if there is no usable version.
func (d *cachedDocument[T]) get(ctx context.Context) (*documentVersion[T], error) {
	d.mu.Lock()
	e := d.usable()
	if e != nil && d.now().Sub(e.at) < refreshAfter {
		d.mu.Unlock()
		return e, nil
	}
	f := d.fetch()
	d.mu.Unlock()
	if e != nil {
		return e, nil
	}
	return f.wait(ctx)
}

// fetchNewer returns a version that was fetched after old. If the last fetch was too recent, it
// returns old, or an error if that fetch failed.
func (d *cachedDocument[T]) fetchNewer(ctx context.Context, old *documentVersion[T]) (*documentVersion[T], error) {
	d.mu.Lock()
	e, failing := d.usable(), d.failing
	if e != nil && e != old {
		d.mu.Unlock()
		return e, nil
	}
	f := d.fetch()
	d.mu.Unlock()
	if f == nil && !failing {
		return old, nil
	}
	return f.wait(ctx)
}

// refresh fetches the document now.
func (d *cachedDocument[T]) refresh(ctx context.Context) (*documentVersion[T], error) {
	d.mu.Lock()
	f := d.startFetch()
	d.mu.Unlock()
	return f.wait(ctx)
}

// retryAfter returns how long to wait until the issuer may be contacted again.
func (d *cachedDocument[T]) retryAfter() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.fetchInterval()-d.now().Sub(d.lastFetch), time.Second)
}

// wait returns the result of a fetch. It fails with errFetchedRecently if f is nil.
func (f *pendingFetch[T]) wait(ctx context.Context) (*documentVersion[T], error) {
	if f == nil {
		return nil, errFetchedRecently
	}
	select {
	case <-f.done:
		return f.version, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// usable returns the version that may be used, or nil. The caller must hold d.mu, as for
// fetchInterval, fetch and startFetch.
func (d *cachedDocument[T]) usable() *documentVersion[T] {
	if d.current == nil || d.now().Sub(d.current.at) >= maxDocumentAge {
		return nil
	}
	return d.current
}

func (d *cachedDocument[T]) fetchInterval() time.Duration {
	if d.usable() == nil {
		return retryInterval
	}
	return minFetchInterval
}

// fetch returns the running fetch, or starts one. If the last one was too recent, it returns nil.
func (d *cachedDocument[T]) fetch() *pendingFetch[T] {
	if d.running == nil && !d.lastFetch.IsZero() && d.now().Sub(d.lastFetch) < d.fetchInterval() {
		return nil
	}
	return d.startFetch()
}

// startFetch returns the running fetch, or starts one. The fetch continues even if its callers
// stop waiting, for at most requestTimeout.
func (d *cachedDocument[T]) startFetch() *pendingFetch[T] {
	if d.running != nil {
		return d.running
	}
	f := &pendingFetch[T]{done: make(chan struct{}), at: d.now()}
	d.running, d.lastFetch = f, f.at
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		value, err := d.load(ctx)
		d.finishFetch(f, value, err)
	}()
	return f
}

func (d *cachedDocument[T]) finishFetch(f *pendingFetch[T], value T, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer close(f.done)
	f.err = err
	if err == nil {
		f.version = &documentVersion[T]{value, f.at}
		d.current = f.version
	} else {
		d.lastFetch = d.now() // after a failure, the interval is measured from the end of the fetch
	}
	switch {
	case err != nil:
		d.log.Warn("could not fetch issuer "+d.name, "issuer", d.issuer, "error", err, "cached", d.usable() != nil)
	case d.failing:
		d.log.Info("fetched issuer "+d.name+" again after failures", "issuer", d.issuer)
	}
	d.failing, d.running = err != nil, nil
}
