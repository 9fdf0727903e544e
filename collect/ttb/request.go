package ttb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/ingest/ttbpage"
	"github.com/colaregistry/colaregistry/internal/retryafter"
)

// Limits on the size of response bodies, after decompression.
const (
	maxPage   = 1 << 20
	maxExport = 16 << 20
	maxImage  = 32 << 20
)

// Limits on one call.
const (
	maxRedirects = 5
	maxDuration  = 10 * time.Minute // time limit for one response
)

// searchPage is the page that opens a session. The site also redirects to it when a session has
// expired.
const searchPage = "publicSearchColasBasic.do"

// request is a request to the site.
type request struct {
	path    string // relative to the base URL
	query   string
	form    url.Values // form of a POST; nil for a GET
	referer string     // path and query of the page with the link, or empty
	limit   int64      // bytes of the response body
	opens   bool       // it opens a session, so a redirect to the search page doesn't mean that the session has expired
}

// answer is a response from the site with status 200.
type answer struct {
	body []byte
	page *ttbpage.Page // nil if the body is not HTML
}

// do sends a request and follows redirects within the site. It returns ErrSessionExpired if the
// site redirects to the search page or serves it instead.
func (c *Client) do(ctx context.Context, r request) (answer, error) {
	address := c.address(r.path, r.query)
	for range maxRedirects {
		if err := c.wait(ctx); err != nil {
			return answer{}, err
		}
		response, body, err := c.send(ctx, r, address)
		if err != nil {
			return answer{}, err
		}
		next, err := c.redirect(response)
		if next == nil || err != nil {
			return judge(r, response, body, err)
		}
		if !r.opens && c.isSearchPage(next) {
			return answer{}, ErrSessionExpired
		}
		address, r.form = next, nil
	}
	return answer{}, &TemporaryError{Err: errors.New("too many redirects")}
}

func (c *Client) address(file, query string) *url.URL {
	address := c.base.JoinPath(file)
	address.RawQuery = query
	return address
}

// redirect returns the address to follow, or nil if the response is not a redirect.
func (c *Client) redirect(response *http.Response) (*url.URL, error) {
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	next, err := response.Location()
	if err != nil {
		return nil, &TemporaryError{Status: response.StatusCode, Err: fmt.Errorf("redirect: %w", err)}
	}
	if next.Scheme != c.base.Scheme || next.Host != c.base.Host {
		// During maintenance, for example.
		err := fmt.Errorf("the site redirects to another host, %s", next.Redacted())
		return nil, &TemporaryError{Status: response.StatusCode, Err: err}
	}
	return next, nil
}

// isSearchPage reports whether an address is that of the search page. The site may add the session
// ID to it (";jsessionid=").
func (c *Client) isSearchPage(address *url.URL) bool {
	file, _, _ := strings.Cut(path.Base(address.Path), ";")
	return file == searchPage
}

// send sends one request and reads the response, whatever its status. If the site's certificate
// can't be verified because its issuer is missing, it fetches the issuer and tries again.
func (c *Client) send(ctx context.Context, r request, address *url.URL) (*http.Response, []byte, error) {
	for {
		response, body, err := c.sendOnce(ctx, r, address)
		var missing *missingIssuer
		switch {
		case err == nil:
			return response, body, nil
		case ctx.Err() != nil:
			return nil, nil, fmt.Errorf("%s: %w", r.path, ctx.Err())
		case errors.Is(err, errTooLarge):
			return nil, nil, fmt.Errorf("%s: %w", r.path, err)
		case !errors.As(err, &missing):
			return nil, nil, &TemporaryError{Err: fmt.Errorf("%s: %w", r.path, err)}
		}
		if err := c.verifier.fetch(ctx, missing); err != nil {
			if ctx.Err() != nil {
				return nil, nil, fmt.Errorf("%s: %w", r.path, ctx.Err())
			}
			return nil, nil, &TemporaryError{Err: fmt.Errorf("%s: %w; fetch its issuer: %w", r.path, missing, err)}
		}
		c.log.Debug("fetched the issuer of the site's certificate", "issuer", missing.cert.Issuer.String())
	}
}

