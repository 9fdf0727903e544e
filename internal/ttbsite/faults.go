package ttbsite

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is a way in which a request can fail.
type Fault string

// Kinds of faults.
const (
	None        Fault = ""
	ServerError Fault = "status 500"
	Unavailable Fault = "status 503" // with Retry-After
	TooMany     Fault = "status 429" // with Retry-After
	Truncated   Fault = "truncated"  // the connection breaks in the middle of the response
	Partial     Fault = "partial"    // the page is cut in half, but the response is valid HTTP
	Slow        Fault = "slow"       // the response is late but complete
	ErrorPage   Fault = "error page" // with status 200
	Block       Fault = "block page"
	Challenge   Fault = "captcha"
	Expired     Fault = "expired" // the session ended before the request
)

// randomFaults lists the faults that Faults.Rate applies to.
var randomFaults = []Fault{ServerError, Unavailable, Truncated}

// fault returns the fault for the request with the given number, or None.
func (s *Site) fault(number int) Fault {
	switch {
	case s.blockAt > 0 && number >= s.blockAt:
		return Block
	case len(s.inject) > 0:
		f := s.inject[0]
		s.inject = s.inject[1:]
		return f
	case s.random.Float64() < s.options.Faults.Rate:
		return randomFaults[s.random.IntN(len(randomFaults))]
	}
	return None
}

// response returns the response to a request with a fault; ok is false if the fault does not
// replace the normal response.
func (f Fault) response(o Faults) (r response, ok bool) {
	wait := strconv.Itoa(int((o.RetryAfter + time.Second - 1) / time.Second))
	switch f {
	case ServerError:
		return htmlPage(http.StatusInternalServerError,
			"<html><head><title>Error 500</title></head><body>Internal Server Error</body></html>"), true
	case Unavailable, TooMany:
		r = htmlPage(http.StatusServiceUnavailable,
			"<html><body>The site is temporarily unavailable.</body></html>")
		if f == TooMany {
			r.status = http.StatusTooManyRequests
		}
		r.header = map[string]string{"Retry-After": wait}
		return r, true
	case ErrorPage:
		return htmlPage(http.StatusOK,
			"<html><head><title>Error</title></head><body>An internal error occurred.</body></html>"), true
	case Block:
		return htmlPage(http.StatusOK, "<html><head><title>Request Rejected</title></head>"+
			"<body>The requested URL was rejected. Please consult with your administrator.<br><br>"+
			"Your support ID is: 4711471147114711<br></body></html>"), true
	case Challenge:
		return htmlPage(http.StatusOK,
			`<html><body>What code is in the image?<img src="/TSPD/captcha.png"></body></html>`), true
	}
	return response{}, false
}

// response is a response from the site.
type response struct {
	status int
	kind   string // Content-Type
	header map[string]string
	body   []byte
	file   func() ([]byte, error) // if not nil, reads or draws the body; called without the lock
}

func htmlPage(status int, body string) response {
	return response{status: status, kind: "text/html;charset=ISO-8859-1", body: []byte(body)}
}

// write sends a response and compresses text. The faults Partial and Truncated cut it short.
func (a response) write(w http.ResponseWriter, r *http.Request, f Fault) {
	body := a.body
	if a.file != nil {
		var err error
		if body, err = a.file(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if f == Partial {
		body = body[:len(body)/2]
	}
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", a.kind)
	if !strings.HasPrefix(a.kind, "image/") && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		body = compress(body)
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.status)
	if f == Truncated {
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush() // clients retry a request that got no response bytes
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body) // fails only if the client disconnected
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a buffer never fails
	_ = w.Close()
	return b.Bytes()
}
