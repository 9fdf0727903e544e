// Package webhook posts messages of saved searches to URLs, signed according to Standard Webhooks.
//
// Anybody can enter a URL. So connections are only made to public addresses, checked at the time of
// the connection, whatever the name resolved to before. Redirects are not followed, no proxy is
// used, and little of a response is read.
//
// An unconfirmed endpoint only gets challenges: signed messages with a random token. It confirms by
// responding with the token.
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
)

const (
	// responseTimeout bounds a request, from resolving the name to the response.
	responseTimeout = 15 * time.Second
	// dropTimeout bounds the reading of the rest of a response, which is ignored; most receivers
	// prefer that it is read.
	dropTimeout = time.Second
	// maxDropped and maxHeader bound the bytes of a response's body and header that are read.
	maxDropped = 64 << 10
	maxHeader  = 64 << 10
	// maxEcho bounds the bytes of the response to a challenge.
	maxEcho = 4 << 10
)

// Options configure a Sender. Vault and PublicURL must be set.
type Options struct {
	Vault        *vault.Vault     // decrypts the secrets that sign webhooks
	PublicURL    string           // scheme and host of links, without a trailing slash
	AllowPrivate bool             // allows private addresses, and http
	Version      string           // of the program, for the User-Agent
	Now          func() time.Time // nil: time.Now
}

// Sender posts messages. It is safe for concurrent use.
type Sender struct {
	vault     *vault.Vault
	public    string
	private   bool
	agent     string
	now       func() time.Time
	within    time.Duration
	dialer    *net.Dialer
	transport *http.Transport
}

var _ alerts.Sender = (*Sender)(nil)

// New returns a Sender.
func New(o Options) *Sender {
	s := &Sender{vault: o.Vault, public: o.PublicURL, private: o.AllowPrivate, agent: agent(o), now: o.Now, within: responseTimeout}
	if s.now == nil {
		s.now = time.Now
	}
	s.dialer = &net.Dialer{KeepAlive: -1}
	if !o.AllowPrivate {
		s.dialer.Control = publicOnly
	}
	s.transport = &http.Transport{ // without a Proxy, those of the environment included
		DialContext:            s.dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		Protocols:              http1(),
		DisableKeepAlives:      true, // every message has its receiver's address checked
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
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	req, sent := s.request(ctx, m)
	if req == nil {
		return sent
	}
	// A round trip is one request: it follows nothing.
	answer, err := s.transport.RoundTrip(req)
	if err != nil {
		return alerts.Result{Fault: faultOf(ctx, s.within, err)}
	}
	sent = resultOf(answer, s.now())
	if m.Event == cola.EventConfirm && sent.Fault == "" {
		// The time limit for the answer also covers its body; a truncated token doesn't match.
		echo, _ := io.ReadAll(io.LimitReader(answer.Body, maxEcho))
		sent.Verified = s.answered(m, echo)
	}
	drop(answer.Body, cancel)
	return sent
}

// answered reports whether a response is the token of the message's challenge.
func (s *Sender) answered(m alerts.Message, echo []byte) bool {
	challenge, err := s.challenge(m)
	return err == nil && challenge.AnsweredBy(echo)
}

// drop reads the rest of a response for a moment, and closes it.
func drop(body io.ReadCloser, cancel func()) {
	enough := time.AfterFunc(dropTimeout, cancel)
	defer enough.Stop()
	_, _ = io.CopyN(io.Discard, body, maxDropped)
	_ = body.Close()
}
