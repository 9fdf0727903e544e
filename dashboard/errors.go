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
	RequestID      string // set for internal errors only
	RetryAfter     int64  // seconds, or 0 if unknown or stated in the message
	Upgrade        string // upgrade page
	RetryURL       string // URL to retry after a limit or an outage; not for forms
	Suspended      bool
	SessionUnknown bool          // the session could not be read
	Resubmit       *resubmitForm // the rejected form; may be nil
}

// errorDetail lists the problems with one field.
type errorDetail struct {
	Field    string
	Messages []string
}

// fail shows an error page.
func (req *request) fail(err error) { req.showError(err, errorPage{}) }

// failRetryable shows the page for an error that occurred before the request had any effect. After
// a server error or an exceeded limit, the page offers to submit the form again.
func (req *request) failRetryable(err error) {
	p := errorPage{}
	if req.offersResubmit(err) {
		if form, formErr := req.readResubmitForm(); formErr == nil {
			p.Resubmit = &form
		}
	}
	req.showError(err, p)
}

// offersResubmit reports whether an error page offers to submit the form again. Page fragments
// don't: the form is still in the page around them.
func (req *request) offersResubmit(err error) bool {
	if req.http.Method != http.MethodPost || req.http.Header.Get("Hx-Request") != "" {
		return false
	}
	public, _ := web.PublicError(err, "")
	status := web.StatusOf(public.Code)
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

// showError adds an error to p and shows the page.
func (req *request) showError(err error, p errorPage) {
	event := web.EventOf(req.ctx())
	if web.IsClientGone(req.http, err) {
		req.w.WriteHeader(web.StatusClientGone)
		return
	}
	public, fault := web.PublicError(err, event.RequestID)
	event.Code, event.Answer = public.Code, web.Envelope(public)
	if event.Fault == nil {
		event.Fault = fault
	}
	p.Status, p.Message, p.Upgrade, p.Suspended = web.StatusOf(public.Code), public.Message, public.UpgradeURL,
		public.Code == cola.CodeAccountSuspended
	if public.Code == cola.CodeInternal {
		p.RequestID = event.RequestID
	}
	p.RetryURL = req.retryURL(p.Status)
	if public.RetryAfter > 0 {
		seconds := web.RetrySeconds(public.RetryAfter)
		req.w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
		if !mentionsRetry.MatchString(p.Message) {
			p.RetryAfter = seconds
		}
	}
	for field, messages := range fieldProblems(public) {
		p.Details = append(p.Details, errorDetail{fieldLabel(field), messages})
	}
	if len(p.Details) > 0 {
		p.Message = "Fix these problems and try again:"
	}
	sortErrorDetails(p.Details)
	if err := req.show(p.Status, "error", page{Title: errorTitle(p.Status, public.RetryAfter > 0), Data: p}); err != nil {
		web.Fail(req.w, req.http, err)
	}
}

// mentionsRetry matches messages that already say that, or when, the user can retry.
var mentionsRetry = regexp.MustCompile(`(?i)\bagain\b|\bin (a few|\d+) (seconds|minutes)\b`)

// retryURL returns the URL to retry after an error with the given status, or "". An issuer's
// callback works only once, so it can't be retried.
func (req *request) retryURL(status int) string {
	temporary := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	if !temporary || req.http.Method != http.MethodGet || req.http.URL.Path == signInPath+"/callback" {
		return ""
	}
	return req.http.URL.RequestURI()
}

// errorTitle returns the title of an error page. waits means that the request can be retried later,
// which distinguishes an exceeded rate limit from a used-up quota.
func errorTitle(status int, waits bool) string {
	switch status {
	case http.StatusNotFound:
		return "Not found"
	case http.StatusUnauthorized:
		return "Sign-in failed"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return "Invalid request"
	case http.StatusConflict:
		return "Can’t complete this action"
	case http.StatusTooManyRequests:
		if waits {
			return "Too many requests"
		}
		return "Plan limit reached"
	case http.StatusServiceUnavailable:
		return "Temporarily unavailable"
	case http.StatusMethodNotAllowed:
		return "Action not available"
	}
	return "Something went wrong"
}

func (req *request) notFoundPage() error {
	if !req.signedIn && req.opts.NotFound != nil {
		req.opts.NotFound.ServeHTTP(req.w, req.http)
		return nil
	}
	return cola.Errorf(cola.CodeNotFound, "There is no page at this address.")
}

func (req *request) methodNotAllowed() error {
	return cola.Errorf(cola.CodeMethodNotAllowed,
		"This page doesn’t support that action. Go back to the previous page and try again.")
}

type edgeKey struct{}

// ShowSessionError shows an error page to a visitor whose session can't be read or stored, and
// treats the visitor as signed out. It is meant for auth.BrowserOptions.
//
// The page offers to submit the form again, except for:
//   - a form that was already read: it may have been processed before storing the session failed
//   - a form from another site: it hasn't been checked for forgery, so our page must not submit it
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
		if form, formErr := req.readResubmitForm(); formErr == nil && len(form.Fields) > 0 {
			p.Resubmit = &form
		}
	}
	req.showError(err, p)
}

// noSession is a Browsers for a request without a session. It stores no values.
type noSession struct{ Browsers }

func (noSession) Put(context.Context, string, string)        {}
func (noSession) Pop(context.Context, string) string         { return "" }
func (noSession) Caller(context.Context) (cola.Caller, bool) { return cola.Caller{}, false }

