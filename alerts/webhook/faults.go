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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/internal/retryafter"
)

// Errors that account holders see.
const (
	faultNotSent     = "The service could not send the request."
	faultNotPublic   = "The address is not on the public internet."
	faultNotFound    = "The host name does not exist."
	faultLookup      = "The host name could not be resolved."
	faultRefused     = "The connection was refused."
	faultNotTLS      = "The receiver does not use TLS."
	faultTLS         = "The receiver rejected the TLS connection."
	faultClosed      = "The connection was closed before a response arrived."
	faultUnreachable = "The host is unreachable."
	faultNotHTTP     = "The response is not valid HTTP."
	faultWrongHost   = "The certificate is not valid for the host."
	faultExpired     = "The certificate has expired or is not yet valid."
	faultUntrusted   = "The certificate is not signed by a known authority, or its chain is incomplete."
)

// resultOf returns the result for a response.
func resultOf(response *http.Response, now time.Time) alerts.Result {
	s := alerts.Result{Status: response.StatusCode}
	switch code := response.StatusCode; {
	case code >= 200 && code < 300:
		return s
	case code >= 300 && code < 400:
		s.Fault = fmt.Sprintf("The receiver responded with status %d. Redirects are not followed.", code)
	case code == http.StatusGone:
		s.Gone, s.Fault = true, "The receiver responded with 410 (Gone), so no more messages will be sent."
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		s.RetryAfter = retryafter.Of(response.Header, now) // the dispatcher limits it
		fallthrough
	default:
		s.Fault = fmt.Sprintf("The receiver responded with status %d.", code)
	}
	return s
}

// failedResult returns the result of a request without a response.
func failedResult(ctx context.Context, timeout time.Duration, err error) alerts.Result {
	fault := faultOf(ctx, timeout, err)
	return alerts.Result{Fault: fault, OurFault: fault == faultNotSent}
}

// localErrors are errors on this machine, caused for example by too many open files or a firewall
// rule.
var localErrors = []syscall.Errno{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL, syscall.ENETDOWN,
	syscall.EAFNOSUPPORT, syscall.EACCES, syscall.EPERM,
}

// isLocal reports whether an error occurred on this machine, while connecting to the receiver or to
// a name server. A DNSError contains its cause only as text.
func isLocal(err error) bool {
	var lookup *net.DNSError
	isLookup := errors.As(err, &lookup)
	return slices.ContainsFunc(localErrors, func(local syscall.Errno) bool {
		return errors.Is(err, local) || isLookup && strings.HasSuffix(lookup.Err, local.Error())
	})
}

// faultOf describes to the account holder why a request failed, without details of our network.
func faultOf(ctx context.Context, timeout time.Duration, err error) string {
	var (
		lookup *net.DNSError
		plain  tls.RecordHeaderError
		op     *net.OpError
		addr   *net.AddrError
		cert   *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, errNotPublic):
		return faultNotPublic
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("No response within %v.", timeout)
	case isLocal(err):
		return faultNotSent
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return faultNotFound
	case errors.As(err, &lookup):
		return faultLookup
	case errors.Is(err, syscall.ECONNREFUSED):
		return faultRefused
	case errors.As(err, &cert):
		return certificateFault(cert)
	case errors.As(err, &plain):
		return faultNotTLS
	case errors.As(err, &op) && op.Op == "remote error":
		return faultTLS
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return faultClosed
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.ETIMEDOUT):
		return faultUnreachable
	case errors.As(err, &addr):
		return faultAddress
	case errors.As(err, &op) && op.Op == "dial":
		return faultUnreachable
	case errors.As(err, &op): // reading or writing failed
		return faultClosed
	}
	return faultNotHTTP
}

// certificateFault describes an invalid certificate.
func certificateFault(err error) string {
	var (
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &host):
		return faultWrongHost
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return faultExpired
	}
	return faultUntrusted
}
