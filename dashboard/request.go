package dashboard

import (
	"context"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// visit is one request: who makes it, and where the answer goes. Of somebody who is not signed in the caller, the quota and the account
// are zero.
type visit struct {
	*edge
	w        http.ResponseWriter
	r        *http.Request
	caller   cola.Caller
	signedIn bool
	quota    cola.QuotaState
	account  registry.Account
}

// ctx is the context of the request.
func (v *visit) ctx() context.Context { return v.r.Context() }

// path returns a parameter of the route, as the path has it: decoded once. chi takes it from the path as it was sent where that has escapes
// that mean something, such as a slash within a parameter, and else from the decoded one.
func (v *visit) path(name string) string {
	sent := chi.URLParam(v.r, name)
	if v.r.URL.RawPath == "" {
		return sent
	}
	value, err := url.PathUnescape(sent)
	if err != nil {
		return "" // names nothing
	}
	return value
}

// query returns the values in the address. What cannot be read is left out.
func (v *visit) query() url.Values { return v.r.URL.Query() }

// asked notes the quota state that an answer of the service came with, for the page to show.
func (v *visit) asked(q cola.QuotaState) {
	if q.Known() {
		v.quota = q
	}
	web.EventOf(v.ctx()).Units = v.quota.Charged
}

// leadTo sends the browser on to a page after a form was taken. The notice is shown there once.
func (v *visit) leadTo(path, notice string) error {
	if notice != "" {
		v.browsers.Put(v.ctx(), noticeKey, notice)
	}
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}

// noticeKey is what a session has the notice under that the next page shows.
const noticeKey = "notice"

// anybody serves a page that needs no sign-in; it knows who is signed in all the same.
func (e *edge) anybody(serve func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{edge: e, w: w, r: r}
		if v.caller, v.signedIn = e.browsers.Caller(r.Context()); v.signedIn {
			// A page for anybody is shown also where the account cannot be told, or was asked for too often.
			v.signedIn = e.pace.take(paced{signIn: v.caller.Credential.ID}) == nil && v.recognise() == nil
		}
		if !v.signedIn {
			web.Hurry(w, r)
		}
		v.finish(serve(v))
	}
}

// holder serves a page of an account holder, and leads others to the sign-in.
func (e *edge) holder(serve func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{edge: e, w: w, r: r}
		if v.caller, v.signedIn = e.browsers.Caller(r.Context()); !v.signedIn {
			web.Hurry(w, r)
			v.finish(v.askToSignIn(""))
			return
		}
		err := e.pace.take(paced{signIn: v.caller.Credential.ID})
		if err == nil {
			err = v.recognise()
		}
		if cola.CodeOf(err) == cola.CodeUnauthorized {
			v.signedIn = false
			v.finish(v.askToSignIn("You were signed out here. Sign in again to go on."))
			return
		}
		if err == nil {
			err = e.pace.take(paced{account: v.caller.Account})
		}
		if err != nil {
			v.failBefore(err)
			return
		}
		v.finish(serve(v))
	}
}

// recognise checks that the sign-in still holds, and learns where the account stands.
func (v *visit) recognise() error {
	event := web.EventOf(v.ctx())
	event.Channel, event.Caller = cola.ChannelDashboard, v.caller
	account, state, err := v.svc.Account(v.ctx(), v.caller)
	v.asked(state)
	if err == nil {
		v.account = account
	}
	return err
}

// askToSignIn leads to the sign-in, and from there back to this page. What was typed into a form is not lost: the form is kept on a page that
// can send it again.
func (v *visit) askToSignIn(notice string) error {
	switch {
	case v.r.Header.Get("Hx-Request") != "":
		return v.write(http.StatusOK, "again", "signedout", nil) // a part of a page, which htmx puts in its place
	case v.r.Method == http.MethodPost:
		return v.keepForm()
	}
	target := signInPath
	if v.r.URL.Path != homePath {
		target += "?" + url.Values{"return": {v.r.URL.RequestURI()}}.Encode()
	}
	return v.leadTo(target, notice)
}

// finish answers with what became of the page.
func (v *visit) finish(err error) {
	if err != nil {
		v.fail(err)
	}
}