// fieldProblems returns the problems in an error by field, reworded for pages.
func fieldProblems(err error) map[string][]string {
	var apiErr *cola.Error
	if !errors.As(err, &apiErr) || apiErr.Code != cola.CodeValidation {
		return nil
	}
	problems := map[string][]string{}
	for field, value := range apiErr.Details {
		messages, _ := value.([]string)
		for _, m := range messages {
			problems[field] = append(problems[field], problemSentence(field, m))
		}
	}
	return problems
}

// problemSentence rewords the message about a field for pages, which have no cursors and show
// labels instead of API names.
func problemSentence(field, message string) string {
	switch field {
	case "cursor":
		return "This link is incomplete or belongs to a different search. Search again."
	case "page":
		if first, _, more := strings.Cut(message, ". "); more {
			return first + "."
		}
	}
	return quotedOrName.ReplaceAllStringFunc(message, pageName)
}

// quotedOrName matches a quoted value or an API name.
var quotedOrName = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\bfilters\.[a-z_]+|\b[a-z]+(?:_[a-z]+)+\b`)

// pageName returns the display name of a parameter, dimension or kind of similarity. It returns
// other words unchanged.
func pageName(word string) string {
	switch {
	case slices.Contains(cola.Dimensions(), word):
		return dimensionName(word)
	case slices.Contains(cola.Similarities(), word):
		return strings.ToLower(cola.SimilarityName(word))
	}
	if label := fieldLabel(word); label != word {
		return "“" + strings.TrimSuffix(label, " (%)") + "”"
	}
	return word
}

// fieldLabel returns the form label of a field, or its name if no form has the field.
func fieldLabel(name string) string {
	if field, ok := lookupField(name); ok {
		return field.Label
	}
	return exploreLabel(name)
}

func sortErrorDetails(details []errorDetail) {
	slices.SortFunc(details, func(a, b errorDetail) int { return strings.Compare(a.Field, b.Field) })
}

// correctable reports whether the user can correct an error. It returns the problems by field, if
// any, and a sentence to show above the form.
func correctable(err error) (problems map[string][]string, sentence string, ok bool) {
	var apiErr *cola.Error
	if !errors.As(err, &apiErr) {
		return nil, "", false
	}
	switch apiErr.Code {
	case cola.CodeValidation:
		return fieldProblems(err), "Fix the problems below.", true
	case cola.CodeSearchTooBroad, cola.CodeWatchlistLimit, cola.CodeDestinationLimit,
		cola.CodeDestinationExists, cola.CodeNotActive,
		cola.CodeKeyLimit:
		return nil, apiErr.Message, true
	}
	return nil, "", false
}

// formErrors is like correctable, for saved searches and destinations. Its sentences are worded for
// pages, and errors from limits that reset over time also count as correctable.
func formErrors(err error) (problems map[string][]string, sentence string, ok bool) {
	problems, _, ok = correctable(err)
	apiErr, is := errors.AsType[*cola.Error](err)
	switch {
	case !is:
		return nil, "", false
	case apiErr.Code == cola.CodeIdempotencyKeyReused:
		return nil, "You already saved a different search from this form. Save again to create another.", true
	case apiErr.Code == cola.CodeQuotaExceeded &&
		slices.Contains([]any{"confirmations", registry.ReasonManualRuns, registry.ReasonTests},
			apiErr.Details["reason"]):
		return nil, apiErr.Message, true
	case !ok:
		return nil, "", false
	case len(problems) > 0:
		return problems, "Fix these problems to save:", true
	}
	return nil, errorSentence(apiErr), true
}

// errorSentence returns the message of an error, reworded for pages.
func errorSentence(apiErr *cola.Error) string {
	switch apiErr.Code {
	case cola.CodeSearchTooBroad:
		return "Too broad to run on a schedule. Add a filter other than status or estimated dates, or choose “Manual only”. Selecting every " +
			"option in a group is the same as selecting none."
	case cola.CodeWatchlistLimit:
		return watchlistLimitSentence(apiErr)
	case cola.CodeDestinationLimit:
		return "You’ve reached the limit of " + strconv.Itoa(cola.MaxDestinations) +
			" destinations. Delete one first."
	case cola.CodeDestinationExists:
		return "You already have this destination. If you lost its secret, rotate it on the destination’s page."
	case cola.CodeNotActive:
		return notActiveSentence(apiErr)
	}
	return apiErr.Message
}

func watchlistLimitSentence(apiErr *cola.Error) string {
	limit, _ := apiErr.Details["limit"].(int)
	switch {
	case limit == 0:
		return "Your account doesn’t include alerts. Ask the operator to enable them."
	case limit > cola.MaxActiveSchedules:
		return "You’ve reached the limit of " + web.Thousands(limit) + " saved searches. Delete one first."
	}
	return "You’ve reached your limit of " + plural(limit, "active alert", "active alerts") +
		". Pause or delete one, or save this search paused or without a schedule."
}

// notActiveSentence explains a CodeNotActive error.
func notActiveSentence(apiErr *cola.Error) string {
	state, _ := apiErr.Details["state"].(string)
	reason, _ := apiErr.Details["reason"].(string)
	switch {
	case state == cola.DestinationPending:
		return "The endpoint isn’t confirmed. Have it respond to the challenge, or enter the code from the challenge yourself."
	case state == cola.DestinationUnconfirmed:
		return "The recipient hasn’t confirmed yet. You can resend the confirmation email."
	case reason == cola.ReasonUnsubscribed:
		return "The recipient unsubscribed and must confirm again. You can resend the confirmation email."
	case state != "":
		return "The destination is " + state + ". Resume it first."
	}
	return apiErr.Message
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int { return web.StatusOf(cola.CodeOf(err)) }
