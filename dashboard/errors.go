package dashboard

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// errorPage shows an error and what to do about it.
type errorPage struct {
	Status         int
	Message        string
	Details        []errorDetail
	RequestID      string // to quote in a report; for internal errors only
	RetryAfter     int64  // seconds; 0 if there is no such time, or the message states it
	Upgrade        string // page of larger plans
	RetryURL       string // address to try again, where a limit or an outage was in the way; empty for forms
	Suspended      bool
	SessionUnknown bool          // it is unknown whether somebody is signed in
	Resubmit       *resubmitForm // the refused form; may be nil
}

// errorDetail lists the problems of one field.
type errorDetail struct {
	Field    string
	Messages []string
}

// fail shows an error page.
func (req *request) fail(err error) { req.showError(err, errorPage{}) }

// failRetryable shows the page of an error that occurred before anything was done. The user is not
// at fault, so the page contains the form, to submit it again.
func (req *request) failRetryable(err error) {
	p := errorPage{}
	if req.offersResubmit(err) {
		if kept, unread := req.readResubmitForm(); unread == nil {
			p.Resubmit = &kept
		}
	}
	req.showError(err, p)
}

// offersResubmit reports whether the page of an error offers to submit the form again. Page
// fragments don't: the form is still in the page around them.
func (req *request) offersResubmit(err error) bool {
	if req.http.Method != http.MethodPost || req.http.Header.Get("Hx-Request") != "" {
		return false
	}
	shown, _ := web.PublicError(err, "")
	status := web.StatusOf(shown.Code)
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

// showError adds an error to p and shows the page.
func (req *request) showError(err error, p errorPage) {
	event := web.EventOf(req.ctx())
	if web.IsClientGone(req.http, err) {
		req.w.WriteHeader(web.StatusClientGone)
		return
	}
	shown, fault := web.PublicError(err, event.RequestID)
	event.Code = shown.Code
	if event.Fault == nil {
		event.Fault = fault
	}
	p.Status, p.Message, p.Upgrade, p.Suspended = web.StatusOf(shown.Code), shown.Message, shown.UpgradeURL,
		shown.Code == cola.CodeAccountSuspended
	if shown.Code == cola.CodeInternal {
		p.RequestID = event.RequestID
	}
	p.RetryURL = req.retryURL(p.Status)
	if shown.RetryAfter > 0 {
		seconds := web.RetrySeconds(shown.RetryAfter)
		req.w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
		if !mentionsRetry.MatchString(p.Message) {
			p.RetryAfter = seconds
		}
	}
	for field, messages := range fieldProblems(shown) {
		p.Details = append(p.Details, errorDetail{field, messages})
	}
	sortErrorDetails(p.Details)
	if err := req.show(p.Status, "error", page{Title: errorTitle(p), Data: p}); err != nil {
		web.Fail(req.w, req.http, err)
	}
}

// mentionsRetry matches messages that already say to try again, or when.
var mentionsRetry = regexp.MustCompile(`(?i)\bagain\b|\bin (a few|\d+) (seconds|minutes)\b`)

// retryURL returns the address to try again after an error with a status, or "". The callback of an
// issuer works only once, so it can't be retried.
func (req *request) retryURL(status int) string {
	passes := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	if !passes || req.http.Method != http.MethodGet || req.http.URL.Path == signInPath+"/callback" {
		return ""
	}
	return req.http.URL.RequestURI()
}

// errorTitle heads the page of a fault.
func errorTitle(p errorPage) string {
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

func (req *request) notFoundPage() error {
	return cola.Errorf(cola.CodeNotFound, "There is no page at this address. If a message or a bookmark led you "+
		"here, what it was about may have been deleted.")
}

func (req *request) methodNotAllowed() error {
	return cola.Errorf(cola.CodeMethodNotAllowed,
		"What was asked for cannot be done at this address. Go back to the page and use its buttons.")
}

type edgeKey struct{}

// ShowSessionError answers a request whose session can't be read or stored, with a page for a signed-out
// visitor. It is for auth.BrowserOptions.
//
// If the form has not been read yet, the page offers to submit it again. A form that was read may
// have been processed before storing the session failed, so it is not offered. Neither is a form
// from another site: it has not been checked for forgery yet, and our own page must not submit it.
func ShowSessionError(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := r.Context().Value(edgeKey{}).(*edge)
	if !ok {
		web.Fail(w, r, err)
		return
	}
	unknown := *e
	unknown.browsers = noSession{e.browsers}
	req := &request{edge: &unknown, w: w, http: r}
	p := errorPage{SessionUnknown: true}
	if req.offersResubmit(err) && e.crossOriginProtection().Check(r) == nil {
		if kept, unread := req.readResubmitForm(); unread == nil && len(kept.Fields) > 0 {
			p.Resubmit = &kept
		}
	}
	req.showError(err, p)
}

// noSession is Browsers for a request without a session; it stores nothing.
type noSession struct{ Browsers }

func (noSession) Put(context.Context, string, string)        {}
func (noSession) Pop(context.Context, string) string         { return "" }
func (noSession) Caller(context.Context) (cola.Caller, bool) { return cola.Caller{}, false }

// fieldProblems returns the problems of an error by field.
func fieldProblems(err error) map[string][]string {
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeValidation {
		return nil
	}
	problems := map[string][]string{}
	for field, value := range refusal.Details {
		if messages, ok := value.([]string); ok {
			problems[field] = messages
		}
	}
	return problems
}

func sortErrorDetails(details []errorDetail) {
	slices.SortFunc(details, func(a, b errorDetail) int { return strings.Compare(a.Field, b.Field) })
}

// correctable reports whether the user can correct an error. It returns the problems by field, and
// a sentence for the others.
func correctable(err error) (problems map[string][]string, sentence string, ok bool) {
	var refusal *cola.Error
	if !errors.As(err, &refusal) {
		return nil, "", false
	}
	switch refusal.Code {
	case cola.CodeValidation, cola.CodeSearchTooBroad, cola.CodeWatchlistLimit, cola.CodeDestinationLimit,
		cola.CodeDestinationExists, cola.CodeNotActive,
		cola.CodeKeyLimit:
		return fieldProblems(err), refusal.Message, true
	}
	return nil, "", false
}

// refusalDetails is correctable for saved searches and destinations: it uses the words of pages
// rather than of the API, and includes limits that the user can wait for.
func refusalDetails(err error) (problems map[string][]string, sentence string, ok bool) {
	problems, _, ok = correctable(err)
	refusal, is := errors.AsType[*cola.Error](err)
	switch {
	case !is:
		return nil, "", false
	case refusal.Code == cola.CodeIdempotencyKeyReused:
		return nil, "You have saved another search from this form already. To save this one beside it, save once more.",
			true
	case refusal.Code == cola.CodeQuotaExceeded &&
		slices.Contains([]any{"confirmations", registry.ReasonManualRuns, registry.ReasonTests},
			refusal.Details["reason"]):
		return nil, refusal.Message, true
	case !ok:
		return nil, "", false
	case len(problems) > 0:
		return problems, "Nothing was saved. Something has to be mended first:", true
	}
	return nil, refusalSentence(refusal), true
}

// refusalSentence says a refusal in the words of pages.
func refusalSentence(refusal *cola.Error) string {
	switch refusal.Code {
	case cola.CodeSearchTooBroad:
		return "A search that runs by itself needs something that narrows it: words, a name, a number, a place, a " +
			"category path, a strength, a size, or some but not all of the kinds, categories, origins or containers. " +
			"A status alone is too broad. Without a schedule it can be kept as it is."
	case cola.CodeWatchlistLimit:
		return watchlistLimitSentence(refusal)
	case cola.CodeDestinationLimit:
		return "Your account has as many destinations as it may: " + strconv.Itoa(cola.MaxDestinations) +
			". Delete one that is no longer needed first."
	case cola.CodeDestinationExists:
		return "Your account has this destination already, for the same searches; it is in the list of destinations. If its secret is lost, replace it there."
	case cola.CodeNotActive:
		return notActiveSentence(refusal)
	}
	return refusal.Message
}

func watchlistLimitSentence(refusal *cola.Error) string {
	limit, _ := refusal.Details["limit"].(int)
	switch {
	case limit == 0:
		return "Your account may have no saved search that runs by itself. Ask the operator of this service."
	case limit > cola.MaxActiveSchedules:
		return "Your account has as many saved searches as it may: " + count(limit) +
			". Delete some that are no longer needed first."
	}
	return "Your account may have " + plural(limit, "saved search that runs by itself",
		"saved searches that run by themselves") +
		", and has that many. Pause or delete another one first, or save this one paused or without a schedule."
}

// notActiveSentence explains a CodeNotActive error.
func notActiveSentence(refusal *cola.Error) string {
	state, _ := refusal.Details["state"].(string)
	reason, _ := refusal.Details["reason"].(string)
	switch {
	case state == cola.DestinationPending && strings.Contains(refusal.Message, "no challenge"):
		return "No more codes can be entered for the latest challenge. Send another challenge."
	case state == cola.DestinationPending:
		return "The endpoint has not confirmed yet. It must answer the challenge, or you enter the code from it."
	case state == cola.DestinationUnconfirmed:
		return "The owner of this address has not agreed yet. They received an email with a link to confirm; you can ask them again."
	case reason == cola.ReasonUnsubscribed:
		return "The owner of this address has unsubscribed and must agree again. You can ask them."
	case state != "":
		return "The destination is " + state + ", so nothing is sent to it. Resume it first."
	case strings.Contains(refusal.Message, "destination of this message"):
		return "Nothing is sent to the destination of this message now. Open the destination to see why, and to resume it."
	}
	return refusal.Message
}

// statusOf returns the status of an error that a caller may see.
func statusOf(err error) int { return web.StatusOf(cola.CodeOf(err)) }
