package ttb

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/internal/ttbsite"
)

// startTLS starts a TLS server for a site and returns a client that trusts its root.
func startTLS(t *testing.T, certs ttbsite.Certificates) (*ttbsite.TLSServer, *Client) {
	t.Helper()
	server, err := ttbsite.StartTLS(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { openPage(w) }), certs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	return server, mustClient(t, server.Server, Options{RootCAs: server.Roots})
}

// TestMissingIssuer checks that if the server omits the issuer of its certificate, the client
// fetches it from the address in the certificate, and only once.
func TestMissingIssuer(t *testing.T) {
	for _, format := range []string{"", "pem", "p7c"} {
		server, c := startTLS(t, ttbsite.Certificates{Format: format})
		waits := 0
		for range 3 {
			before := waits
			c.wait = func(context.Context) error { waits++; return nil }
			if err := c.openSession(t.Context()); err != nil {
				t.Fatalf("format %q: %v", format, err)
			}
			if waits != before+1 {
				t.Errorf("format %q: %d waits, want 1", format, waits-before)
			}
			c.http.CloseIdleConnections() // force a new handshake
		}
		if n := server.Fetched.Load(); n != 1 {
			t.Errorf("format %q: the issuer was fetched %d times, want once", format, n)
		}
	}
}

// TestBadCertificates checks that the client accepts only a certificate that is valid for the
// site's name and the current time, with a complete chain to a trusted root.
func TestBadCertificates(t *testing.T) {
	is := func(target any) func(error) bool { return func(err error) bool { return errors.As(err, target) } }
	var (
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	for name, test := range map[string]struct {
		certs   ttbsite.Certificates
		want    func(error) bool
		fetches int32
	}{
		"other address":           {ttbsite.Certificates{Host: "127.0.0.2"}, is(&host), 0},
		"other name":              {ttbsite.Certificates{Host: "ttb.example"}, is(&host), 0},
		"expired":                 {ttbsite.Certificates{Expired: true}, is(&invalid), 0},
		"self-signed":             {ttbsite.Certificates{SelfSigned: true, NoIssuer: true}, is(&unknown), 0},
		"self-signed with issuer": {ttbsite.Certificates{SelfSigned: true}, is(&unknown), 1},
		"no address":              {ttbsite.Certificates{NoIssuer: true}, is(&unknown), 0},
		"wrong issuer":            {ttbsite.Certificates{WrongIssuer: true}, is(&unknown), 1},
		"garbage":                 {ttbsite.Certificates{Issuer: []byte("hello")}, is(&unknown), 1},
		"garbage in PEM":          {ttbsite.Certificates{Issuer: []byte("-----BEGIN CERTIFICATE-----\nx")}, is(&unknown), 1},
		"empty":                   {ttbsite.Certificates{Issuer: []byte{}}, is(&unknown), 1},
		"too large":               {ttbsite.Certificates{Format: "pem", Padding: maxIssuerBytes}, is(&unknown), 1},
	} {
		t.Run(name, func(t *testing.T) {
			server, c := startTLS(t, test.certs)
			err := c.openSession(t.Context())
			if !test.want(err) || !isTemporary(err, 0, 0) {
				t.Errorf("error = %v (%T)", err, err)
			}
			if n := server.Fetched.Load(); n != test.fetches {
				t.Errorf("the issuer was fetched %d times, want %d", n, test.fetches)
			}
		})
	}
}

// TestOtherRoot checks that a fetched issuer isn't itself trusted: its chain must end at a root.
func TestOtherRoot(t *testing.T) {
	server, _ := startTLS(t, ttbsite.Certificates{})
	other, _ := startTLS(t, ttbsite.Certificates{})
	c := mustClient(t, server.Server, Options{RootCAs: other.Roots})
	var unknown x509.UnknownAuthorityError
	for range 2 {
		if err := c.openSession(t.Context()); !errors.As(err, &unknown) {
			t.Errorf("error = %v, want an UnknownAuthorityError", err)
		}
	}
	if c = mustClient(t, server.Server, Options{}); c.openSession(t.Context()) == nil {
		t.Error("the system's roots verified the certificate")
	}
}

// TestIssuerAddress checks that only http addresses are fetched.
func TestIssuerAddress(t *testing.T) {
	v := &verifier{}
	for _, address := range []string{"https://example.com/a.crt", "ldap://example.com/", "file:///etc/passwd", "%"} {
		if _, err := v.fetchFrom(t.Context(), address, &x509.Certificate{}); err == nil || !strings.Contains(err.Error(), "http") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func FuzzParseCertificates(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Add([]byte{0x30, 0x80})
	f.Fuzz(func(t *testing.T, text []byte) {
		if certs, err := parseCertificates(text); err != nil && len(certs) > 0 {
			t.Errorf("%d certificates and %v", len(certs), err)
		}
	})
}
