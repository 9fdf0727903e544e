package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// request is one HTTP request with its caller. For signed-out visitors, the caller, the
// quota and the account are zero.
type request struct {
	*edge
	w        http.ResponseWriter
	http     *http.Request
	caller   cola.Caller
	signedIn bool
	quota    cola.QuotaState
	account  registry.Account
}

// ctx returns the context of the request.
func (req *request) ctx() context.Context { return req.http.Context() }

// path returns a path parameter, decoded exactly once. chi returns the escaped form if the path
// contains significant escapes, such as a slash within a parameter, and the decoded form otherwise.
func (req *request) path(name string) string {
	param := chi.URLParam(req.http, name)
	if req.http.URL.RawPath == "" {
		return param
	}
	value, err := url.PathUnescape(param)
	if err != nil {
		return "" // matches no record
	}
	return value
}

// query returns the query parameters, without malformed ones.
func (req *request) query() url.Values { return req.http.URL.Query() }

// recordQuota stores the quota state of a service call, for the page to show.
func (req *request) recordQuota(q cola.QuotaState) {
	if q.Known() {
		req.quota = q
	}
	web.EventOf(req.ctx()).Units = req.quota.Charged
}

// redirect redirects the browser after processing a form. The next page shows the notice once.
func (req *request) redirect(path, notice string) error {
	if notice != "" {
		req.browsers.Put(req.ctx(), noticeKey, notice)
	}
	http.Redirect(req.w, req.http, path, http.StatusSeeOther)
	return nil
}

// isUpdate reports whether an open page is requesting an update of its live part.
func (req *request) isUpdate() bool { return req.http.Header.Get("Hx-Request") != "" }

// updatesLeft returns how many more times an open page will update itself, at most limit. Each
// update keeps the session alive, and an unattended session must expire.
func (req *request) updatesLeft(limit int) int {
	if !req.isUpdate() {
		return limit
	}
	left, err := strconv.Atoi(req.query().Get("updates"))
	if err != nil {
		return 0
	}
	return min(max(left-1, 0), limit)
}

// An open page that shows a run or a delivery in progress updates itself.
const (
	progressSeconds    = 2
	maxProgressUpdates = 5 * 60 / progressSeconds
)

// noticeKey is the session key of the notice for the next page.
const noticeKey = "notice"

// public serves a page that needs no sign-in. It also identifies signed-in visitors.
func (e *edge) public(serve func(*request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req := &request{edge: e, w: w, http: r}
		if req.caller, req.signedIn = e.browsers.Caller(r.Context()); req.signedIn {
			// If the account can't be loaded, or the rate limit is reached, serve the page as if
			// signed out.
			req.signedIn = e.limiter.take(limitKey{signIn: req.caller.Credential.ID}) == nil && req.loadAccount() == nil
		}
		if !req.signedIn {
			web.ShortenBodyTimeout(w, r)
		}
		req.finish(serve(req))
	}
}

// authenticated serves a page that needs a sign-in, and prompts other visitors to sign in.
func (e *edge) authenticated(target route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req := &request{edge: e, w: w, http: r}
		if req.caller, req.signedIn = e.browsers.Caller(r.Context()); !req.signedIn {
			web.ShortenBodyTimeout(w, r)
			req.finish(req.promptSignIn(""))
			return
		}
		err := e.limiter.take(limitKey{signIn: req.caller.Credential.ID})
		if err == nil {
			err = req.loadAccount()
		}
		if cola.CodeOf(err) == cola.CodeUnauthorized {
			req.signedIn = false
			req.finish(req.promptSignIn("You’ve been signed out. Sign in to continue."))
			return
		}
		if err == nil {
			err = e.limiter.take(limitKey{account: req.caller.Account})
		}
		switch {
		case cola.IsDeletionRequested(err) && !target.leaving:
			req.finish(req.redirectToDeletion())
			return
		case cola.CodeOf(err) == cola.CodeAccountSuspended:
			loadErr := req.loadSuspendedAccount() // the error page shows the account's subscription
			if target.suspended || target.leaving && cola.IsDeletionRequested(err) {
				err = loadErr
			}
		}
		if err != nil {
			req.failRetryable(err)
			return
		}
		w.Header().Set("Content-Security-Policy", e.contentSecurityPolicy(anyImage))
		req.finish(target.serve(req))
	}
}

// loadAccount checks that the sign-in is still valid, and loads the account and its quota state.
func (req *request) loadAccount() error {
	event := web.EventOf(req.ctx())
	event.Channel, event.Caller = cola.ChannelDashboard, req.caller
	account, state, err := req.svc.Account(req.ctx(), req.caller)
	req.recordQuota(state)
	if err == nil {
		req.account = account
	}
	return err
}

// promptSignIn redirects to the sign-in page, which sends the visitor back here afterward. A
// submitted form is not lost: a page offers to submit it again. The root shows the landing page
// instead, unless there is a notice.
func (req *request) promptSignIn(notice string) error {
	switch {
	case req.http.Header.Get("Hx-Request") != "":
		return req.write(http.StatusOK, "signed_out", "signedout", nil) // a page fragment for htmx
	case req.http.Method == http.MethodPost:
		return req.showResubmit()
	}
	if req.http.URL.Path == homePath && notice == "" && req.opts.Landing != nil {
		req.opts.Landing.ServeHTTP(req.w, req.http)
		return nil
	}
	target := signInPath
	if req.http.URL.Path != homePath {
		target += "?" + url.Values{"return": {req.http.URL.RequestURI()}}.Encode()
	}
	return req.redirect(target, notice)
}

// finish shows the error page if err is not nil.
func (req *request) finish(err error) {
	if err != nil {
		req.fail(err)
	}
}
