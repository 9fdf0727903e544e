package mail

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestSend sends mail with every kind of connection security.
func TestSend(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server security
		user   string
		scheme string
		force  security // overrides the security, because localhost defaults to no TLS
		tls    bool
	}{
		{"STARTTLS", startTLS, "", "smtp", startTLS, true},
		{"STARTTLS with login", startTLS, "relay-user", "smtp", startTLS, true},
		{"implicit TLS", implicitTLS, "", "smtps", implicitTLS, true},
		{"implicit TLS with login", implicitTLS, "relay-user", "smtps", implicitTLS, true},
		{"localhost", plaintext, "", "smtp", plaintext, false},
		{"localhost, STARTTLS available", startTLS, "", "smtp", plaintext, false},
		{"smtp+insecure with login", plaintext, "relay-user", "smtp+insecure", plaintext, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := startServer(t, tt.server, tt.user)
			s, out := mustSender(t, urlOf(tt.scheme, tt.user, p.address), p.pool)
			s.server.security = tt.force
			want := alerts.Result{Status: 250}
			if got := s.outcome(t.Context(), ran(1, 0, label(9, "BLUE HERON", nil))); got != want {
				t.Fatalf("Send = %+v, want %+v\n%s", got, want, out)
			}
			got := p.all()[0]
			if got.from != "alerts@labels.example" || got.to != "alex@example.org" || got.tls != tt.tls || got.utf8 ||
				!strings.Contains(string(got.text), "BLUE HERON") {
				t.Errorf("received %+v, want the message with TLS = %v", got, tt.tls)
			}
			if tt.user != "" && p.loggedIn != 1 {
				t.Errorf("%d logins, want 1", p.loggedIn)
			}
			if g := p.greetings[len(p.greetings)-1]; g != "labels.example" || out.Len() > 0 {
				t.Errorf("HELO %q, want labels.example; log:\n%s", g, out)
			}
		})
	}
}

