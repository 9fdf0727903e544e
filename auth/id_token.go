package auth

import (
	"context"
	"crypto/subtle"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// person is the person who signed in, according to the issuer.
type person struct {
	subject  string
	email    string // verified by the issuer, or empty
	hasEmail bool   // the issuer stated an address, verified or not
	idToken  string // raw ID token; empty if too long to store
}

// identify verifies an ID token that the issuer has just returned for a code, in the same way as an
// access token. The token must also be for this service and have the attempt's nonce.
func (i *signInIssuer) identify(ctx context.Context, raw, nonce string) (person, error) {
	token, err := parseToken(raw)
	switch {
	case err != nil:
		return person{}, i.untrusted("its ID token is missing or malformed")
	case token.issuer != i.URL:
		return person{}, i.untrusted("its ID token is from another issuer")
	case token.typed:
		return person{}, i.untrusted("it sent an access token instead of an ID token")
	}
	var who person
	var rejection error
	err = i.keys.verify(ctx, token, func(payload []byte) error {
		who, rejection = i.readPerson(payload, nonce)
		return rejection
	})
	switch {
	case rejection != nil:
		return person{}, rejection
	case cola.CodeOf(err) == cola.CodeUnauthorized:
		return person{}, i.untrusted("its ID token is not signed with a published key")
	case err != nil:
		return person{}, i.unavailable()
	}
	if len(raw) <= maxIDToken {
		who.idToken = raw
	}
	return who, nil
}

// readPerson reads the claims of a verified ID token.
func (i *signInIssuer) readPerson(payload []byte, nonce string) (who person, err error) {
	o, err := parseClaims(payload)
	if err != nil {
		return person{}, i.untrusted("its ID token cannot be read")
	}
	audiences, err := o.texts("aud")
	if err != nil || !slices.Contains(audiences, i.ClientID) {
		return person{}, i.untrusted("its ID token is for another service")
	}
	if party, err := o.text("azp"); err != nil || (o.has("azp") || len(audiences) > 1) && party != i.ClientID {
		return person{}, i.untrusted("its ID token was issued to another service")
	}
	if got, err := o.text("nonce"); err != nil || subtle.ConstantTimeCompare([]byte(got), []byte(nonce)) != 1 {
		return person{}, i.untrusted("its ID token belongs to another sign-in attempt")
	}
	if err := i.checkTimes(o, i.now()); err != nil {
		return person{}, err
	}
	if who.subject, err = o.text("sub"); err != nil || !isName(who.subject) {
		return person{}, i.untrusted("its ID token has no valid subject")
	}
	return i.withEmail(who, o)
}

// checkTimes rejects an ID token that is not valid now. It was issued a moment ago, so the likely
// cause is a wrong clock.
func (i *signInIssuer) checkTimes(o claims, now time.Time) error {
	expires, ok, err := o.timestamp("exp")
	if err != nil || !ok {
		return i.untrusted("its ID token has no valid expiry")
	}
	if !now.Before(expires.Add(leeway)) {
		return i.untrusted("its ID token has already expired; the sign-in service's clock may be slow, or ours fast")
	}
	for _, name := range []string{"nbf", "iat"} {
		at, ok, err := o.timestamp(name)
		if err != nil || ok && at.Add(-leeway).After(now) {
			return i.untrusted("its ID token is not valid yet; the sign-in service's clock may be fast, or ours slow")
		}
	}
	return nil
}

// withEmail adds the email address in the claims to a person.
//
//   - An address that the policy does not link counts as missing.
//   - An address that the issuer marks as unverified is an error: ignoring it would create a second
//     account for someone who already has one, and they can verify the address with the issuer.
//   - An address without email_verified counts as missing, as in access tokens.
func (i *signInIssuer) withEmail(who person, o claims) (person, error) {
	who.hasEmail = o.has("email")
	if claimed, err := o.text("email"); err == nil && !i.links.allows(claimed) {
		return who, nil
	}
	who.email = i.links.linking(o.verifiedEmail())
	if verified := string(o["email_verified"]); who.hasEmail && (verified == `false` || verified == `"false"`) {
		return person{}, unauthorized("%s has not verified your email address, so we can't find your account. Verify it there, "+
			"then sign in again.", i.Name)
	}
	return who, nil
}

// fetchEmail fetches a person's email address from the issuer's userinfo endpoint, because many
// issuers leave it out of ID tokens. A response without an address is accepted. If the issuer does
// not respond, the sign-in fails: without the address, it would create a second account for someone
// who already has one.
func (i *signInIssuer) fetchEmail(ctx context.Context, at, accessToken string, who person) (person, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return person{}, i.unavailable()
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Authorization", "Bearer "+accessToken)
	response, err := i.secretClient.Do(request)
	if err != nil {
		i.log.Warn("fetching userinfo failed", "issuer", i.URL, "error", truncateError(err.Error()))
		return person{}, i.unavailable()
	}
	defer response.Body.Close()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode >= http.StatusInternalServerError || isTemporary(response.StatusCode):
		i.log.Warn("fetching userinfo failed", "issuer", i.URL, "status", response.StatusCode)
		return person{}, i.unavailable()
	case response.StatusCode != http.StatusOK || kind != "application/json":
		return who, nil // no address, or a format that was not requested
	}
	body, err := io.ReadAll(response.Body) // the client limits the size of the body
	if err != nil {
		return person{}, i.unavailable()
	}
	o, err := parseClaims(body)
	if err != nil {
		return person{}, i.untrusted("its userinfo response cannot be read")
	}
	if subject, err := o.text("sub"); err != nil || subject != who.subject {
		return person{}, i.untrusted("its userinfo response is for another subject")
	}
	return i.withEmail(who, o)
}

// isTemporary reports whether a retry may succeed after a 4xx status. 401 counts as temporary,
// because an issuer whose servers' clocks differ may reject a fresh access token.
func isTemporary(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusUnauthorized
}
