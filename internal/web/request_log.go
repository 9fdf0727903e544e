package web

import (
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
)

// LogRequest records a request in its account's request log, unless the account sends too many
// requests. It calls describe only if it records the request. registry.Service has a method of this
// type.
type LogRequest func(account cola.AccountID, failed bool, describe func() cola.LoggedRequest)

// Maximum lengths of the strings in a request log, in bytes.
const (
	maxLoggedTarget = 500
	maxLoggedInput  = 2_000
	maxLoggedAnswer = 4_000
	// maxScrubbed is the maximum length of a string that is searched for credentials. Longer
	// strings are truncated first; longer JSON is not recorded.
	maxScrubbed = 16_000
)

// Call replaces the HTTP method, path and query in the request log.
type Call struct {
	Method string
	Target string
	Input  []byte // JSON; may be nil
}

// logRequest records a request in its account's request log.
func (rec *Recorder) logRequest(r *http.Request, status int, took time.Duration) {
	e := EventOf(r.Context())
	if rec.requests == nil || !e.Logged || e.Caller.Account == 0 {
		return
	}
	if status == 0 {
		status = http.StatusOK // net/http sends it if the handler writes nothing
	}
	if e.Code != "" && status < http.StatusBadRequest {
		status = StatusOf(e.Code) // an error in an MCP result
	}
	failed := status >= http.StatusBadRequest
	rec.requests(e.Caller.Account, failed, func() cola.LoggedRequest {
		l := cola.LoggedRequest{
			RequestID: e.RequestID, Channel: e.Channel, Credential: e.Caller.Credential, Status: status, Code: e.Code,
			Duration: took, Meter: e.Meter, Units: e.Units,
		}
		if l.Units == 0 {
			l.Meter = cola.MeterNone
		}
		secrets := credentialsOf(r.Header)
		if e.Call != nil {
			l.Method, l.Target, l.Input = e.Call.Method, secrets.scrub(e.Call.Target), secrets.scrubJSON(e.Call.Input)
		} else {
			l.Method, l.Target, l.Input = r.Method, secrets.scrubPath(r.URL.EscapedPath()), secrets.scrubQuery(r.URL.RawQuery)
		}
		l.Method, l.Target, l.Input = shorten(l.Method, 20), shorten(l.Target, maxLoggedTarget), shorten(l.Input, maxLoggedInput)
		if failed && e.Answer != nil {
			if answer, err := cola.AppendJSON(nil, e.Answer); err == nil {
				l.Answer = shorten(secrets.scrub(string(answer)), maxLoggedAnswer)
			}
		}
		return l
	})
}

// shorten truncates text to a number of bytes, and replaces characters that a database can't store.
func shorten(text string, limit int) string {
	text = storable(text)
	if len(text) <= limit {
		return text
	}
	end := limit - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
