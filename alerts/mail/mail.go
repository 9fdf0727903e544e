// Package mail sends saved-search messages, account emails and sign-in links through an SMTP relay.
package mail

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"strings"
	"sync/atomic"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
)

// Options configure a Sender. All fields but Operator, Upgrade, Now and Logger must be set.
type Options struct {
	// LinkToken returns the token for a destination's confirm and unsubscribe links. The
	// destination is identified by its UUID.
	LinkToken func(account cola.AccountID, destination string) (token string, err error)
	// Server is the URL of the relay. smtp://user:password@mail.example.com:587 uses STARTTLS, or
	// plain text on localhost. smtps://mail.example.com:465 uses implicit TLS.
	// smtp+insecure://host:25 uses plain text. User and password are optional, with special
	// characters percent-encoded.
	Server    string
	From      string           // sender: "Label alerts <alerts@example.com>", or a bare address, displayed as SiteName
	SiteName  string           // name of the service, on one line
	Operator  string           // company or person that runs the service, on one line; may be empty
	PublicURL string           // scheme and host of links, without a trailing slash
	Upgrade   string           // URL of the page where account holders change their plan; default PublicURL/plans
	Now       func() time.Time // default time.Now
	Logger    *slog.Logger
}

// Sender sends email. It is safe for concurrent use, and uses a new connection for each message.
type Sender struct {
	linkToken func(account cola.AccountID, destination string) (token string, err error)
	server    server
	from      netmail.Address
	public    string
	upgrade   string
	siteName  string
	operator  string
	now       func() time.Time
	log       *slog.Logger
	failing   atomic.Bool    // the relay is not accepting mail
	roots     *x509.CertPool // default: the system's
}

var _ alerts.Sender = (*Sender)(nil)

// New returns a Sender. Its errors are for the operator and never contain the password.
func New(o Options) (*Sender, error) {
	to, err := parseServer(o.Server)
	if err != nil {
		return nil, fmt.Errorf("mail server: %w", err)
	}
	from, err := netmail.ParseAddress(o.From)
	if err != nil || !isAddress(from.Address) || oneLine(from.Name, 200) != from.Name {
		return nil, fmt.Errorf("mail: invalid sender address %q; use the form 'Label alerts <alerts@example.com>'",
			o.From)
	}
	if o.PublicURL == "" {
		return nil, errors.New("mail: a public URL is required for links")
	}
	if o.SiteName == "" || oneLine(o.SiteName, 200) != o.SiteName {
		return nil, fmt.Errorf("mail: invalid site name %q", o.SiteName)
	}
	if oneLine(o.Operator, 200) != o.Operator {
		return nil, fmt.Errorf("mail: invalid operator name %q", o.Operator)
	}
	s := &Sender{
		linkToken: o.LinkToken, server: to, from: *from, public: o.PublicURL, upgrade: cmp.Or(o.Upgrade, o.PublicURL+"/plans"),
		siteName: o.SiteName, operator: o.Operator, now: o.Now, log: o.Logger,
	}
	s.from.Name = cmp.Or(s.from.Name, s.siteName)
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// domain returns the domain of the From address.
func (s *Sender) domain() string {
	return s.from.Address[strings.LastIndexByte(s.from.Address, '@')+1:]
}

// Send passes a message to the relay once.
func (s *Sender) Send(ctx context.Context, m alerts.Message) alerts.Result {
	msg, exchange, failure := s.message(m)
	if msg == nil {
		return failure
	}
	res := s.pass(ctx, msg, strings.NewReplacer(recipient(m), "RECIPIENT"), "delivery", m.ID, "account", m.Destination.Account)
	res.Exchange = exchange
	return res
}

// pass passes an email to the relay once. It logs errors with the attributes in about, and uses
// private to remove private text from the relay's reply.
func (s *Sender) pass(ctx context.Context, msg *gomail.Msg, private *strings.Replacer, about ...any) alerts.Result {
	err := s.transmit(ctx, msg)
	if err == nil {
		if s.failing.CompareAndSwap(true, false) {
			s.log.Info("mail server is accepting email again")
		}
		return alerts.Result{Status: 250}
	}
	res := resultOf(err)
	switch message := private.Replace(err.Error()); {
	case !res.OurFault:
		s.log.Warn("email rejected", append(about, "status", res.Status, "final", res.Final, "error", message)...)
	case ctx.Err() == nil && s.failing.CompareAndSwap(false, true):
		s.log.Error("sending email failed; retrying", "server", s.server.name(), "error", message)
	}
	return res
}

// recipient returns the address that a message goes to: the account's for a notice that a
// destination was paused, otherwise the destination's.
func recipient(m alerts.Message) string {
	if goesToAccount(m.Event) {
		return m.AccountEmail
	}
	return m.Destination.Address.V
}

const (
	faultNotSent   = "The service could not send the email."
	faultCompose   = "The service could not create the message."
	faultAddress   = "The address is not a valid email address."
	faultNoAddress = "The account has no email address."
)

// resultOf returns the result for an SMTP error. Errors about the recipient or the message count as
// the destination's fault; errors about the connection, the login or the sender count as ours.
func resultOf(err error) alerts.Result {
	var e *gomail.SendError
	if !errors.As(err, &e) {
		return alerts.Result{Fault: faultNotSent, OurFault: true}
	}
	code, enhanced := e.ErrorCode(), e.EnhancedStatusCode()
	rejected := "message"
	switch e.Reason {
	case gomail.ErrSMTPRcptTo:
		rejected = "address"
	case gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
	default:
		return alerts.Result{Fault: faultNotSent, Status: code, OurFault: true}
	}
	if code < 400 || isOurFault(code) {
		return alerts.Result{Fault: faultNotSent, Status: code, OurFault: true}
	}
	reply := strings.TrimSpace(fmt.Sprintf("%d %s", code, enhanced))
	if code < 500 {
		return alerts.Result{
			Fault: fmt.Sprintf("The mail server temporarily rejected the %s (%s).", rejected, reply), Status: code,
		}
	}
	// For an address, 5.7 is a policy error. Relays also return it for unknown senders, so it is
	// not final.
	final := e.Reason != gomail.ErrSMTPRcptTo || !strings.HasPrefix(enhanced, "5.7.")
	return alerts.Result{Fault: fmt.Sprintf("The mail server rejected the %s (%s).", rejected, reply), Status: code,
		Final: final}
}

// isOurFault reports whether a reply code is about the protocol, the login or the availability of
// the mail server.
func isOurFault(code int) bool {
	return code >= 500 && code <= 504 || code >= 530 && code <= 539 || code == 421
}
