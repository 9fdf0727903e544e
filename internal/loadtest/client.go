package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// requestTimeout is the time limit for each request. A slower response counts as no response.
const requestTimeout = time.Minute

// Failure is the reason that a request got no response.
type Failure uint8

// Failures.
const (
	None    Failure = iota
	Refused         // the connection was refused, so the request was not sent
	Reset           // the connection ended before the first byte of a response
	Broken          // the connection ended during the response, or the request timed out
)

// Exchange is one request over one connection, and its outcome.
type Exchange struct {
	Account  *Account
	Request  Request
	Process  int // index of the process that received it
	Sent     time.Time
	Answered time.Time // time of the complete response or the failure
	Status   int       // 0 without a response
	Units    int       // units of the request's meter in the response
	Burst    bool      // rejected by the rate limit: the request did not count
	Failure  Failure
	Problem  string // defect in the response, if any
}

// newTransport returns a transport that sends every request once, over a new connection. With
// keep-alive, the transport would resend a request when its connection breaks, although the
// original may have been charged.
func newTransport() http.RoundTripper { return &http.Transport{DisableKeepAlives: true} }

// exchange sends the request to the process at the given base URL and records the response.
func exchange(client *http.Client, address string, e Exchange) Exchange {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	var started atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { started.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/api/v1"+e.Request.Path, nil)
	if err != nil {
		panic(err) // an invalid request
	}
	req.Header.Set("X-API-Key", e.Account.Key.Reveal())
	e.Sent = time.Now()
	resp, err := client.Do(req)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	e.Answered = time.Now()
	switch {
	case err == nil:
		e.read(resp, body)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Failure = Refused
	case started.Load() || ctx.Err() != nil:
		e.Failure, e.Problem = Broken, err.Error()
	default:
		e.Failure, e.Problem = Reset, err.Error()
	}
	return e
}

// read records a response.
func (e *Exchange) read(resp *http.Response, body []byte) {
	e.Status = resp.StatusCode
	var err error
	switch e.Status {
	case http.StatusOK:
		e.Units, err = e.Request.units(body)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Burst, err = refusal(resp, body, e.Account.Tier)
	}
	refused := e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable
	switch {
	case err != nil:
		e.Problem = fmt.Sprintf("%s: %d: %v in %.200s", e.Request.Path, e.Status, err, body)
	case e.Status != e.Request.Want && !refused:
		e.Problem = fmt.Sprintf("%s: %d, want %d: %.200s", e.Request.Path, e.Status, e.Request.Want, body)
	case e.Units > e.Request.Most:
		e.Problem = fmt.Sprintf("%s: %d records, want at most %d", e.Request.Path, e.Units, e.Request.Most)
	}
}

// units returns the units of the request's meter in the body of a 200 response.
func (q Request) units(body []byte) (int, error) {
	var answer struct{ Data json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, err
	}
	switch q.Meter {
	case cola.MeterDetailViews:
		return 1, nil
	case cola.MeterListRecords:
		var rows []json.RawMessage
		if err := json.Unmarshal(answer.Data, &rows); err == nil {
			return len(rows), nil
		}
		var barcode struct{ Colas []json.RawMessage }
		err := json.Unmarshal(answer.Data, &barcode)
		return len(barcode.Colas), err
	}
	return 0, nil
}

// refusal checks a 429 or 503 response and reports whether it is from the rate limit. A 503 or a
// rate-limit error must have a Retry-After header. A quota error must have an upgrade URL, unless
// the account has the largest tier.
func refusal(resp *http.Response, body []byte, tier cola.Tier) (burst bool, err error) {
	var answer struct {
		Error struct {
			Code    cola.Code
			Details struct{ Reason string }
		}
		UpgradeURL string `json:"upgrade_url"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return false, err
	}
	const reasonBurst = "burst"
	burst = answer.Error.Details.Reason == reasonBurst
	code := cola.CodeQuotaExceeded
	if resp.StatusCode == http.StatusServiceUnavailable {
		code = cola.CodeUnavailable
	}
	switch {
	case answer.Error.Code != code:
		return burst, fmt.Errorf("code %s, want %s", answer.Error.Code, code)
	case (burst || code == cola.CodeUnavailable) && resp.Header.Get("Retry-After") == "":
		return burst, errors.New("no Retry-After header")
	case !burst && code == cola.CodeQuotaExceeded && (answer.UpgradeURL == "") != tier.Largest():
		return burst, fmt.Errorf("upgrade_url %q for the tier %s", answer.UpgradeURL, tier)
	}
	return burst, nil
}
