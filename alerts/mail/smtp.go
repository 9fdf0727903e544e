package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	gomail "github.com/wneessen/go-mail"
)

const (
	// stepTimeout is how long to wait for a reply to one command. The caller's context limits the
	// whole exchange.
	stepTimeout = 15 * time.Second
	// closeTimeout is how long to wait for the reply to QUIT, after the message was accepted.
	closeTimeout = time.Second
)

// security is how a connection is encrypted.
type security int

const (
	startTLS security = iota // via STARTTLS, which is required
	implicitTLS
	plaintext
)

// server is an SMTP relay.
type server struct {
	host           string
	port           int
	security       security
	user, password string // empty without a login
}

const serverExamples = "smtp://user:password@mail.example.com:587, smtps://… or smtp+insecure://…"

// parseServer parses the URL of a relay. Its errors don't contain the URL, which may include a
// password.
func parseServer(text string) (s server, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return s, fmt.Errorf("invalid URL; use %s, and percent-encode special characters in the user and password "+
			"(%%40 for @)", serverExamples)
	}
	if s.host = u.Hostname(); s.host == "" || strings.ContainsAny(s.host, " \t\r\n") {
		return s, fmt.Errorf("the URL has no host; use %s", serverExamples)
	}
	switch u.Scheme {
	case "smtp":
		s.port = 587
		if loopback(s.host) {
			s.security = plaintext
		}
	case "smtps":
		s.port, s.security = 465, implicitTLS
	case "smtp+insecure":
		s.port, s.security = 25, plaintext
	default:
		return s, fmt.Errorf("the scheme must be smtp, smtps or smtp+insecure: %s", serverExamples)
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return s, errors.New(
			"the URL must end after the host and port; percent-encode special characters in the user and " +
				"password",
		)
	}
	if p := u.Port(); p != "" {
		if s.port, err = strconv.Atoi(p); err != nil || s.port < 1 || s.port > 65535 {
			return s, errors.New("the port must be from 1 to 65535")
		}
	}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
		err = s.checkLogin()
	}
	return s, err
}

func (s *server) checkLogin() error {
	switch {
	case s.user == "" || s.password == "":
		return errors.New("set both user and password, or neither")
	case strings.ContainsAny(s.user+s.password, "\x00\r\n"):
		return errors.New("the user and password must not contain line breaks or NUL characters")
	}
	return nil
}

// loopback reports whether a host is the local machine.
func loopback(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback()
	}
	return vocabulary.FoldASCII(host) == "localhost"
}

// name returns the server's address for the log.
func (s server) name() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// transmit sends an email over a new connection. It returns nil if the server accepted the email.
func (s *Sender) transmit(ctx context.Context, msg *gomail.Msg) error {
	c := &connection{
		ctx:      ctx,
		security: s.server.security,
		tls:      &tls.Config{ServerName: s.server.host, MinVersion: tls.VersionTLS12, RootCAs: s.roots},
	}
	defer c.close()
	client, err := gomail.NewClient(s.server.host, s.options(c, msg)...)
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	err = client.SendWithSMTPClient(session, msg)
	if msg.IsDelivered() {
		c.shortenDeadline()
		_ = client.CloseWithSMTPClient(session) // the message was accepted, so an error here does not matter
		return nil
	}
	if err == nil {
		err = errors.New("the server did not confirm the message")
	}
	return err
}

// options returns the options for the SMTP client.
func (s *Sender) options(c *connection, msg *gomail.Msg) []gomail.Option {
	// The HELO name appears in the email's headers, so it must not be the name of this machine.
	o := []gomail.Option{
		gomail.WithPort(s.server.port), gomail.WithTimeout(stepTimeout), gomail.WithHELO(s.domain()),
		gomail.WithDialContextFunc(c.dial),
		gomail.WithTLSConfig(c.tls), gomail.WithoutNoop(), gomail.WithoutRset(),
	}
	switch s.server.security {
	case startTLS:
		o = append(o, gomail.WithTLSPolicy(gomail.TLSMandatory))
	default: // plain text, or implicit TLS, which dial sets up
		o = append(o, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if ascii(msg) {
		o = append(o, gomail.WithoutSMTPUTF8()) // servers farther along the route may not support it
	}
	if s.server.user == "" {
		return o
	}
	mechanisms := []gomail.SMTPAuthType{
		gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthCramMD5,
	}
	if s.server.security == plaintext {
		mechanisms = []gomail.SMTPAuthType{
			gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthCramMD5, gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc,
		}
	}
	return append(o, gomail.WithUsername(s.server.user), gomail.WithPassword(s.server.password),
		gomail.WithOpportunisticSMTPAuth(mechanisms...))
}

// connection is a connection to a server. It closes when its context ends.
type connection struct {
	ctx      context.Context
	security security
	tls      *tls.Config
	conn     net.Conn
	stop     func() bool
}

// dial connects to the server.
func (c *connection) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d interface {
		DialContext(context.Context, string, string) (net.Conn, error)
	} = &net.Dialer{}
	if c.security == implicitTLS {
		d = &tls.Dialer{Config: c.tls}
	}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.conn, c.stop = conn, context.AfterFunc(c.ctx, func() { _ = conn.Close() })
	return conn, nil
}

// shortenDeadline limits the wait for the server's reply to QUIT to closeTimeout.
func (c *connection) shortenDeadline() { _ = c.conn.SetDeadline(time.Now().Add(closeTimeout)) }

// close closes the connection, if it is open.
func (c *connection) close() {
	if c.conn != nil {
		c.stop()
		_ = c.conn.Close()
	}
}
