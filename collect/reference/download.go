package reference

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/ingest/ttbpage"
	"github.com/colaregistry/colaregistry/internal/retryafter"
	"github.com/colaregistry/colaregistry/store"
)

// Limits on a request.
const (
	maxAttempts    = 4
	maxRedirects   = 5
	maxWait        = 2 * time.Minute // longest wait before another attempt
	connectTimeout = 30 * time.Second
	headerTimeout  = 2 * time.Minute
	idleTimeout    = time.Minute      // between parts of a response
	maxDuration    = 30 * time.Minute // for a whole response
	maxValidator   = 1000             // bytes of an ETag or Last-Modified value
)

// client sends requests. It is not safe for concurrent use.
type client struct {
	o        *Options
	http     *http.Client
	idle     time.Duration
	requests int
}

func newClient(o *Options) *client {
	return &client{o: o, idle: idleTimeout, http: &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSHandshakeTimeout:   connectTimeout,
			ResponseHeaderTimeout: headerTimeout,
			IdleConnTimeout:       time.Minute,
			ForceAttemptHTTP2:     true,
		},
		CheckRedirect: checkRedirect,
	}}
}

// errRedirect is wrapped by errors for redirects that are not followed.
var errRedirect = errors.New("redirect")

// checkRedirect limits the number of redirects and rejects insecure ones.
func checkRedirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w limit of %d exceeded", errRedirect, maxRedirects)
	case r.URL.Scheme != "https" && (r.URL.Scheme != "http" || via[len(via)-1].URL.Scheme == "https"):
		return fmt.Errorf("%w from %s to an insecure address", errRedirect, via[len(via)-1].URL.Scheme)
	}
	return nil
}

// download is a downloaded file.
type download struct {
	path        string
	contentType string
	content     store.ReferenceContent
}

// temporaryError is a failure that may not recur if the request is retried.
type temporaryError struct {
	err   error
	after time.Duration // how long the server asks to wait (Retry-After), or 0
}

func (e *temporaryError) Error() string { return e.err.Error() }
func (e *temporaryError) Unwrap() error { return e.err }

// download downloads the file of a source to a folder. It returns nil if the server reports that
// the file still matches the condition. The error is a sourceError, or comes from ctx.
func (c *client) download(
	ctx context.Context, s Source, condition store.ReferenceContent, folder string,
) (*download, error) {
	for attempt := 1; ; attempt++ {
		file, err := c.attempt(ctx, s, condition, folder)
		if err == nil {
			return file, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		temporary := (*temporaryError)(nil)
		if !errors.As(err, &temporary) {
			return nil, failed("%s: %w", s.URL, err)
		}
		wait := temporary.after + rand.N(c.o.Backoff<<(attempt-1))
		if attempt == maxAttempts || wait > maxWait {
			return nil, failed("%s: %w; gave up after attempt %d of %d. Try again later", s.URL, err, attempt, maxAttempts)
		}
		c.o.Logger.Warn("download failed; retrying", "source", s.Name, "error", err, "attempt", attempt, "wait", wait)
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// attempt sends one request and follows redirects.
func (c *client) attempt(
	ctx context.Context, s Source, condition store.ReferenceContent, folder string,
) (*download, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(maxDuration, func() { cancel(errTooSlow) }).Stop()

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", c.o.UserAgent)
	if condition.ETag != "" {
		r.Header.Set("If-None-Match", condition.ETag)
	}
	if condition.LastModified != "" {
		r.Header.Set("If-Modified-Since", condition.LastModified)
	}
	c.requests++
	response, err := c.http.Do(r)
	switch {
	case errors.Is(err, errRedirect):
		return nil, withoutURL(err)
	case err != nil:
		return nil, &temporaryError{err: withoutURL(err)}
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != "" {
		return nil, nil
	}
	if err := c.checkStatus(response, s); err != nil {
		return nil, err
	}
	file := &download{
		path: filepath.Join(folder, "file"), contentType: response.Header.Get("Content-Type"),
		content: store.ReferenceContent{
			URL: s.URL, ETag: validator(response, "ETag"), LastModified: validator(response, "Last-Modified"),
		},
	}
	file.content.Hash, err = c.save(response.Body, file.path, cancel)
	if err == nil {
		return file, nil
	}
	if cause := context.Cause(ctx); cause != nil { // the download stalled, for example
		err = &temporaryError{err: cause}
	}
	return nil, err
}

// Errors that end a download.
var (
	errTooSlow = fmt.Errorf("the download took more than %s", maxDuration)
	errStalled = errors.New("the download stalled")
)

// checkStatus returns an error unless the response contains the file.
func (c *client) checkStatus(response *http.Response, s Source) error {
	status := response.StatusCode
	err := fmt.Errorf("the server returned status %s", response.Status)
	switch {
	case status == http.StatusOK:
		return nil
	case status == http.StatusNotFound || status == http.StatusGone:
		return fmt.Errorf("%w; the file may have moved. Find its new address on %s and set it (%s)",
			err, s.Page, s.option())
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return &temporaryError{err: err, after: retryafter.Of(response.Header, time.Now())}
	}
	return err
}

// validator returns a header's value, which later requests send back, or "" if that would be
// unsafe.
func validator(response *http.Response, name string) string {
	value := response.Header.Get(name)
	if len(value) > maxValidator || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return value
}

// save writes a body to a file and returns its hash. It cancels the request if the body stalls.
func (c *client) save(body io.Reader, path string, cancel context.CancelCauseFunc) (hash []byte, err error) {
	timer := time.AfterFunc(c.idle, func() { cancel(errStalled) })
	defer timer.Stop()
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	buffer := make([]byte, 64<<10)
	for size := int64(0); ; {
		n, readErr := body.Read(buffer)
		timer.Reset(c.idle)
		if size += int64(n); size > c.o.MaxBytes {
			return nil, fmt.Errorf("the file has more than %d bytes", c.o.MaxBytes)
		}
		sum.Write(buffer[:n])
		if _, err := f.Write(buffer[:n]); err != nil {
			return nil, err
		}
		switch {
		case readErr == io.EOF:
			return sum.Sum(nil), nil
		case readErr != nil: // for example, fewer bytes than Content-Length states
			return nil, &temporaryError{err: fmt.Errorf("the download ended after %d bytes: %w", size, withoutURL(readErr))}
		}
	}
}

// check rejects empty files and web pages before package ingest reads them.
func (d *download) check() error {
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	kind, _, _ := mime.ParseMediaType(d.contentType)
	switch {
	case err == io.EOF:
		return errors.New("the file is empty")
	case err != nil && err != io.ErrUnexpectedEOF:
		return err
	case kind == "text/html", kind == "application/xhtml+xml", ttbpage.IsHTML(head[:n]):
		return errors.New("the server returned a web page instead of the file")
	}
	return nil
}

// withoutURL removes the method and the URL from an http.Client error, for messages that already
// include the URL.
func withoutURL(err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// sleep waits for d, or until ctx is canceled.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
