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

// ReadBody reads the body of a request. It fails with cola.CodePayloadTooLarge if the body exceeds
// maxBytes, with CodeRequestTimeout if it does not arrive before the server's deadline, and with
// CodeValidation if it is truncated. tooLarge is the format of the message for a body that is too
// large; its argument is maxBytes.
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
		return nil, cola.Errorf(cola.CodeRequestTimeout,
			"Timed out waiting for the request body. Send the request again.")
	}
	return nil, cola.Errorf(cola.CodeValidation, "The request body is incomplete.")
}

const (
	// formTimeout is the time limit for receiving a form from an unauthenticated sender.
	formTimeout = 5 * time.Second
	// afterForm is the deadline once the body has arrived. net/http reads ahead during a request,
	// and an expired deadline would then cancel the request's context.
	afterForm = 30 * time.Second
)

// ShortenBodyTimeout shortens the timeout for the body of an unauthenticated request until ReadBody
// has read it.
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

// Detach returns a context for work that must continue even if the body did not arrive completely.
// net/http cancels the context of such a request, but the client may still be waiting for the
// response.
func Detach(ctx context.Context) context.Context {
	if EventOf(ctx).bodyTruncated {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// closeUnread closes the connection after a response if the body was not read. Otherwise net/http
// waits for the body before it sends the response.
func closeUnread(h http.Header, r *http.Request) {
	if r.ContentLength != 0 && !EventOf(r.Context()).bodyRead {
		h.Set("Connection", "close")
	}
}
