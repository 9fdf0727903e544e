package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
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
		return nil, fmt.Errorf("get keys: answered %s", response.Status)
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
		return errors.New("redirected to what is not an https URL")
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
		return 0, fmt.Errorf("the answer is longer than %d bytes", mostBody)
	}
	b.left -= n
	return n, err
}
