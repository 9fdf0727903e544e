package ttb

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// verifier verifies the site's certificate. The site omits the intermediate certificate that issued
// it, so crypto/tls alone can't verify it. The certificate gives the address of its issuer's
// certificate (Authority Information Access, RFC 5280 §4.2.2.1), which the verifier fetches.
//
// A fetched certificate is not trusted: it only completes the chain, which must end at a root.
type verifier struct {
	host      string         // host name of the site
	roots     *x509.CertPool // nil for the system roots
	userAgent string         // User-Agent for fetching issuers

	mu      sync.Mutex
	issuers []*x509.Certificate // fetched issuers
}

// Limits for fetching issuers.
const (
	maxIssuers         = 8 // in a client's lifetime
	maxIssuerBytes     = 64 << 10
	issuerTimeout      = 30 * time.Second
	maxIssuerRedirects = 3
	maxChainToSearch   = 8
)

// missingIssuer is the error for a site certificate whose chain is incomplete.
type missingIssuer struct {
	cert *x509.Certificate // last certificate in the chain
	err  error
}

func (e *missingIssuer) Error() string { return e.err.Error() }
func (e *missingIssuer) Unwrap() error { return e.err }

// config returns a configuration that checks every connection with verify. InsecureSkipVerify only
// turns off the built-in verification of crypto/tls, which verify replaces in full.
func (v *verifier) config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true,
		VerifyConnection:   v.verify,
	}
}

// verify verifies names, dates, usage and the chain to a root, as crypto/tls does. The name is
// always the site's: the client connects to no other host.
func (v *verifier) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the site sent no certificate")
	}
	v.mu.Lock()
	known := slices.Concat(state.PeerCertificates[1:], v.issuers)
	v.mu.Unlock()
	pool := x509.NewCertPool()
	for _, cert := range known {
		pool.AddCert(cert)
	}
	leaf := state.PeerCertificates[0]
	_, err := leaf.Verify(x509.VerifyOptions{
		DNSName: v.host, Roots: v.roots, Intermediates: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err == nil {
		return nil
	}
	err = &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		if last := endOfChain(leaf, known); len(last.IssuingCertificateURL) > 0 {
			return &missingIssuer{cert: last, err: err}
		}
	}
	return err
}

// endOfChain follows the known issuers of a certificate to the last one.
func endOfChain(cert *x509.Certificate, known []*x509.Certificate) *x509.Certificate {
	for range maxChainToSearch {
		at := slices.IndexFunc(known, func(issuer *x509.Certificate) bool {
			return !issuer.Equal(cert) && cert.CheckSignatureFrom(issuer) == nil
		})
		if at < 0 {
			break
		}
		cert = known[at]
	}
	return cert
}

// fetch fetches and caches the missing issuer of a certificate.
func (v *verifier) fetch(ctx context.Context, missing *missingIssuer) error {
	v.mu.Lock()
	full := len(v.issuers) >= maxIssuers
	v.mu.Unlock()
	if full {
		return errors.New("too many issuer certificates fetched")
	}
	ctx, cancel := context.WithTimeout(ctx, issuerTimeout)
	defer cancel()
	var failure error
	for _, address := range missing.cert.IssuingCertificateURL {
		issuer, err := v.fetchFrom(ctx, address, missing.cert)
		if err != nil {
			failure = cmp.Or(failure, err)
			continue
		}
		v.mu.Lock()
		v.issuers = append(v.issuers, issuer)
		v.mu.Unlock()
		return nil
	}
	return failure
}

// fetchFrom fetches the certificate that issued cert. It uses plain HTTP, as RFC 5280 §8
// recommends: the signature check authenticates the issuer.
func (v *verifier) fetchFrom(ctx context.Context, address string, cert *x509.Certificate) (*x509.Certificate, error) {
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" {
		return nil, fmt.Errorf("%q is not an http address", address)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("User-Agent", v.userAgent)
	client := http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxIssuerRedirects || r.URL.Scheme != "http" {
			return errors.New("too many redirects, or a redirect to a non-http address")
		}
		return nil
	}}
	response, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d", address, response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxIssuerBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", address, err)
	case len(body) > maxIssuerBytes:
		return nil, fmt.Errorf("%s: more than %d bytes", address, maxIssuerBytes)
	}
	certs, err := parseCertificates(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	for _, issuer := range certs {
		if !issuer.Equal(cert) && cert.CheckSignatureFrom(issuer) == nil {
			return issuer, nil
		}
	}
	return nil, fmt.Errorf("%s: the fetched certificate did not issue %q", address, cert.Subject)
}

// parseCertificates reads certificates in DER, PEM or PKCS #7 (a .p7c file).
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN ")) {
		block, _ := pem.Decode(text)
		if block == nil {
			return nil, errors.New("invalid PEM")
		}
		text = block.Bytes
	}
	certs, err := x509.ParseCertificates(text)
	if err == nil {
		return certs, nil
	}
	if certs, ok := parsePKCS7(text); ok {
		return certs, nil
	}
	return nil, err
}

// parsePKCS7 reads the certificates in signed data (RFC 2315 §9.1).
func parsePKCS7(text []byte) (certs []*x509.Certificate, ok bool) {
	var info struct {
		Type    asn1.ObjectIdentifier
		Content struct {
			Version      int
			Algorithms   asn1.RawValue
			Data         asn1.RawValue
			Certificates asn1.RawValue `asn1:"optional,tag:0"`
			CRLs         asn1.RawValue `asn1:"optional,tag:1"`
			Signers      asn1.RawValue
		} `asn1:"explicit,tag:0"`
	}
	if _, err := asn1.Unmarshal(text, &info); err != nil {
		return nil, false
	}
	certs, err := x509.ParseCertificates(info.Content.Certificates.Bytes)
	return certs, err == nil && len(certs) > 0
}
