package auth

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Load is middleware that loads the browser's session for next, and stores changes to it before the
// response starts. If the session can't be read or stored, OnFault responds instead of next.
//
// A browser without a session gets no cookie and no row. For a signed-in browser, the time of the
// last request is stored at most once a minute.
func (b *Browsers) Load(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Cookie")
		s, err := b.openSession(r)
		if err != nil {
			b.onFault(w, r, err)
			return
		}
		sw := &sessionWriter{ResponseWriter: w, browsers: b, session: s, request: r, before: w.Header().Clone()}
		next.ServeHTTP(sw, r.WithContext(context.WithValue(r.Context(), sessionKey{}, s)))
		sw.end()
	})
}

// sessionWriter stores the session before the response starts, when a cookie can still be set.
type sessionWriter struct {
	http.ResponseWriter
	browsers *Browsers
	session  *session
	request  *http.Request // without the session
	before   http.Header   // response header before next ran
	started  bool
	failed   bool // OnFault has responded: output of next is dropped
}

// save stores the session, even if the visitor has left.
func (w *sessionWriter) save() (*http.Cookie, error) {
	return w.browsers.saveSession(context.WithoutCancel(w.request.Context()), w.session)
}

// begin stores the session and sets the cookies, or responds with an error.
func (w *sessionWriter) begin() {
	w.started = true
	cookie, err := w.save()
	if err != nil {
		w.failed = true
		clear(w.Header())
		maps.Copy(w.Header(), w.before)
	}
	for _, c := range w.session.cookies {
		http.SetCookie(w.ResponseWriter, c)
	}
	switch {
	case err != nil:
		w.browsers.onFault(w.ResponseWriter, w.request, err)
	case cookie != nil:
		http.SetCookie(w.ResponseWriter, cookie)
	}
}

// end stores the session if the response has not started. Otherwise, if the browser has a session
// cookie, it stores changes made after the response started.
func (w *sessionWriter) end() {
	switch {
	case !w.started:
		w.begin()
	case !w.failed && w.session.token != "":
		if _, err := w.save(); err != nil {
			w.browsers.log.Error("could not store late session changes", "error", err)
		}
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *sessionWriter) WriteHeader(status int) {
	if !w.started && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) { // other 1xx are interim
		w.begin()
	}
	if !w.failed {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (w *sessionWriter) Write(p []byte) (int, error) {
	if !w.started {
		w.begin()
	}
	if w.failed {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// FlushError is called by http.ResponseController.
func (w *sessionWriter) FlushError() error {
	if !w.started {
		w.begin()
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is called by http.ResponseController.
func (w *sessionWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// plainFault responds with a plain-text error if a session could not be read or stored.
func (b *Browsers) plainFault(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the visitor has left
	}
	status, message := http.StatusInternalServerError, "Something went wrong on our side. Try again."
	var public *cola.Error
	if errors.As(err, &public) {
		status, message = http.StatusServiceUnavailable, public.Message
		w.Header().Set("Retry-After", strconv.Itoa(int(max(public.RetryAfter, time.Second)/time.Second)))
	} else {
		b.log.Error("could not read or store a session", "error", err)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, message+"\n")
}
