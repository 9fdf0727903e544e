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

// answerWithin is how long a caller waits. An answer that takes longer than this is one that does not come.
const answerWithin = time.Minute

// Failure is how a request came to have no answer.
type Failure uint8

// The failures.
const (
	None    Failure = iota
	Refused         // the connection was: the request was not sent
	Reset           // the connection ended before a byte of an answer
	Broken          // it ended within the answer, or no answer came in time
)

// Exchange is one request over one connection and what came of it.
type Exchange struct {
	Account  *Account
	Question Question
	Process  int // place of the process that it was sent to
	Sent     time.Time
	Answered time.Time // when the answer was whole, or the failure was met
	Status   int       // 0 when there is no answer
	Units    int       // of the question's meter in the answer
	Burst    bool      // refused because the window is full: the request did not count
	Failure  Failure
	Problem  string // what the answer should not have been; empty when it was right
}

// newTransport returns a transport that sends every request once, over a connection of its own: one that is kept alive and
// breaks, it would send again by itself, and the first may have been charged.
func newTransport() http.RoundTripper { return &http.Transport{DisableKeepAlives: true} }

// exchange asks the process at an address, its scheme and host, and notes the answer.
func exchange(client *http.Client, address string, e Exchange) Exchange {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	var begun atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { begun.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/api/v1"+e.Question.Path, nil)
	if err != nil {
		panic(err) // a question that is none
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
	case begun.Load() || ctx.Err() != nil:
		e.Failure, e.Problem = Broken, err.Error()
	default:
		e.Failure, e.Problem = Reset, err.Error()
	}
	return e
}

// read notes an answer.
func (e *Exchange) read(resp *http.Response, body []byte) {
	e.Status = resp.StatusCode
	var err error
	switch e.Status {
	case http.StatusOK:
		e.Units, err = e.Question.units(body)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Burst, err = refusal(resp, body)
	}
	refused := e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable
	switch {
	case err != nil:
		e.Problem = fmt.Sprintf("%s: %d: %v in %.200s", e.Question.Path, e.Status, err, body)
	case e.Status != e.Question.Want && !refused:
		e.Problem = fmt.Sprintf("%s: %d, want %d: %.200s", e.Question.Path, e.Status, e.Question.Want, body)
	case e.Units > e.Question.Most:
		e.Problem = fmt.Sprintf("%s: %d records, more than the %d asked for", e.Question.Path, e.Units, e.Question.Most)
	}
}

// units returns what the body of a 200 holds of the question's meter.
func (q Question) units(body []byte) (int, error) {
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

// refusal reads a 429 or 503, which both say why and, unless the month's quota is used up, for how long.
func refusal(resp *http.Response, body []byte) (burst bool, err error) {
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
		return burst, fmt.Errorf("the code should be %s", code)
	case (burst || code == cola.CodeUnavailable) && resp.Header.Get("Retry-After") == "":
		return burst, errors.New("there is no Retry-After")
	case !burst && code == cola.CodeQuotaExceeded && answer.UpgradeURL == "":
		return burst, errors.New("there is no upgrade_url")
	}
	return burst, nil
}