// TestRejected checks how the server's response at each step determines the result. Only the log
// contains the text of the response, which names the server.
func TestRejected(t *testing.T) {
	ours := alerts.Result{Fault: faultNotSent, OurFault: true}
	with := func(s alerts.Result, status int) alerts.Result {
		s.Status = status
		return s
	}
	for _, tt := range []struct {
		name, step string
		err        error
		want       alerts.Result
	}{
		{"connection rejected", "connect", code(554, 5, 7, 1), ours},
		{"busy", "connect", code(421, 4, 3, 2), ours},
		{"login", "auth", code(535, 5, 7, 8), ours},
		{"login temporarily rejected", "auth", code(454, 4, 7, 0), ours},
		{"sender", "mail", code(550, 5, 7, 1), with(ours, 550)},
		{"sender temporarily rejected", "mail", code(451, 4, 7, 1), with(ours, 451)},
		{"recipient temporarily rejected", "rcpt", code(450, 4, 2, 1),
			alerts.Result{Fault: "The mail server temporarily rejected the address (450 4.2.1).", Status: 450}},
		{"no such recipient", "rcpt", code(550, 5, 1, 1),
			alerts.Result{Fault: "The mail server rejected the address (550 5.1.1).", Status: 550, Final: true}},
		{"no such recipient, no enhanced code", "rcpt", code(550),
			alerts.Result{Fault: "The mail server rejected the address (550).", Status: 550, Final: true}},
		{"mailbox full", "rcpt", code(552, 5, 2, 2),
			alerts.Result{Fault: "The mail server rejected the address (552 5.2.2).", Status: 552, Final: true}},
		{"relaying denied", "rcpt", code(554, 5, 7, 1),
			alerts.Result{Fault: "The mail server rejected the address (554 5.7.1).", Status: 554}},
		{"login required at RCPT", "rcpt", code(530, 5, 7, 0), with(ours, 530)},
		{"shutting down", "rcpt", code(421, 4, 3, 2), with(ours, 421)},
		{"message temporarily rejected", "data", code(451, 4, 3, 0),
			alerts.Result{Fault: "The mail server temporarily rejected the message (451 4.3.0).", Status: 451}},
		{"message rejected", "data", code(554, 5, 6, 0),
			alerts.Result{Fault: "The mail server rejected the message (554 5.6.0).", Status: 554, Final: true}},
	} {
		p := startServer(t, startTLS, "relay-user")
		s, out := mustSender(t, urlOf("smtp", "relay-user", p.address), p.pool)
		s.server.security = startTLS
		p.fail[tt.step] = tt.err
		if diff := cmp.Diff(tt.want, s.outcome(t.Context(), ran(0, 0))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		log := out.String()
		if !strings.Contains(log, "relay7.internal.example says no") || strings.Contains(log, "alex@") || strings.Contains(log, "p@ss") {
			t.Errorf("%s: want the response in the log, without the address or the password:\n%s", tt.name, log)
		}
		delete(p.fail, tt.step)
		if got := s.outcome(t.Context(), ran(0, 0)); got.Fault != "" {
			t.Errorf("%s: after recovery: Send = %+v, want success", tt.name, got)
		}
	}
}

// TestServerUnavailable checks that failures to connect securely or to log in count as our fault,
// are logged once per outage, and are not visible to account holders.
func TestServerUnavailable(t *testing.T) {
	p := startServer(t, startTLS, "relay-user")
	ours := alerts.Result{Fault: faultNotSent, OurFault: true}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	plain := startServer(t, plaintext, "")
	for name, change := range map[string]func(*Sender){
		"connection refused":  func(s *Sender) { s.server.port = free.Addr().(*net.TCPAddr).Port },
		"no such host":        func(s *Sender) { s.server.host = "127.0.0.1.invalid" },
		"wrong password":      func(s *Sender) { s.server.password = "other" },
		"login required":      func(s *Sender) { s.server.user = "" },
		"unknown certificate": func(s *Sender) { s.roots = nil },
		"no STARTTLS":         func(s *Sender) { s.server.port = plain.port(t) },
	} {
		s, out := mustSender(t, urlOf("smtp", "relay-user", p.address), p.pool)
		s.server.security = startTLS
		good, roots := s.server, s.roots
		change(s)
		for range 3 {
			got := s.outcome(t.Context(), ran(0, 0))
			got.Status = 0
			if got != ours {
				t.Errorf("%s: Send = %+v, want %+v", name, got, ours)
			}
		}
		s.server, s.roots = good, roots
		if got := s.outcome(t.Context(), ran(0, 0)); got.Fault != "" {
			t.Errorf("%s: after recovery: Send = %+v, want success", name, got)
		}
		if log := out.String(); strings.Count(log, "level=ERROR") != 1 || strings.Count(log, "level=INFO") != 1 ||
			strings.Contains(log, "p@ss") {
			t.Errorf("%s: want one error and one recovery in the log, without the password:\n%s", name, log)
		}
	}
	if n := len(plain.all()); n != 0 {
		t.Errorf("%d emails sent without TLS, want 0", n)
	}
}

func (p *fakeServer) port(t *testing.T) int {
	t.Helper()
	s, err := parseServer("smtp://" + p.address)
	if err != nil {
		t.Fatal(err)
	}
	return s.port
}

// TestSendTimeout checks that Send respects its context if the server stops responding at any step.
func TestSendTimeout(t *testing.T) {
	want := alerts.Result{Fault: faultNotSent, OurFault: true}
	for _, step := range []string{"connect", "mail", "rcpt", "data"} {
		p := startServer(t, plaintext, "")
		p.hang = step
		s, _ := mustSender(t, urlOf("smtp", "", p.address), p.pool)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if got := s.outcome(ctx, ran(0, 0)); got != want {
			t.Errorf("%s: Send = %+v, want %+v", step, got, want)
		}
		if ctx.Err() == nil {
			t.Errorf("%s: Send returned before its context ended", step)
		}
		cancel()
	}
}

// TestNoAddress checks that a message without a usable address fails immediately, and that a
// missing address is not the recipient's fault.
func TestNoAddress(t *testing.T) {
	s, _ := mustSender(t, "smtp://127.0.0.1:1", nil)
	want := alerts.Result{Fault: faultAddress, Final: true}
	for _, to := range []string{
		"alex", "alex@", "@example.org", "alex@example.org\r\nBcc: eve@example.org",
		"alex@example.org, eve@example.org", "Alex <alex@example.org>", "<alex@example.org>",
		"al\u202eex@example.org",
		"alex@example.org\x00", `"a b"@example.org`, " alex@example.org", "alex@example.org;eve@example.org",
	} {
		if got := s.outcome(t.Context(), due(cola.EventTest, to)); got != want {
			t.Errorf("Send(to %q) = %+v, want %+v", to, got, want)
		}
	}
	noAddress := alerts.Result{Fault: faultNoAddress, Final: true, OurFault: true}
	if got := s.outcome(t.Context(), due(cola.EventTest, "")); got != noAddress {
		t.Errorf("no address: Send = %+v, want %+v", got, noAddress)
	}
	m := due(cola.EventPaused, "alex@example.org")
	m.AccountEmail = ""
	if got := s.outcome(t.Context(), m); got != noAddress {
		t.Errorf("notice to an account without an address: Send = %+v, want %+v", got, noAddress)
	}
	want = alerts.Result{Fault: faultCompose, OurFault: true}
	if got := s.outcome(t.Context(), due("saved_search.unknown", "alex@example.org")); got != want {
		t.Errorf("unknown event: Send = %+v, want %+v", got, want)
	}
}

func TestNew(t *testing.T) {
	for _, tt := range []struct{ server, from, public, want string }{
		{"", "a@example.com", "https://x", "has no host"},
		{"mail.example.com:587", "a@example.com", "https://x", "mail server"},
		{"mail.example.com", "a@example.com", "https://x", "has no host"},
		{"http://mail.example.com", "a@example.com", "https://x", "scheme"},
		{"smtp://", "a@example.com", "https://x", "no host"},
		{"smtp://user:hush!/#@mail.example.com", "a@example.com", "https://x", "percent-encode"},
		{"smtp://user:hush%@mail.example.com", "a@example.com", "https://x", "percent-encode"},
		{"smtp://user:hush@mail.example.com/path", "a@example.com", "https://x", "percent-encode"},
		{"smtp://user:hush@mail.example.com?tls=no", "a@example.com", "https://x", "percent-encode"},
		{"smtp://user:hush@mail.example.com:0", "a@example.com", "https://x", "port"},
		{"smtp://user:hush@mail.example.com:65536", "a@example.com", "https://x", "port"},
		{"smtp://user:hush@mail.example.com:smtp", "a@example.com", "https://x", "mail server"},
		{"smtp://hush@mail.example.com", "a@example.com", "https://x", "or neither"},
		{"smtp://:hush@mail.example.com", "a@example.com", "https://x", "or neither"},
		{"smtp://user:hush%0d%0aQUIT@mail.example.com", "a@example.com", "https://x", "line breaks"},
		{"smtp://us%00er:hush@mail.example.com", "a@example.com", "https://x", "NUL"},
		{"smtp://mail.example.com", "alerts", "https://x", "sender address"},
		{"smtp://mail.example.com", "", "https://x", "sender address"},
		{"smtp://mail.example.com", "A <a@example.com>, B <b@example.com>", "https://x", "sender address"},
		{"smtp://mail.example.com", "A\u202e <a@example.com>", "https://x", "sender address"},
		{"smtp://mail.example.com", "a@example.com", "", "public URL"},
	} {
		_, err := New(Options{Server: tt.server, From: tt.from, PublicURL: tt.public, SiteName: "Label desk"})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("New(%s, %q) = %v, want an error with %q", tt.server, tt.from, err, tt.want)
		}
	}
}