var (
	errTooLarge = errors.New("the response is too large")
	errStalled  = errors.New("the response stalled")
	errTooSlow  = errors.New("the response took too long")
)

func (c *Client) sendOnce(ctx context.Context, r request, address *url.URL) (*http.Response, []byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(maxDuration, func() { cancel(errTooSlow) }).Stop()

	method, content := http.MethodGet, io.Reader(nil)
	if r.form != nil {
		method, content = http.MethodPost, strings.NewReader(r.form.Encode())
	}
	q, err := http.NewRequestWithContext(ctx, method, address.String(), content)
	if err != nil {
		return nil, nil, err
	}
	q.Header.Set("User-Agent", c.userAgent)
	if r.form != nil {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if file, query, _ := strings.Cut(r.referer, "?"); file != "" {
		q.Header.Set("Referer", c.address(file, query).String())
	}
	start := time.Now()
	response, err := c.http.Do(q)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := c.read(response.Body, r.limit, cancel)
	if cause := context.Cause(ctx); err != nil && errors.Is(err, context.Canceled) && cause != nil {
		err = cause
	}
	c.log.Debug("request", "method", method, "path", r.path, "query", r.query,
		"status", response.StatusCode, "bytes", len(body), "duration", time.Since(start))
	return response, body, err
}

// read reads a body. It cancels the request if the body stalls.
func (c *Client) read(body io.Reader, limit int64, cancel context.CancelCauseFunc) ([]byte, error) {
	timer := time.AfterFunc(c.idle, func() { cancel(errStalled) })
	defer timer.Stop()
	var b bytes.Buffer
	_, err := io.Copy(&b, io.LimitReader(readerFunc(func(p []byte) (int, error) {
		n, err := body.Read(p)
		timer.Reset(c.idle)
		return n, err
	}), limit+1))
	if err == nil && int64(b.Len()) > limit {
		err = fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)
	}
	return b.Bytes(), err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// judge returns the answer in a response, or the corresponding error. Block pages can have any
// status.
func judge(r request, response *http.Response, body []byte, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	a := answer{body: body}
	if isHTML(response, body) {
		if a.page, err = ttbpage.Parse(body[:min(len(body), maxPage)]); err != nil {
			return answer{}, &TemporaryError{Status: response.StatusCode, Err: err}
		}
		if kind := a.page.Kind; kind == ttbpage.Blocked || kind == ttbpage.Captcha {
			return answer{}, &BlockedError{Page: kind, SupportID: a.page.SupportID()}
		}
	}
	switch status := response.StatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return answer{}, &BlockedError{Page: ttbpage.Blocked}
	case status == http.StatusNotFound || status == http.StatusGone:
		return answer{}, &TemporaryError{Status: status, Err: errNotFound}
	case status != http.StatusOK:
		return answer{}, &TemporaryError{Status: status, After: min(retryafter.Of(response.Header, time.Now()), maxRetryAfter)}
	}
	if a.page != nil && !r.opens && (a.page.Kind == ttbpage.SearchForm || a.page.Kind == ttbpage.SessionEnded) {
		return answer{}, ErrSessionExpired
	}
	return a, nil
}

// isHTML reports whether a response is a page. The site sometimes serves a page in place of a file,
// with the content type of either.
func isHTML(response *http.Response, body []byte) bool {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return kind == "text/html" || kind == "application/xhtml+xml" || ttbpage.IsHTML(body)
}

// maxRetryAfter limits the effect of a wrong Retry-After.
const maxRetryAfter = 24 * time.Hour

// complete checks that an answer is a complete page of the given kind. The site sometimes sends
// truncated pages.
func (a *answer) complete(kind ttbpage.Kind) error {
	switch {
	case a.page == nil:
		return unexpected("the site returned a file instead of a %s", kind)
	case a.page.Kind != kind:
		return unexpected("expected a %s, but got: %s", kind, a.page.Kind)
	case !bytes.Contains(bytes.ToLower(a.body), []byte("</html")):
		return unexpected("the %s is incomplete: it has no </html>", kind)
	}
	return nil
}

// unexpected returns the error for an unusable answer with status 200.
func unexpected(format string, args ...any) error {
	return &TemporaryError{Status: http.StatusOK, Err: fmt.Errorf(format, args...)}
}
