package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// ReadBody reads the body of a request to its end, of which at most so many bytes are wanted. It fails with
// cola.CodePayloadTooLarge, in the words of tooLarge, with CodeRequestTimeout when the body does not come in the time that the server
// gives it, and with CodeValidation when it is cut off.
func ReadBody(r *http.Request, maxBytes int64, tooLarge string) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBytes))
	switch {
	case err == nil:
		event := EventOf(r.Context())
		event.bodyRead = true
		if event.restoreDeadline != nil {
			event.restoreDeadline()
		}
		return body, nil
	case isTooLarge(err):
		return nil, cola.Errorf(cola.CodePayloadTooLarge, tooLarge, maxBytes)
	}
	EventOf(r.Context()).bodyTruncated = true
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, cola.Errorf(cola.CodeRequestTimeout, "The body did not come in time; nothing was done. Send the whole request again.")
	}
	return nil, cola.Errorf(cola.CodeValidation, "The body could not be read to its end.")
}

const (
	// formTimeout is how long the body of a form may take whose sender proved nothing.
	formTimeout = 5 * time.Second
	// afterForm is the deadline once the body is there. net/http reads ahead while a request is served, and a deadline that
	// passes then ends the context of the request.
	afterForm = 30 * time.Second
)

// ShortenBodyTimeout shortens the time that the server gives the body of a request from a stranger, until ReadBody has read it.
func ShortenBodyTimeout(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Now().Add(formTimeout)) == nil { // fails in tests without a connection
		EventOf(r.Context()).restoreDeadline = func() { _ = control.SetReadDeadline(time.Now().Add(afterForm)) }
	}
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// Detach returns a context for what is still to be done for a request. net/http ends the context of one whose body does not come in
// time or ends early, although its caller may still be there to be answered.
func Detach(ctx context.Context) context.Context {
	if EventOf(ctx).bodyTruncated {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// closeUnread has the connection closed after an answer to a request whose body was not read. Otherwise net/http waits for the body
// before it sends the answer, for as long as the body may take.
func closeUnread(h http.Header, r *http.Request) {
	if r.ContentLength != 0 && !EventOf(r.Context()).bodyRead {
		h.Set("Connection", "close")
	}
}