// TestSiteName checks the sender's name and that New rejects names that would break headers.
func TestSiteName(t *testing.T) {
	for from, want := range map[string]string{
		"alerts@example.com": `"Ann, Bob & Co" <alerts@example.com>`, "Alerts <alerts@example.com>": `"Alerts" <alerts@example.com>`,
	} {
		s, err := New(Options{Server: "smtp://localhost", From: from, PublicURL: "https://x", SiteName: "Ann, Bob & Co"})
		if err != nil || s.from.String() != want {
			t.Errorf("sender %s, %v; want %s", s.from.String(), err, want)
		}
	}
	for _, name := range []string{"", "a\r\nBcc: b@example.com", "a\u202eb"} {
		if _, err := New(Options{Server: "smtp://localhost", From: "a@example.com", PublicURL: "https://x", SiteName: name}); err == nil {
			t.Errorf("New accepted the site name %q", name)
		}
	}
}

func TestParseServer(t *testing.T) {
	for url, want := range map[string]server{
		"smtp://mail.example.com": {host: "mail.example.com", port: 587},
		"smtp://user:p%40ss%3A@mail.example.com:2525/": {
			host: "mail.example.com", port: 2525, user: "user", password: "p@ss:",
		},
		"smtps://mail.example.com":     {host: "mail.example.com", port: 465, security: implicitTLS},
		"smtps://localhost":            {host: "localhost", port: 465, security: implicitTLS},
		"smtp+insecure://mailpit:1025": {host: "mailpit", port: 1025, security: plaintext},
		"smtp+insecure://mailpit":      {host: "mailpit", port: 25, security: plaintext},
		"smtp://localhost:1025":        {host: "localhost", port: 1025, security: plaintext},
		"smtp://127.0.0.1:1025":        {host: "127.0.0.1", port: 1025, security: plaintext},
		"smtp://[::1]:1025":            {host: "::1", port: 1025, security: plaintext},
		"smtp://[2001:db8::1]:1025":    {host: "2001:db8::1", port: 1025},
		"smtp://localhost.example.com": {host: "localhost.example.com", port: 587},
	} {
		if got, err := parseServer(url); err != nil || got != want {
			t.Errorf("parseServer(%q) = %+v, %v, want %+v", url, got, err, want)
		}
	}
}

// outcome calls Send and returns the result without the exchange.
func (s *Sender) outcome(ctx context.Context, m alerts.Message) alerts.Result {
	res := s.Send(ctx, m)
	res.Exchange = store.Exchange{}
	return res
}
