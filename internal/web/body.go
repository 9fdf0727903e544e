package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/colaregistry/colaregistry/cola"
)

// ReadBody reads the body of a request to its end, of which at most so many bytes are wanted. It fails with
// cola.CodePayloadTooLarge, in the words of tooLarge, with CodeRequestTimeout when the body does not come in the time that the server
// gives it, and with CodeValidation when it is cut off.
func ReadBody(r *http.Request, most int64, tooLarge string) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	switch {
	case err == nil:
		EventOf(r.Context()).bodyRead = true
		return body, nil
	case isTooLarge(err):
		return nil, cola.Errorf(cola.CodePayloadTooLarge, tooLarge, most)
	}
	EventOf(r.Context()).bodyLost = true
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, cola.Errorf(cola.CodeRequestTimeout, "The body did not come in time; nothing was done. Send the whole request again.")
	}
	return nil, cola.Errorf(cola.CodeValidation, "The body could not be read to its end.")
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// Outlasting returns a context for what is still to be done for a request. net/http ends the context of one whose body does not come in
// time or ends early, although its caller may still be there to be answered.
func Outlasting(ctx context.Context) context.Context {
	if EventOf(ctx).bodyLost {
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
