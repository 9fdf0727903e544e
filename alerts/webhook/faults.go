package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/colaregistry/colaregistry/alerts"
)

// maxRetryAfter bounds Retry-After.
const maxRetryAfter = 7 * 24 * time.Hour

// resultOf returns the result of a response.
func resultOf(answer *http.Response, now time.Time) alerts.Result {
	s := alerts.Result{Status: answer.StatusCode}
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return s
	case code >= 300 && code < 400:
		s.Fault = fmt.Sprintf("The receiver answered %d, a redirect; redirects are not followed.", code)
	case code == http.StatusGone:
		s.Gone, s.Fault = true, "The receiver answered 410: it wants no more messages."
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		s.RetryAfter = retryAfter(answer.Header.Get("Retry-After"), now)
		fallthrough
	default:
		s.Fault = fmt.Sprintf("The receiver answered %d.", code)
	}
	return s
}

// retryAfter parses a Retry-After header in seconds or as a date. Invalid and past values are zero.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, at.Sub(now)), maxRetryAfter)
	}
	return 0
}

// faultOf describes a failed request for the account holder. It reveals only what anybody can see
// of the receiver.
func faultOf(ctx context.Context, within time.Duration, err error) string {
	var (
		lookup    *net.DNSError
		plain     tls.RecordHeaderError
		op        *net.OpError
		unchecked *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, errNotPublic):
		return "It is no address of the public internet."
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("It did not answer within %v.", within)
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "The host does not resolve."
	case errors.As(err, &lookup):
		return "The name of the host could not be looked up."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The connection was refused."
	case errors.As(err, &unchecked):
		return certificateFault(unchecked)
	case errors.As(err, &plain):
		return "It does not speak TLS."
	case errors.As(err, &op) && op.Op == "remote error":
		return "No secure connection could be made: the receiver refused it."
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "The connection was cut off before an answer came."
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.ETIMEDOUT):
		return "The host cannot be reached."
	}
	return "It gave no answer that is HTTP."
}

// certificateFault describes an invalid certificate.
func certificateFault(err error) string {
	var (
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &host):
		return "The certificate is not valid for the host."
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "The certificate has expired, or is not valid yet."
	}
	return "The certificate is not signed by an authority that is known, or its chain is not complete."
}
