package dashboard

import (
	"context"
	"net/http"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// faultPage tells what went wrong, and what to do.
type faultPage struct {
	Status    int
	Message   string
	Details   []faultDetail
	RequestID string // to quote; for faults of ours only
	Retry     int64  // seconds after which it is worth another try; 0: no such time
	Upgrade   string // where a larger plan is had
	Again     string // address to try again, where a limit was in the way; empty for forms
	Suspended bool
}

// faultDetail is what is wrong with one field.
type faultDetail struct {
	Field    string
	Messages []string
}

// fail answers with a page that tells of an error.
func (v *visit) fail(err error) {
	event := web.EventOf(v.ctx())
	if web.Gone(v.r, err) {
		v.w.WriteHeader(web.StatusClientGone)
		return
	}
	shown, fault := web.Shown(err, event.RequestID)
	event.Code = shown.Code
	if event.Fault == nil {
		event.Fault = fault
	}
	p := faultPage{Status: web.StatusOf(shown.Code), Message: shown.Message, Upgrade: shown.UpgradeURL, Suspended: shown.Code == cola.CodeAccountSuspended}
	if shown.Code == cola.CodeInternal {
		p.RequestID = event.RequestID
	}
	if p.Status == http.StatusTooManyRequests && v.r.Method == http.MethodGet {
		p.Again = v.r.URL.RequestURI()
	}
	if shown.RetryAfter > 0 {
		p.Retry = web.RetrySeconds(shown.RetryAfter)
		v.w.Header().Set("Retry-After", strconv.FormatInt(p.Retry, 10))
	}
	for field, messages := range problemsOf(shown) {
		p.Details = append(p.Details, faultDetail{field, messages})
	}
	sortDetails(p.Details)
	if err := v.show(p.Status, "fault", page{Title: faultTitle(p), Data: p}); err != nil {
		web.Fail(v.w, v.r, err)
	}
}

// faultTitle heads the page of a fault.
func faultTitle(p faultPage) string {
	switch p.Status {
	case http.StatusNotFound:
		return "There is nothing here"
	case http.StatusUnauthorized:
		return "You could not be signed in"
	case http.StatusForbidden:
		return "This is not allowed"
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return "This could not be understood"
	case http.StatusConflict:
		return "This cannot be done now"
	case http.StatusTooManyRequests:
		if p.Upgrade == "" {
			return "Too many requests at once"
		}
		return "The limit of your plan is reached"
	case http.StatusServiceUnavailable:
		return "The registry cannot answer right now"
	case http.StatusMethodNotAllowed:
		return "This page cannot be used so"
	}
	return "Something went wrong on our side"
}

func (v *visit) notFound() error {
	return cola.Errorf(cola.CodeNotFound, "There is no page at this address. If a message or a bookmark led you here, what it was about may have been deleted.")
}

func (v *visit) wrongMethod() error {
	return cola.Errorf(cola.CodeMethodNotAllowed, "What was asked for cannot be done at this address. Go back to the page and use its buttons.")
}

type edgeKey struct{}

// ShowFault answers a request to the dashboard whose session cannot be read or kept, with a page that knows nobody. It is for
// auth.BrowserOptions.
func ShowFault(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := r.Context().Value(edgeKey{}).(*edge)
	if !ok {
		web.Fail(w, r, err)
		return
	}
	unknown := *e
	unknown.browsers = nobody{e.browsers}
	(&visit{edge: &unknown, w: w, r: r}).fail(err)
}

// nobody is Browsers of a request without a session: nothing is kept for it.
type nobody struct{ Browsers }

func (nobody) Put(context.Context, string, string)        {}
func (nobody) Pop(context.Context, string) string         { return "" }
func (nobody) Caller(context.Context) (cola.Caller, bool) { return cola.Caller{}, false }
