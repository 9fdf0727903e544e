package ttbsite

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// Certificates configures the certificates of a TLS server. The zero value is like the real site:
// the certificate is valid, but the server does not send the intermediate that issued it. Clients
// must download that issuer from the URL in the certificate.
type Certificates struct {
	Host        string // host in the certificate; default 127.0.0.1, the server's address
	Expired     bool
	SelfSigned  bool
	WrongIssuer bool   // the issuer's URL serves a different certificate with the same name
	NoIssuer    bool   // the certificate has no issuer URL
	Format      string // format of the issuer's certificate: "" for DER, "pem" or "p7c"
	Issuer      []byte // if not nil, served in place of the issuer's certificate
	Padding     int    // number of spaces appended to the served certificate
}

// TLSServer is a running TLS server.
type TLSServer struct {
	*httptest.Server
	Roots   *x509.CertPool
	RootPEM []byte       // for programs that read SSL_CERT_FILE
	Fetched atomic.Int32 // number of requests for the issuer's certificate

	issuer *httptest.Server
}

// Close stops the server and the one that serves the issuer's certificate.
func (t *TLSServer) Close() {
	t.Server.Close()
	t.issuer.Close()
}

// StartTLS serves a handler, such as a Site, over TLS.
func StartTLS(h http.Handler, c Certificates) (*TLSServer, error) {
	root, err := newAuthority("Example Root", nil)
	if err != nil {
		return nil, err
	}
	intermediate, err := newAuthority("Example Issuing CA", root)
	if err != nil {
		return nil, err
	}
	served := intermediate
	if c.WrongIssuer {
		if served, err = newAuthority("Example Issuing CA", root); err != nil {
			return nil, err
		}
	}
	text := c.Issuer
	if text == nil {
		if text, err = served.encode(c.Format); err != nil {
			return nil, err
		}
	}
	text = append(text, bytes.Repeat([]byte(" "), c.Padding)...)
	t := &TLSServer{Roots: x509.NewCertPool()}
	t.Roots.AddCert(root.cert)
	t.RootPEM, _ = root.encode("pem")
	t.issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Fetched.Add(1)
		_, _ = w.Write(text) // fails only if the client disconnected
	}))
	leaf, err := newLeaf(c, intermediate, t.issuer.URL+"/issuer.crt")
	if err != nil {
		t.issuer.Close()
		return nil, err
	}
	t.Server = httptest.NewUnstartedServer(h)
	t.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}}
	t.Server.StartTLS()
	return t, nil
}

// authority is a certificate with its private key, usually a CA's.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority creates a CA. parent is nil for a root.
func newAuthority(name string, parent *authority) (*authority, error) {
	cert := newUnsigned(name)
	cert.IsCA, cert.BasicConstraintsValid = true, true
	cert.KeyUsage = x509.KeyUsageCertSign
	return cert.sign(parent)
}

// unsigned is a certificate to be signed.
type unsigned struct{ x509.Certificate }

func newUnsigned(name string) *unsigned {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	return &unsigned{x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
	}}
}

// sign signs the certificate with the parent's key. Without a parent, it self-signs.
func (t *unsigned) sign(parent *authority) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if parent == nil {
		parent = &authority{&t.Certificate, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &t.Certificate, parent.cert, key.Public(), parent.key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key}, err
}

// newLeaf creates the server's certificate.
func newLeaf(c Certificates, issuer *authority, address string) (tls.Certificate, error) {
	cert := newUnsigned("ttb.example")
	cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	switch ip := net.ParseIP(c.Host); {
	case c.Host == "":
		cert.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	case ip != nil:
		cert.IPAddresses = []net.IP{ip}
	default:
		cert.DNSNames = []string{c.Host}
	}
	if !c.NoIssuer {
		cert.IssuingCertificateURL = []string{address}
	}
	if c.Expired {
		cert.NotAfter = time.Now().Add(-24 * time.Hour)
	}
	if c.SelfSigned {
		issuer = nil
	}
	leaf, err := cert.sign(issuer)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{leaf.cert.Raw}, PrivateKey: leaf.key}, nil
}

// encode returns the certificate in the given format; see Certificates.Format.
func (a *authority) encode(format string) ([]byte, error) {
	switch format {
	case "":
		return a.cert.Raw, nil
	case "pem":
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), nil
	case "p7c":
		return pkcs7(a.cert.Raw)
	}
	return nil, fmt.Errorf("unknown format %q", format)
}

// pkcs7 returns a certificate as PKCS #7 signed data without signers (RFC 2315).
func pkcs7(cert []byte) ([]byte, error) {
	type content struct {
		Type asn1.ObjectIdentifier
	}
	type signed struct {
		Version      int
		Algorithms   []asn1.RawValue `asn1:"set"`
		Data         content
		Certificates asn1.RawValue
		Signers      []asn1.RawValue `asn1:"set"`
	}
	return asn1.Marshal(struct {
		Type    asn1.ObjectIdentifier
		Content signed `asn1:"explicit,tag:0"`
	}{
		Type: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2},
		Content: signed{
			Version:      1,
			Data:         content{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}},
			Certificates: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: cert},
		},
	})
}
