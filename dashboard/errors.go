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

// faultPage tells what went wrong, and what to do.
type faultPage struct {
	Status    int
	Message   string
	Details   []faultDetail
	RequestID string // to quote; for faults of ours only
	Retry     int64  // seconds after which it is worth another try; 0: no such time, or the message tells it
	Upgrade   string // where a larger plan is had
	Again     string // address to try again, where a limit or an outage was in the way; empty for forms
	Suspended bool
	Unknown   bool      // whether somebody is signed in cannot be told
	Kept      *keptForm // what was sent and not taken; nil: nothing
}

// faultDetail is what is wrong with one field.
type faultDetail struct {
	Field    string
	Messages []string
}

// fail answers with a page that tells of an error.
func (v *visit) fail(err error) { v.tell(err, faultPage{}) }

// failBefore answers with a page that tells of an error that came before anything was done. It is no fault of who filled in a form, so the form
// is kept on the page, to send it again.
func (v *visit) failBefore(err error) {
	p := faultPage{}
	if v.keeps(err) {
		if kept, unread := v.kept(); unread == nil {
			p.Kept = &kept
		}
	}
	v.tell(err, p)
}

// keeps reports whether the page of an error can keep a form that was sent: the same form may be taken later. A part of a page keeps none, since
// what is typed is still in the page around it.
func (v *visit) keeps(err error) bool {
	if v.r.Method != http.MethodPost || v.r.Header.Get("Hx-Request") != "" {
		return false
	}
	shown, _ := web.Shown(err, "")
	status := web.StatusOf(shown.Code)
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

// tell answers with a page that tells of an error, besides what the page has already.
func (v *visit) tell(err error, p faultPage) {
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
	p.Status, p.Message, p.Upgrade, p.Suspended = web.StatusOf(shown.Code), shown.Message, shown.UpgradeURL, shown.Code == cola.CodeAccountSuspended
	if shown.Code == cola.CodeInternal {
		p.RequestID = event.RequestID
	}
	p.Again = v.again(p.Status)
	if shown.RetryAfter > 0 {
		seconds := web.RetrySeconds(shown.RetryAfter)
		v.w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
		if !saysAgain.MatchString(p.Message) {
			p.Retry = seconds
		}
	}
	for field, messages := range problemsOf(shown) {
		p.Details = append(p.Details, faultDetail{field, messages})
	}
	sortDetails(p.Details)
	if err := v.show(p.Status, "fault", page{Title: faultTitle(p), Data: p}); err != nil {
		web.Fail(v.w, v.r, err)
	}
}

// saysAgain matches messages that tell already to try again, or when.
var saysAgain = regexp.MustCompile(`(?i)\bagain\b|\bin (a few|\d+) (seconds|minutes)\b`)

// again returns the address to try again after a fault of such a status; empty: there is none. Where an issuer leads back to is used once, so
// who comes from there signs in anew.
func (v *visit) again(status int) string {
	passes := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	if !passes || v.r.Method != http.MethodGet || v.r.URL.Path == signInPath+"/callback" {
		return ""
	}
	return v.r.URL.RequestURI()
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
//
// A form that nobody has read yet is kept on the page. One that was read may have been taken, when only the session could not be kept after it: its body
// is spent, and the page does not offer to send it again. Neither is a form of another site kept, as its forgery is not refused yet and our own page must
// not send it.
func ShowFault(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := r.Context().Value(edgeKey{}).(*edge)
	if !ok {
		web.Fail(w, r, err)
		return
	}
	unknown := *e
	unknown.browsers = nobody{e.browsers}
	v := &visit{edge: &unknown, w: w, r: r}
	p := faultPage{Unknown: true}
	if v.keeps(err) && e.origins().Check(r) == nil {
		if kept, unread := v.kept(); unread == nil && len(kept.Fields) > 0 {
			p.Kept = &kept
		}
	}
	v.tell(err, p)
}

// nobody is Browsers of a request without a session: nothing is kept for it.
type nobody struct{ Browsers }

func (nobody) Put(context.Context, string, string)        {}
func (nobody) Pop(context.Context, string) string         { return "" }
func (nobody) Caller(context.Context) (cola.Caller, bool) { return cola.Caller{}, false }

// problemsOf returns what a refusal says of each field of a form.
func problemsOf(err error) map[string][]string {
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

func sortDetails(details []faultDetail) {
	slices.SortFunc(details, func(a, b faultDetail) int { return strings.Compare(a.Field, b.Field) })
}

// correctable returns what a form is shown again with when the service has refused it for what its sender can mend, and whether it is so: the
// problems by field, and a sentence for those of no field.
func correctable(err error) (problems map[string][]string, sentence string, ok bool) {
	var refusal *cola.Error
	if !errors.As(err, &refusal) {
		return nil, "", false
	}
	switch refusal.Code {
	case cola.CodeValidation, cola.CodeSearchTooBroad, cola.CodeWatchlistLimit, cola.CodeDestinationLimit, cola.CodeDestinationExists, cola.CodeNotActive,
		cola.CodeKeyLimit:
		return problemsOf(err), refusal.Message, true
	}
	return nil, "", false
}

// refused returns what a form or a page is shown again with when the service has refused it for what its sender can mend: correctable, said in the words of
// pages rather than of the API. The other refusals of this area that a sender can mend are among them.
func refused(err error) (problems map[string][]string, sentence string, ok bool) {
	problems, _, ok = correctable(err)
	refusal, is := errors.AsType[*cola.Error](err)
	switch {
	case !is:
		return nil, "", false
	case refusal.Code == cola.CodeIdempotencyKeyReused:
		return nil, "You have saved another search from this form already. To save this one beside it, save once more.", true
	case refusal.Code == cola.CodeQuotaExceeded && slices.Contains([]any{"confirmations", registry.ReasonManualRuns, registry.ReasonTests}, refusal.Details["reason"]):
		return nil, refusal.Message, true
	case !ok:
		return nil, "", false
	case len(problems) > 0:
		return problems, "Nothing was saved. Something has to be mended first:", true
	}
	return nil, sentenceOf(refusal), true
}

// sentenceOf says a refusal in the words of pages.
func sentenceOf(refusal *cola.Error) string {
	switch refusal.Code {
	case cola.CodeSearchTooBroad:
		return "A search that runs by itself needs something that narrows it: words, a name, a number, a place, a category path, a strength, a size, " +
			"or some but not all of the kinds, categories, origins or containers. A status alone is too broad. Without a schedule it can be kept as it is."
	case cola.CodeWatchlistLimit:
		return limitSentence(refusal)
	case cola.CodeDestinationLimit:
		return "Your account has as many destinations as it may: " + strconv.Itoa(cola.MaxDestinations) + ". Delete one that is no longer needed first."
	case cola.CodeDestinationExists:
		return "Your account has this destination already, for the same searches; it is in the list of destinations. If its secret is lost, replace it there."
	case cola.CodeNotActive:
		return inactiveSentence(refusal)
	}
	return refusal.Message
}

func limitSentence(refusal *cola.Error) string {
	limit, _ := refusal.Details["limit"].(int)
	switch {
	case limit == 0:
		return "Your account may have no saved search that runs by itself. Ask the operator of this service."
	case limit > cola.MaxActiveSchedules:
		return "Your account has as many saved searches as it may: " + count(limit) + ". Delete some that are no longer needed first."
	}
	return "Your account may have " + plural(limit, "saved search that runs by itself", "saved searches that run by themselves") +
		", and has that many. Pause or delete another one first, or save this one paused or without a schedule."
}

// inactiveSentence says why nothing can be sent or run.
func inactiveSentence(refusal *cola.Error) string {
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
