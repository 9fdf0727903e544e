package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// tryPath sends a read request to the API on behalf of the signed-in account, for “Try it” in the
// API reference. Only a form on this site can do so, because the request can use quota: see
// rejectCrossOrigin.
const tryPath = requestsPath + "/try"

// tryCall responds like the API, including with errors. The call is charged, limited and logged
// like one with an API key, but its credential is the session.
func (req *request) tryCall() error {
	if req.opts.API == nil {
		return req.notFoundPage()
	}
	if err := req.checkSession(); err != nil {
		web.Fail(req.w, req.http, err)
		return nil
	}
	form, err := req.form()
	if err != nil {
		web.Fail(req.w, req.http, err)
		return nil
	}
	target, err := url.Parse(form.Get("url"))
	if err != nil || target.Scheme != "" || target.Host != "" || !strings.HasPrefix(target.EscapedPath(), apiPath+"/") {
		web.Fail(req.w, req.http, cola.Errorf(cola.CodeValidation, "url must be a path that starts with %s/.", apiPath))
		return nil
	}
	call, err := http.NewRequestWithContext(req.ctx(), http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	event := web.EventOf(req.ctx())
	event.Forwarded = true
	call.Header.Set("X-Request-Id", event.RequestID)
	req.opts.API(req.w, call, req.caller)
	return nil
}

// checkSession returns the error for a session that can't send requests. Scripts need its code, not
// a page. As on authenticated pages, the sign-in's limit applies before the account is loaded, and
// the account's limit afterward.
func (req *request) checkSession() error {
	if req.caller.Account == 0 {
		return cola.Errorf(cola.CodeUnauthorized, "You’re signed out. Sign in to make calls, or use an API key.")
	}
	if !req.signedIn { // limited, or the account can't be loaded: see public
		if err := req.limiter.take(limitKey{signIn: req.caller.Credential.ID}); err != nil {
			return err
		}
		if err := req.loadAccount(); err != nil {
			return err // such as a suspended account
		}
	}
	return req.limiter.take(limitKey{account: req.caller.Account})
}
