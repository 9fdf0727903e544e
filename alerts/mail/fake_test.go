package mail

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// fakeServer is a mail server that stores messages and fails at configured steps.
type fakeServer struct {
	address   string
	pool      *x509.CertPool
	user      string // required login, if any
	greetings []string

	mu       sync.Mutex
	fail     map[string]error // errors by step: connect, auth, mail, rcpt, data
	hang     string           // step at which the server stops responding
	hung     chan struct{}
	received []receivedEmail
	loggedIn int
}

// receivedEmail is an email that the server received.
type receivedEmail struct {
	from, to string
	tls      bool
	utf8     bool
	text     []byte
}

const password = "p@ss/wörd"

// startServer starts a mail server with STARTTLS, with implicit TLS, or without TLS.
func startServer(t *testing.T, sec security, user string) *fakeServer {
	t.Helper()
	cert, pool := certificate(t)
	p := &fakeServer{pool: pool, user: user, fail: map[string]error{}, hung: make(chan struct{})}
	server := smtp.NewServer(smtp.BackendFunc(p.session))
	server.Domain, server.AllowInsecureAuth, server.EnableSMTPUTF8 = "relay.example", sec == plaintext, true
	server.ReadTimeout, server.WriteTimeout, server.MaxMessageBytes = time.Minute, time.Minute, 1<<20
	server.ErrorLog = log.New(io.Discard, "", 0)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	switch config := (&tls.Config{Certificates: []tls.Certificate{cert}}); sec {
	case startTLS:
		server.TLSConfig = config
	case implicitTLS:
		listener = tls.NewListener(listener, config)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		close(p.hung)
		server.Close()
		<-served
	})
	return p
}

// certificate creates a certificate for 127.0.0.1.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// step applies the configured behavior for a step.
func (s *fakeServer) step(name string) error {
	s.mu.Lock()
	err, hang := s.fail[name], s.hang == name
	s.mu.Unlock()
	if hang {
		<-s.hung
	}
	return err
}

func (s *fakeServer) session(c *smtp.Conn) (smtp.Session, error) {
	if err := s.step("connect"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.greetings = append(s.greetings, c.Hostname())
	s.mu.Unlock()
	return &smtpSession{fakeServer: s, conn: c}, nil
}

// all returns the messages received so far.
func (s *fakeServer) all() []receivedEmail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

type smtpSession struct {
	*fakeServer
	conn *smtp.Conn
	in   bool // logged in
	got  receivedEmail
}

func (s *smtpSession) AuthMechanisms() []string {
	if s.user == "" {
		return nil
	}
	return []string{sasl.Plain, sasl.Login}
}

func (s *smtpSession) Auth(mechanism string) (sasl.Server, error) {
	if err := s.step("auth"); err != nil {
		return nil, err
	}
	return sasl.NewPlainServer(func(_, user, pass string) error {
		if user != s.user || pass != password {
			return errors.New("wrong password")
		}
		s.mu.Lock()
		s.loggedIn++
		s.mu.Unlock()
		s.in = true
		return nil
	}), nil
}

func (s *smtpSession) Mail(from string, o *smtp.MailOptions) error {
	if s.user != "" && !s.in {
		return smtp.ErrAuthRequired
	}
	_, s.got.tls = s.conn.TLSConnectionState()
	s.got.from, s.got.utf8 = from, o != nil && o.UTF8
	return s.step("mail")
}

func (s *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.got.to = to
	return s.step("rcpt")
}

func (s *smtpSession) Data(r io.Reader) (err error) {
	if s.got.text, err = io.ReadAll(r); err != nil {
		return err
	}
	if err := s.step("data"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, s.got)
	return nil
}

func (s *smtpSession) Reset()        { s.got = receivedEmail{} }
func (s *smtpSession) Logout() error { return nil }

var sentAt = time.Date(2026, 11, 16, 6, 0, 4, 0, time.UTC)

// linkToken returns the token in the links of every email.
func linkToken(cola.AccountID, string) (string, error) {
	return "3f6c1f1f0a9b4c52a52e84b60a1f4c2d07be8365", nil
}

// mustSender returns a sender for a server, along with the sender's log.
func mustSender(t *testing.T, url string, pool *x509.CertPool) (*Sender, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	s, err := New(Options{
		LinkToken: linkToken, Server: url, From: "Label alerts <alerts@labels.example>", PublicURL: "https://labels.example", Upgrade: "https://billing.example",
		SiteName: "Label desk",
		Now:      func() time.Time { return sentAt },
		Logger:   slog.New(slog.NewTextHandler(out, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.roots = pool
	return s, out
}

// due returns a due delivery to an address.
func due(event, to string) alerts.Message {
	d := store.DueDelivery{
		ID: 5, MessageID: "msg_9d3f1c7a52e84b60a1f4c2d07be8365a", Event: event, Kind: cola.KindEmail,
		AccountEmail: "holder@example.com", CreatedAt: sentAt,
	}
	d.Destination.UUID = "5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"
	d.Destination.Kind, d.Destination.Address = cola.KindEmail, cola.Some(to)
	d.Destination.State, d.Destination.Account = cola.DestinationActive, 17
	return alerts.Message{DueDelivery: d}
}

// ran returns a message about a run with count matches, lateCount of which are late, and the given
// labels.
func ran(count, lateCount int, labels ...store.MatchedLabel) alerts.Message {
	m := due(cola.EventRan, "alex@example.org")
	m.Run = 1841
	m.Content = &store.RunContent{
		Account: 17,
		Search:  cola.SavedSearch{UUID: "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", Name: "Herons"},
	}
	m.Content.Run = cola.SavedSearchRun{
		ID: 1841, RanAt: cola.TimestampOf(sentAt), DateFrom: cola.NewDate(2026, 11, 9),
		DateTo: cola.NewDate(2026, 11, 16), MatchCount: count, LateCount: lateCount,
	}
	m.Content.Labels = labels
	return m
}

// label returns a matched label.
func label(n int, brand string, change func(*store.MatchedLabel)) store.MatchedLabel {
	id := cola.TTBID(26282001000000 + n)
	l := store.MatchedLabel{
		Match: cola.SavedSearchMatch{RunID: 1841, TTBID: id, Met: cola.FilterSetOf("brand_name", "type_wine")},
		Label: cola.ColaSummary{
			TTBID: id, BrandName: brand, ProductName: "PRESTIGE", ProductType: vocabulary.Wine,
			ClassName: "TABLE RED WINE", OriginName: "OREGON", PermitNumber: "BWN-OR-16677",
			ApprovalDate: cola.NewDate(2026, 11, 12),
		},
	}
	if change != nil {
		change(&l)
	}
	return l
}

func code(status int, enhanced ...int) *smtp.SMTPError {
	e := &smtp.SMTPError{Code: status, EnhancedCode: smtp.NoEnhancedCode, Message: "relay7.internal.example says no"}
	if len(enhanced) == 3 {
		e.EnhancedCode = smtp.EnhancedCode(enhanced)
	}
	return e
}

func urlOf(scheme, user, address string) string {
	if user == "" {
		return fmt.Sprintf("%s://%s", scheme, address)
	}
	return fmt.Sprintf("%s://%s:p%%40ss%%2Fw%%C3%%B6rd@%s", scheme, user, address)
}
