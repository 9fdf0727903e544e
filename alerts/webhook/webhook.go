// Package webhook posts messages of saved searches to URLs, signed as Standard Webhooks says.
//
// The URLs are anybody's. So a receiver is only ever connected to at an address of the public internet, which is checked when
// the connection is made, whatever its name resolved to before; no redirect is followed, no proxy asked, and little read of what it answers.
//
// An endpoint that has not confirmed gets nothing but challenges: signed messages with a random token. It confirms by answering with
// the token.
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
	// answerWithin is how long a receiver has for its answer, from looking up its name on.
	answerWithin = 15 * time.Second
	// dropWithin is how long the rest of an answer is read for. It is not looked at; most receivers are glad to have written it.
	dropWithin = time.Second
	// maxDropped and maxHeader are how many bytes of an answer, and of its head, are read.
	maxDropped = 64 << 10
	maxHeader  = 64 << 10
	// maxEcho limits the bytes read from the answer to a challenge.
	maxEcho = 4 << 10
)

// Options configure a Sender. Vault and PublicURL must be set.
type Options struct {
	Vault        *vault.Vault     // decrypts the secrets that sign webhooks
	PublicURL    string           // scheme and host that links lead to, without a slash at the end
	AllowPrivate bool             // lets messages go to addresses that are not of the public internet, and without https
	Version      string           // of the program, for receivers to see
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
	s := &Sender{vault: o.Vault, public: o.PublicURL, private: o.AllowPrivate, agent: agent(o), now: o.Now, within: answerWithin}
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

// Send posts a message to its destination once. A 2xx within 15 seconds means that it was taken.
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

// answered reports whether an answer is the token of the challenge in a message.
func (s *Sender) answered(m alerts.Message, echo []byte) bool {
	challenge, err := s.challenge(m)
	return err == nil && challenge.AnsweredBy(echo)
}

// drop reads some of an answer for a moment and closes it.
func drop(body io.ReadCloser, cancel func()) {
	enough := time.AfterFunc(dropWithin, cancel)
	defer enough.Stop()
	_, _ = io.CopyN(io.Discard, body, maxDropped)
	_ = body.Close()
}
