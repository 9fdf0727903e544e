package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
)

// Load has next answer with the session of the request's browser, and keeps what next changed of it before the answer begins. A request
// whose session cannot be read or kept is answered through OnFault, in place of what next says.
//
// What nobody keeps costs nothing: a browser without a session gets no cookie and no row, and one with a session is noted to be there
// once a minute.
func (b *Browsers) Load(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Cookie")
		ctx, err := b.open(r)
		if err != nil {
			b.onFault(w, r, err)
			return
		}
		sw := &sessionWriter{ResponseWriter: w, browsers: b, request: r, ctx: ctx, before: w.Header().Clone()}
		next.ServeHTTP(sw, r.WithContext(ctx))
		sw.end()
	})
}

// open reads the session of a request.
func (b *Browsers) open(r *http.Request) (context.Context, error) {
	token := b.token(r)
	ctx, err := b.sessions.Load(r.Context(), token)
	if err != nil {
		return nil, err
	}
	if token != "" && b.sessions.Token(ctx) == "" {
		// An unknown cookie is treated as no cookie, even if the address sent many: a signed-out person must be able to
		// sign in.
		_ = b.events.Failed(ctx, security.Session, nil)
	}
	s := &session{sent: r.Cookies()}
	s.kept, _ = b.sessions.Get(ctx, keptName).(kept)
	now := b.now()
	s.kept.current(now)
	s.token, s.read = b.sessions.Token(ctx), s.kept.clone()
	if s.kept.SignIn != nil && now.Sub(s.kept.Seen) >= seenEvery {
		// At once, and not when the page is done: by then another request may have kept something that this one has not seen.
		s.changed = true
		if _, err := b.keep(ctx, s); err != nil {
			return nil, err
		}
	}
	return context.WithValue(ctx, sessionKey{}, s), nil
}

// token returns what the cookie of a request holds, if it can be a token of ours.
func (b *Browsers) token(r *http.Request) string {
	cookie, err := r.Cookie(b.sessions.Cookie.Name)
	if err != nil {
		return ""
	}
	if secret, err := base64.RawURLEncoding.Strict().DecodeString(cookie.Value); err != nil || len(secret) != secretBytes {
		return ""
	}
	return cookie.Value
}

// keep writes what changed of a session; written tells that the browser's cookie may be another now. A session that holds nothing any
// more is removed. One that was never kept before gets its token here, so none is ever kept under a token that a browser made up.
func (b *Browsers) keep(ctx context.Context, s *session) (written bool, err error) {
	if !s.changed {
		return false, nil
	}
	if gone, err := b.catchUp(ctx, s); err != nil || gone {
		s.changed = err != nil
		return false, err
	}
	if s.kept.empty() {
		s.changed = false
		if b.sessions.Token(ctx) == "" {
			return b.sessions.Status(ctx) == scs.Destroyed, nil
		}
		return true, b.sessions.Destroy(ctx)
	}
	now := b.now()
	s.kept.Seen = now
	end := now.Add(AttemptFor)
	if s.kept.SignIn != nil {
		end = s.kept.SignIn.Until
	}
	b.sessions.Put(ctx, keptName, s.kept)
	b.sessions.SetDeadline(ctx, end)
	if _, _, err = b.sessions.Commit(ctx); err == nil {
		s.changed, s.read = false, s.kept.clone()
	}
	return true, err
}

// sessionWriter keeps the session before an answer begins, which is as long as there can be a cookie.
type sessionWriter struct {
	http.ResponseWriter
	browsers *Browsers
	request  *http.Request // without the session
	ctx      context.Context
	before   http.Header // as it was before next had a say
	begun    bool
	failed   bool // OnFault has answered: what next writes is dropped
}

// begin stores the session and sets the cookies, or responds that the session can't be stored. It
// stores the session even if the visitor has left.
func (w *sessionWriter) begin() {
	w.begun = true
	s := sessionOf(w.ctx)
	written, err := w.browsers.keep(context.WithoutCancel(w.ctx), s)
	if err != nil {
		w.failed = true
		clear(w.Header())
		maps.Copy(w.Header(), w.before)
	}
	for _, c := range s.cookies {
		http.SetCookie(w.ResponseWriter, c)
	}
	switch {
	case err != nil:
		w.browsers.onFault(w.ResponseWriter, w.request, err)
	case written:
		w.browsers.setCookie(w.ctx, w.ResponseWriter)
	}
}

// setCookie gives the browser the cookie of its session, or removes it where there is none any more. The library would tell how long it holds by the
// machine's clock, and not by ours.
func (b *Browsers) setCookie(ctx context.Context, w http.ResponseWriter) {
	of := b.sessions.Cookie
	c := &http.Cookie{Name: of.Name, Path: of.Path, HttpOnly: of.HttpOnly, Secure: of.Secure, SameSite: of.SameSite, MaxAge: -1}
	if token := b.sessions.Token(ctx); token != "" {
		c.Value, c.MaxAge = token, int(b.sessions.Deadline(ctx).Sub(b.now())/time.Second)+1
	}
	http.SetCookie(w, c)
}

// end keeps the session of an answer that has no body, and what was changed after the answer began, as far as that is possible.
func (w *sessionWriter) end() {
	switch s := sessionOf(w.ctx); {
	case !w.begun:
		w.begin()
	case !w.failed && s.changed && w.browsers.sessions.Token(w.ctx) != "":
		if _, err := w.browsers.keep(context.WithoutCancel(w.ctx), s); err != nil {
			w.browsers.log.Error("what was changed of a session while the answer was written could not be kept", "error", err)
		}
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *sessionWriter) WriteHeader(status int) {
	if !w.begun && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) { // others only announce an answer
		w.begin()
	}
	if !w.failed {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (w *sessionWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.begin()
	}
	if w.failed {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// FlushError is what http.ResponseController flushes with.
func (w *sessionWriter) FlushError() error {
	if !w.begun {
		w.begin()
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w *sessionWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// plainFault answers in text that a session could not be read or kept.
func (b *Browsers) plainFault(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody reads it
	}
	status, message := http.StatusInternalServerError, "Something went wrong on our side. Try again."
	var shown *cola.Error
	if errors.As(err, &shown) {
		status, message = http.StatusServiceUnavailable, shown.Message
		w.Header().Set("Retry-After", strconv.Itoa(int(max(shown.RetryAfter, time.Second)/time.Second)))
	} else {
		b.log.Error("the session of a browser could not be read or kept", "error", err)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, message+"\n")
}
