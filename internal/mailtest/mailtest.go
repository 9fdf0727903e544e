// Package mailtest is a real SMTP server for tests, which keeps the messages that it takes. It listens on the loopback interface only.
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

	mu     sync.Mutex
	refuse func(to string) error
	taken  []Message
}

// Message is one that the server has taken.
type Message struct {
	From, To string // of the envelope
	Header   mail.Header
	Subject  string // decoded
	Text     string
	HTML     string
}

// Start starts a server, which ends with the test.
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

// URL returns the address of the server as flags have it.
func (s *Server) URL() string { return "smtp://" + s.Addr }

// Refuse has the server answer recipients with what refuse returns for them, such as an *smtp.SMTPError; nil takes them.
func (s *Server) Refuse(refuse func(to string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// Messages returns the messages taken so far, oldest first.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.taken)
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

// Data implements smtp.Session. A message that cannot be read is refused.
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
	c.server.taken = append(c.server.taken, m)
	return nil
}

// Reset implements smtp.Session.
func (c *session) Reset() { c.from, c.to = "", "" }

// Logout implements smtp.Session.
func (c *session) Logout() error { return nil }

// read takes a message apart.
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

// part reads a part of a message, and the parts in it.
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
