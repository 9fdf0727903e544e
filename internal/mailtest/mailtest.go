// Package mailtest provides an SMTP test server that records the messages it receives. It listens
// only on the loopback interface.
package mailtest

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
)

// Server is a mail server. Its methods are safe for concurrent use.
type Server struct {
	Addr string // host and port

	mu       sync.Mutex
	refuse   func(to string) error
	received []Message
}

// Message is a received message.
type Message struct {
	From, To string // envelope addresses
	Header   mail.Header
	Subject  string // decoded
	Text     string
	HTML     string
}

// Start starts a server that stops when the test ends.
func Start(t *testing.T) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String()}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }))
	server.Domain = "mail.test"
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return s
}

// URL returns the server's address as a value for --smtp.
func (s *Server) URL() string { return "smtp://" + s.Addr }

// Refuse makes the server reject recipients for which refuse returns an error, such as an
// *smtp.SMTPError.
func (s *Server) Refuse(refuse func(to string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// Messages returns the messages received so far, oldest first.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// session is one connection.
type session struct {
	server   *Server
	from, to string
}

// Mail implements smtp.Session.
func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	c.from = from
	return nil
}

// Rcpt implements smtp.Session.
func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.server.mu.Lock()
	refuse := c.server.refuse
	c.server.mu.Unlock()
	if refuse != nil {
		if err := refuse(to); err != nil {
			return err
		}
	}
	c.to = to
	return nil
}

// Data implements smtp.Session. It rejects messages that can't be parsed.
func (c *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m, err := read(raw)
	if err != nil {
		return &smtp.SMTPError{Code: 554, Message: err.Error()}
	}
	m.From, m.To = c.from, c.to
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.received = append(c.server.received, m)
	return nil
}

// Reset implements smtp.Session.
func (c *session) Reset() { c.from, c.to = "", "" }

// Logout implements smtp.Session.
func (c *session) Logout() error { return nil }

// read parses a message.
func read(raw []byte) (m Message, err error) {
	parsed, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return m, err
	}
	m.Header = parsed.Header
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		return m, err
	}
	return m, m.part(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), parsed.Body)
}

// part parses a part of a message and its nested parts.
func (m *Message) part(contentType, encoding string, body io.Reader) error {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	if strings.HasPrefix(media, "multipart/") {
		parts := multipart.NewReader(body, params["boundary"])
		for {
			p, err := parts.NextRawPart()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if err := m.part(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p); err != nil {
				return err
			}
		}
	}
	if strings.EqualFold(encoding, "quoted-printable") {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	switch media {
	case "text/plain":
		m.Text = string(text)
	case "text/html":
		m.HTML = string(text)
	}
	return err
}
