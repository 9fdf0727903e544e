package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/store"
)

// maxCode is the maximum length of a code in bytes.
const maxCode = 4 << 10

// Begin starts a sign-in with the issuer that has the given key, and returns the URL to redirect
// the browser to. A cookie stores the attempt for AttemptLifetime; tabs have separate attempts.
// Finish later returns returnTo, with its query, if it is a local path. Begin fails with
// CodeValidation for an unknown key, and with CodeUnavailable if the issuer does not respond.
func (b *Browsers) Begin(ctx context.Context, issuerKey, returnTo string) (redirect string, err error) {
	s := sessionOf(ctx)
	at := slices.IndexFunc(b.issuers, func(i *signInIssuer) bool { return i.key == issuerKey })
	if at < 0 {
		return "", cola.Errorf(cola.CodeValidation,
			"Unknown sign-in option. Choose one on the sign-in page.")
	}
	issuer := b.issuers[at]
	endpoints, err := issuer.endpoints(ctx)
	if err != nil {
		return "", err
	}
	a := attempt{
		State: newSecretText(), Nonce: newSecretText(), Verifier: oauth2.GenerateVerifier(), Issuer: issuer.URL,
		ReturnTo: LocalPage(returnTo), Until: b.now().Add(AttemptLifetime),
	}
	s.cookies = append(s.cookies, b.attempts.start(s.sent, a)...)
	return endpoints.oauth.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Finish signs in the person whom an issuer redirected back with this query, and returns the page
// to continue on; browser is the User-Agent. Finish fails with CodeUnauthorized and the reason, or
// with CodeUnavailable if the issuer or the store does not respond. Either way the attempt is over;
// a failed attempt does not end an existing sign-in. The exception is an attempt that exceeds a
// limit on code exchanges: it fails with CodeQuotaExceeded or CodeUnavailable, and the same query
// can be retried.
func (b *Browsers) Finish(ctx context.Context, query url.Values, browser string) (returnTo string, err error) {
	defer func() { b.counts.WithLabelValues(byIssuer, resultOf(err, resultAccepted)).Inc() }()
	s := sessionOf(ctx)
	cookies := s.cookies
	a, issuer, err := b.attempt(s, query)
	if err != nil {
		return "", err
	}
	endpoints, err := issuer.endpoints(ctx)
	if err != nil {
		return "", err
	}
	code, err := issuer.code(query, endpoints.sendsIssuer)
	if err != nil {
		return "", err
	}
	done, err := issuer.limit.begin(ctx, a.State)
	switch {
	case errors.Is(err, errNoAttempt):
		return "", attemptOver()
	case errors.Is(err, errTooManyExchanges):
		s.cookies = cookies
		return "", issuer.busy()
	case err != nil:
		s.cookies = cookies
		return "", err
	}
	who, err := issuer.redeemInTime(ctx, endpoints, a, code, done)
	if err != nil {
		return "", err
	}
	account, err := b.accountOf(ctx, issuer.URL, who)
	if err != nil {
		return "", err
	}
	return a.ReturnTo, b.startSession(ctx, newSignIn{
		account: account, via: issuer.URL, browser: browser,
		signOutAt: endpoints.signOut, clientID: issuer.ClientID, idToken: who.idToken, verified: who.email,
	})
}

// attempt returns the attempt that an issuer's response belongs to, and deletes its cookie.
func (b *Browsers) attempt(s *session, query url.Values) (attempt, *signInIssuer, error) {
	a, removal, err := b.attempts.find(s.sent, single(query, "state"))
	if removal != nil {
		s.cookies = append(s.cookies, removal)
	}
	if errors.Is(err, keyring.ErrUnknownKey) {
		b.throttledLog.warn("unknown key", "sign-in attempt encrypted with an unknown key; all processes need the same "+
			"--secret-key-file", "error", err)
	}
	if err != nil {
		return attempt{}, nil, attemptOver()
	}
	at := slices.IndexFunc(b.issuers, func(i *signInIssuer) bool { return i.URL == a.Issuer })
	if at < 0 {
		return attempt{}, nil, unauthorized("This sign-in option is no longer available. Choose another on the " +
			"sign-in page.")
	}
	return a, b.issuers[at], nil
}

func attemptOver() error {
	return unauthorized("This sign-in took too long, is already complete, or was started in another browser. " +
		"Start again on the sign-in page.")
}

// single returns the value of a parameter that occurs once, otherwise "".
func single(query url.Values, name string) string {
	if len(query[name]) != 1 {
		return ""
	}
	return query[name][0]
}

// code returns the code in a response from the issuer.
func (i *signInIssuer) code(query url.Values, sendsIssuer bool) (string, error) {
	// A code from another issuer must not be sent to this one (RFC 9207).
	if iss := query["iss"]; (len(iss) > 0 || sendsIssuer) && (len(iss) != 1 || iss[0] != i.URL) {
		return "", i.untrusted("the response does not name this issuer")
	}
	if len(query["error"]) > 0 {
		return "", i.refused(single(query, "error"))
	}
	code := single(query, "code")
	if code == "" || len(code) > maxCode {
		return "", i.untrusted("the response has no valid code")
	}
	return code, nil
}

// refused returns the error for an error response from the issuer. Unknown reasons are logged, not
// displayed.
func (i *signInIssuer) refused(reason string) error {
	switch reason {
	case "access_denied":
		return unauthorized("%s did not grant access. Sign in again and allow access, or ask its administrator.", i.Name)
	case "login_required", "interaction_required", "consent_required", "account_selection_required":
		return unauthorized("%s requires you to sign in there first. Start again on the sign-in page.", i.Name)
	}
	const message = "issuer refused a sign-in"
	i.throttledLog.warn(message, message, "issuer", i.URL, "reason", cola.Quoted(reason))
	return i.unavailable()
}

// untrusted returns the error for a response from the issuer that fails a check. reason is a
// phrase.
func (i *signInIssuer) untrusted(reason string) error {
	const message = "issuer response failed a check"
	i.throttledLog.warn(message+reason, message, "issuer", i.URL, "reason", reason)
	return unauthorized("You were not signed in: the response from %s failed a check (%s). Sign in again. If this "+
		"keeps happening, contact the operator.", i.Name, reason)
}

// redeemInTime is redeem with a timeout.
func (i *signInIssuer) redeemInTime(
	ctx context.Context, endpoints *endpoints, a attempt, code string, done func(accepted bool),
) (person, error) {
	exchange, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	who, err := i.redeem(exchange, endpoints, a, code, done)
	if err != nil && ctx.Err() != nil {
		return person{}, fmt.Errorf("redeem code: %w", ctx.Err()) // the visitor has left
	}
	return who, err
}

// redeem exchanges a code for the identity of the person. It reports to done whether the issuer
// accepted the code.
func (i *signInIssuer) redeem(
	ctx context.Context, endpoints *endpoints, a attempt, code string, done func(accepted bool),
) (person, error) {
	token, err := endpoints.oauth.Exchange(oidc.ClientContext(ctx, i.secretClient), code, oauth2.VerifierOption(a.Verifier))
	done(err == nil)
	if err != nil {
		return person{}, i.notRedeemed(err)
	}
	raw, _ := token.Extra("id_token").(string)
	who, err := i.identify(ctx, raw, a.Nonce)
	if err != nil {
		return person{}, err
	}
	if !who.hasEmail && endpoints.userInfo != "" && !i.links.never {
		who, err = i.fetchEmail(ctx, endpoints.userInfo, token.AccessToken, who)
	}
	return who, err
}

// notRedeemed returns the error for a failed code exchange: the issuer rejected the code or did not
// respond. The log has only the status and the error code of the issuer's response, because the
// rest may contain anything.
func (i *signInIssuer) notRedeemed(err error) error {
	var response *oauth2.RetrieveError
	if !errors.As(err, &response) {
		const message = "sign-in issuer unavailable"
		i.throttledLog.warn(message, message, "issuer", i.URL, "error", truncateError(err.Error()))
		return i.unavailable()
	}
	const message = "issuer rejected a code"
	i.throttledLog.warn(message+truncate(response.ErrorCode, 100), message, "issuer", i.URL, "status", response.Response.StatusCode, "reason", cola.Quoted(response.ErrorCode))
	if response.ErrorCode == "invalid_grant" && response.Response.StatusCode < http.StatusInternalServerError {
		return unauthorized("%s says that this sign-in took too long or is already complete. Start again on the sign-in page.", i.Name)
	}
	return i.unavailable()
}

// accountOf returns the account of a person, creating it if necessary.
func (b *Browsers) accountOf(ctx context.Context, issuer string, who person) (store.Account, error) {
	var account store.Account
	if err := withStoreTimeout(ctx, "find account for sign-in", func(ctx context.Context) (err error) {
		account, err = b.store.AccountOf(ctx, store.Identity{Issuer: issuer, Subject: who.subject}, who.email)
		return err
	}); err != nil {
		return store.Account{}, err
	}
	recordIdentity(ctx, b.events, account, issuer)
	b.throttledLog.warnDuplicateAccount(account, issuer, who.email, "ID")
	return account, nil
}

// maxReturnTo is the maximum length of the address that a sign-in returns to, in bytes.
const maxReturnTo = 1_000

// LocalPage returns an address if every browser interprets it as a page of this service, otherwise
// the home page. Browsers interpret a backslash as a slash, skip tabs and line breaks, and
// interpret two slashes as the start of a host, so LocalPage rejects all of these, encoded or not.
func LocalPage(address string) string {
	if len(address) > maxReturnTo || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") ||
		strings.ContainsFunc(address, needsEncoding) {
		return homePath
	}
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" {
		return homePath
	}
	whole := u.Path + "/" // decoded
	if strings.Contains(u.Path, "//") || strings.ContainsFunc(u.Path, isForbiddenInPath) ||
		strings.Contains(whole, "/./") || strings.Contains(whole, "/../") {
		return homePath
	}
	return address
}

// needsEncoding reports whether a character must be encoded in an address.
func needsEncoding(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }

// isForbiddenInPath reports whether a character is not allowed in a path, even encoded.
func isForbiddenInPath(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }
