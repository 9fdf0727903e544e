// Package ttb is a client for TTB's Public COLA Registry.
//
// The site has no API. A search by completion date puts its results into the session, from which
// they are exported as CSV. Each label has a printable form, and opening it makes the images of the
// label available to the session. Sessions expire without notice, and the site may answer a request
// with the search page, an error page, a block page or a truncated page instead. The client
// recognizes these; see its errors.
package ttb

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// DefaultBaseURL is the address of the site.
const DefaultBaseURL = "https://ttbonline.gov/colasonline/"

// Options configures a Client.
type Options struct {
	BaseURL   string                          // default: DefaultBaseURL
	UserAgent string                          // required: names the program and the operator's contact
	Wait      func(ctx context.Context) error // called before every request to the site; its error ends the call
	RootCAs   *x509.CertPool                  // nil for the system roots
	Logger    *slog.Logger                    // nil discards
}

// Client sends requests to the site in a session. It opens the session when needed, and a new one
// when the session has expired. It is not safe for concurrent use.
type Client struct {
	base      *url.URL
	userAgent string
	wait      func(context.Context) error
	log       *slog.Logger
	http      *http.Client
	verifier  *verifier
	idle      time.Duration // how long to wait for more of a response body

	// The state of the session.
	open     bool
	searched bool        // the session has the results of a search
	form     cola.TTBID  // the label of the form opened last, or 0
	failed   failedImage // the last image for which the site returned a page
}

// failedImage identifies an image that the site failed to return.
type failedImage struct {
	label    cola.TTBID
	fileName string
}

// Time limits for a request. Searches are slow on the site.
const (
	connectTimeout = 30 * time.Second
	headerTimeout  = 2 * time.Minute
	idleTimeout    = time.Minute
)

// New returns a client without a session.
func New(o Options) (*Client, error) {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	base, err := url.Parse(o.BaseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("base URL: %w", err)
	case base.Scheme != "https" && base.Scheme != "http" || base.Hostname() == "",
		base.User != nil, base.RawQuery != "":
		return nil, fmt.Errorf("base URL %q: use an http or https URL, such as %s", o.BaseURL, DefaultBaseURL)
	case strings.TrimSpace(o.UserAgent) == "":
		return nil, errors.New("no User-Agent; name the program and the operator's contact")
	}
	base = base.JoinPath("/") // ends in a slash
	c := &Client{
		base: base, userAgent: o.UserAgent, wait: o.Wait, log: o.Logger, idle: idleTimeout,
		verifier: &verifier{host: base.Hostname(), roots: o.RootCAs, userAgent: o.UserAgent},
	}
	if c.wait == nil {
		c.wait = func(ctx context.Context) error { return ctx.Err() }
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSClientConfig:       c.verifier.config(),
			TLSHandshakeTimeout:   connectTimeout,
			ResponseHeaderTimeout: headerTimeout,
			IdleConnTimeout:       time.Minute,
			MaxIdleConnsPerHost:   1,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.close()
	return c, nil
}

// close forgets the session.
func (c *Client) close() {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // unreachable: without options, New can't fail
	}
	c.http.Jar = jar
	c.open, c.searched, c.form = false, false, 0
}
