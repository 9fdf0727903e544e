// Package webhook posts saved-search messages to URLs, signed according to Standard Webhooks.
//
// URLs are untrusted. The sender connects only to public addresses, which it checks after resolving
// the name for each connection. It doesn't follow redirects, never uses a proxy, and reads only the
// start of a response.
//
// An unconfirmed endpoint gets only challenges, which are signed messages with a random token. The
// endpoint confirms by returning the token.
package webhook

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// responseTimeout is the time limit for a request, from name resolution to the response.
	responseTimeout = 15 * time.Second
	// readTimeout is the time limit for recording and discarding the body of a response.
	readTimeout = time.Second
	// maxDropped is the maximum number of bytes of a response's body that are read and discarded,
	// and maxHeader the maximum size of its header.
	maxDropped = 64 << 10
	maxHeader  = 64 << 10
	// maxEcho is the maximum number of bytes read from the response to a challenge.
	maxEcho = 4 << 10
)

// Options configure a Sender. Vault and PublicURL must be set.
type Options struct {
	Vault        *vault.Vault     // decrypts the secrets that sign webhooks
	PublicURL    string           // scheme and host of links, without a trailing slash
	AllowPrivate bool             // allows private addresses, and http
	Version      string           // program version, for the User-Agent
	Now          func() time.Time // default time.Now
}

// Sender posts messages. It is safe for concurrent use.
type Sender struct {
	vault     *vault.Vault
	public    string
	private   bool
	agent     string
	now       func() time.Time
	timeout   time.Duration
	dialer    *net.Dialer
	transport *http.Transport
}

var _ alerts.Sender = (*Sender)(nil)

// New returns a Sender.
func New(o Options) *Sender {
	s := &Sender{
		vault: o.Vault, public: o.PublicURL, private: o.AllowPrivate,
		agent: agent(o), now: o.Now, timeout: responseTimeout,
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.dialer = &net.Dialer{KeepAlive: -1}
	if !o.AllowPrivate {
		s.dialer.Control = publicOnly
	}
	s.transport = &http.Transport{ // Proxy is nil, so proxies in the environment are ignored
		DialContext:            s.dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		Protocols:              http1(),
		DisableKeepAlives:      true, // so that the address is checked for every message
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
	}
	return s
}

func http1() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	return p
}

// Send posts a message to its destination once. A 2xx response within 15 seconds means success.
func (s *Sender) Send(ctx context.Context, m alerts.Message) alerts.Result {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, exchange, failure := s.request(ctx, m)
	if req == nil {
		return failure
	}
	var res alerts.Result
	// RoundTrip doesn't follow redirects.
	if response, err := s.transport.RoundTrip(req); err != nil {
		res = failedResult(ctx, s.timeout, err)
	} else {
		res = resultOf(response, s.now())
		s.read(m, response, cancel, &res, &exchange)
	}
	res.Exchange = exchange
	return res
}

// read verifies the response to a challenge and records other responses, then discards the rest and
// closes the response. cancel ends the request.
func (s *Sender) read(
	m alerts.Message, response *http.Response, cancel func(), res *alerts.Result, exchange *store.Exchange,
) {
	if m.Event == cola.EventConfirm && res.Fault == "" {
		// The request's timeout also covers the body; a truncated token doesn't match.
		echo, _ := io.ReadAll(io.LimitReader(response.Body, maxEcho))
		res.Verified = s.verified(m, echo)
	}
	timer := time.AfterFunc(readTimeout, cancel)
	defer timer.Stop()
	if m.Event != cola.EventConfirm {
		s.recordResponse(m, response, exchange)
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxDropped)
	_ = response.Body.Close()
}

// verified reports whether a response is the token of the message's challenge.
func (s *Sender) verified(m alerts.Message, echo []byte) bool {
	challenge, err := s.challenge(m)
	return err == nil && challenge.AnsweredBy(echo)
}
