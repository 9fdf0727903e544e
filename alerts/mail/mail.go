// Package mail sends messages of saved searches by email, through a server that takes mail and passes it on (a relay).
package mail

import (
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

// Options configure a Sender. Link, Server, From and PublicURL must be set.
type Options struct {
	// Link returns the token in links to confirm and unsubscribe a destination, named by its UUID.
	Link func(account cola.AccountID, destination string) (token string, err error)
	// Server is the server that takes mail: smtp://user:password@mail.example.com:587 speaks TLS after STARTTLS, and without it to this
	// machine alone; smtps://mail.example.com:465 speaks it from the start; smtp+insecure://host:25 never. User and password may be left out; in them,
	// special characters are percent-encoded.
	Server    string
	From      string           // whom mail comes from: "Label alerts <alerts@example.com>", or an address alone
	PublicURL string           // scheme and host that links lead to, without a slash at the end
	Now       func() time.Time // nil: time.Now
	Logger    *slog.Logger
}

// Sender sends email. It is safe for concurrent use, and holds no connection between messages.
type Sender struct {
	link    func(account cola.AccountID, destination string) (token string, err error)
	server  server
	from    netmail.Address
	public  string
	now     func() time.Time
	log     *slog.Logger
	failing atomic.Bool    // mail cannot be handed over to the server
	roots   *x509.CertPool // nil: those of this machine
}

var _ alerts.Sender = (*Sender)(nil)

// New returns a Sender. Its errors are for the operator; none shows the password.
func New(o Options) (*Sender, error) {
	to, err := parseServer(o.Server)
	if err != nil {
		return nil, fmt.Errorf("mail server: %w", err)
	}
	from, err := netmail.ParseAddress(o.From)
	if err != nil || !isAddress(from.Address) || oneLine(from.Name, 200) != from.Name {
		return nil, fmt.Errorf("mail is sent from %q, which is no address such as 'Label alerts <alerts@example.com>'", o.From)
	}
	if o.PublicURL == "" {
		return nil, errors.New("mail: there is no public URL that links could lead to")
	}
	s := &Sender{link: o.Link, server: to, from: *from, public: o.PublicURL, now: o.Now, log: o.Logger}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// domain returns the domain that mail comes from.
func (s *Sender) domain() string {
	return s.from.Address[strings.LastIndexByte(s.from.Address, '@')+1:]
}

// Send hands a message over to the server once.
func (s *Sender) Send(ctx context.Context, m alerts.Message) alerts.Result {
	letter, sent := s.message(m)
	if letter == nil {
		return sent
	}
	err := s.post(ctx, letter)
	if err == nil {
		if s.failing.CompareAndSwap(true, false) {
			s.log.Info("mail server accepts email again")
		}
		return alerts.Result{Status: 250}
	}
	sent = resultOf(err)
	switch told := strings.ReplaceAll(err.Error(), recipient(m), "RECIPIENT"); {
	case !sent.OurFault:
		s.log.Warn("email refused", "delivery", m.ID, "account", m.Destination.Account, "status", sent.Status, "final", sent.Final, "error", told)
	case ctx.Err() == nil && s.failing.CompareAndSwap(false, true):
		s.log.Error("cannot send email; retrying", "server", s.server.name(), "error", told)
	}
	return sent
}

// recipient returns whom a message goes to: that a destination was paused is told to the account itself.
func recipient(m alerts.Message) string {
	if goesToAccount(m.Event) {
		return m.AccountEmail
	}
	return m.Destination.Address.V
}

const (
	faultNotSent = "The mail could not be sent: a fault of this service, not of the address."
	faultCompose = "The message could not be made: this version of the service does not know what it is to tell."
	faultAddress = "Mail can't be sent to this address."
	faultNobody  = "The account has no email address."
)

// resultOf says what an error of the server means. What the server says about the recipient, or about the message, counts against the destination;
// what it says about us does not: that it cannot be reached, or logged in to, or does not take mail from us.
func resultOf(err error) alerts.Result {
	var e *gomail.SendError
	if !errors.As(err, &e) {
		return alerts.Result{Fault: faultNotSent, OurFault: true}
	}
	code, enhanced := e.ErrorCode(), e.EnhancedStatusCode()
	what := "message"
	switch e.Reason {
	case gomail.ErrSMTPRcptTo:
		what = "address"
	case gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
	default:
		return alerts.Result{Fault: faultNotSent, Status: code, OurFault: true}
	}
	if code < 400 || isOurFault(code) {
		return alerts.Result{Fault: faultNotSent, Status: code, OurFault: true}
	}
	said := strings.TrimSpace(fmt.Sprintf("%d %s", code, enhanced))
	if code < 500 {
		return alerts.Result{Fault: fmt.Sprintf("The mail server put the %s off (%s).", what, said), Status: code}
	}
	// Of an address, 5.7 speaks of policy: relays say so to senders that they do not know, which a recipient must not pay for at once.
	final := e.Reason != gomail.ErrSMTPRcptTo || !strings.HasPrefix(enhanced, "5.7.")
	return alerts.Result{Fault: fmt.Sprintf("The mail server refused the %s (%s).", what, said), Status: code, Final: final}
}

// isOurFault reports whether an answer is about how the server is spoken to, or about logging in.
func isOurFault(code int) bool {
	return code >= 500 && code <= 504 || code >= 530 && code <= 539 || code == 421
}
