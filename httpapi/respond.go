package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
)

// body writes itself as JSON.
type body interface {
	appendJSON(b []byte) ([]byte, error)
}

// plain makes a body of any value that encoding/json can write.
func plain(v any) body { return plainBody{v} }

type plainBody struct{ v any }

func (p plainBody) appendJSON(b []byte) ([]byte, error) { return cola.AppendJSON(b, p.v) }

// appendPagination appends what encoding/json makes of p.
func appendPagination(b []byte, p cola.Pagination) []byte {
	b = cola.AppendJSONString(append(b, `{"mode":`...), p.Mode)
	b = strconv.AppendInt(append(b, `,"page":`...), int64(p.Page), 10)
	b = strconv.AppendInt(append(b, `,"per_page":`...), int64(p.PerPage), 10)
	b = strconv.AppendInt(append(b, `,"total":`...), int64(p.Total), 10)
	b = strconv.AppendInt(append(b, `,"pages":`...), int64(p.Pages), 10)
	b = strconv.AppendBool(append(b, `,"has_more":`...), p.HasMore)
	if p.NextCursor != "" {
		b = cola.AppendJSONString(append(b, `,"next_cursor":`...), p.NextCursor)
	}
	return append(b, '}')
}

// maxKeptBuffer is the largest buffer worth keeping for the next answer: a full page of labels is under 64 KiB.
const maxKeptBuffer = 256 << 10

// writeJSON sends a status and a body. Nothing has been sent when it returns an error.
func (a *api) writeJSON(w http.ResponseWriter, status int, content body) error {
	buf := a.buffers.Get().(*bytes.Buffer)
	buf.Reset()
	defer func() {
		if buf.Cap() <= maxKeptBuffer {
			a.buffers.Put(buf)
		}
	}()
	b, err := content.appendJSON(buf.AvailableBuffer())
	if err != nil {
		return err
	}
	buf.Write(b) // in place, unless it outgrew the buffer
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(buf.Len()))
	w.WriteHeader(status)
	w.Write(buf.Bytes()) // an error means that the caller is gone
	return nil
}

// answer sends what a call came to.
func (a *api) answer(w http.ResponseWriter, r *http.Request, ans answer) {
	h := w.Header()
	h.Set("Cache-Control", "private, no-store")
	if ans.etag != "" {
		h.Set("Etag", ans.etag)
		h.Set("Cache-Control", "private, no-cache") // may be kept, is asked for again with its tag
	}
	if ans.notModified {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if err := a.writeJSON(w, http.StatusOK, ans.body); err != nil {
		a.fail(w, r, err)
	}
}

// statusClientGone is what a request is logged with whose caller went away before its answer.
const statusClientGone = 499

// fail sends an error in the envelope.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	event := eventOf(r)
	if errors.Is(err, context.Canceled) && errors.Is(r.Context().Err(), context.Canceled) {
		w.WriteHeader(statusClientGone)
		return
	}
	shown, fault := shownError(err, event.requestID)
	if event.fault == nil { // else it is noted more exactly
		event.fault = fault
	}
	event.code = shown.Code
	h := w.Header()
	h.Set("Cache-Control", "private, no-store")
	h.Del("Etag")
	if shown.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(retrySeconds(shown.RetryAfter), 10))
	}
	if shown.Code == cola.CodeUnauthorized {
		h.Set("Www-Authenticate", challenge(r.Header))
	}
	if err := a.writeJSON(w, statusOf(shown.Code), plain(envelope(shown))); err != nil {
		// The details hold what JSON cannot say. The error itself is still told.
		event.fault = errors.Join(event.fault, err)
		bare := &cola.Error{Code: shown.Code, Message: shown.Message}
		a.writeJSON(w, statusOf(shown.Code), plain(envelope(bare)))
	}
}

// challenge is the WWW-Authenticate of a 401 (RFC 6750, section 3): it names an error only when credentials were sent.
func challenge(sent http.Header) string {
	if sent.Get("Authorization") == "" && sent.Get("X-Api-Key") == "" {
		return `Bearer realm="colaregistry"`
	}
	return `Bearer realm="colaregistry", error="invalid_token"`
}

// setQuota sets the five quota headers, unless the state is not known.
func setQuota(h http.Header, q cola.QuotaState) {
	if !q.Known() {
		return
	}
	h.Set("X-Detail-Views-Limit", strconv.Itoa(q.Limits.DetailViews))
	h.Set("X-Detail-Views-Remaining", strconv.Itoa(q.DetailViewsRemaining()))
	h.Set("X-List-Records-Limit", strconv.Itoa(q.Limits.ListRecords))
	h.Set("X-List-Records-Remaining", strconv.Itoa(q.ListRecordsRemaining()))
	h.Set("X-Quota-Reset", strconv.FormatInt(q.Period.End().Unix(), 10))
}
