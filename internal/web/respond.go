package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
)

// StatusClientGone is what a request is logged with whose caller went away before its answer.
const StatusClientGone = 499

// Gone reports whether an error is that the caller of a request went away: nobody is there to answer.
func Gone(r *http.Request, err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(r.Context().Err(), context.Canceled)
}

// Fail sends an error in the envelope.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	event := EventOf(r.Context())
	if Gone(r, err) {
		w.WriteHeader(StatusClientGone)
		return
	}
	shown, fault := Shown(err, event.RequestID)
	if event.Fault == nil { // else it is noted more exactly
		event.Fault = fault
	}
	event.Code = shown.Code
	PrepareFailure(w, r, shown)
	b, err := cola.AppendJSON(nil, Envelope(shown))
	if err != nil {
		// The details are not valid JSON. Send the error without them.
		event.Fault = errors.Join(event.Fault, err)
		b, _ = cola.AppendJSON(nil, Envelope(&cola.Error{Code: shown.Code, Message: shown.Message}))
	}
	WriteJSON(w, StatusOf(shown.Code), b)
}

// PrepareFailure sets the headers of an error that is safe to show, for a body in any format.
func PrepareFailure(w http.ResponseWriter, r *http.Request, shown *cola.Error) {
	h := w.Header()
	h.Set("Cache-Control", "private, no-store")
	h.Del("Etag")
	closeUnread(h, r)
	if shown.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(RetrySeconds(shown.RetryAfter), 10))
	}
	if challenge := EventOf(r.Context()).resource.Challenge(r.Header, shown); challenge != "" {
		h.Set("Www-Authenticate", challenge)
	}
}

// WriteJSON sends a status and a body.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // an error means that the caller is gone
}

// SetQuota sets the five quota headers, unless the state is not known.
func SetQuota(h http.Header, q cola.QuotaState) {
	if !q.Known() {
		return
	}
	h.Set("X-Detail-Views-Limit", strconv.Itoa(q.Limits.DetailViews))
	h.Set("X-Detail-Views-Remaining", strconv.Itoa(q.DetailViewsRemaining()))
	h.Set("X-List-Records-Limit", strconv.Itoa(q.Limits.ListRecords))
	h.Set("X-List-Records-Remaining", strconv.Itoa(q.ListRecordsRemaining()))
	h.Set("X-Quota-Reset", strconv.FormatInt(q.Period.End().Unix(), 10))
}

// QuotaHeaders names the headers that tell where the account stands.
func QuotaHeaders() []string {
	return []string{
		"X-Detail-Views-Limit", "X-Detail-Views-Remaining", "X-List-Records-Limit", "X-List-Records-Remaining", "X-Quota-Reset",
	}
}
