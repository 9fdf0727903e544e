package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// claims are the members of a JSON object in a token, keyed by their exact names. Duplicate names
// are rejected, because parsers disagree on which one counts.
type claims map[string]json.RawMessage

// maxLevels and maxValues bound the JSON that is decoded before a token's signature is checked.
// Some tokens list a few hundred groups.
const (
	maxLevels = 16
	maxValues = 1_000
)

// parseClaims parses a JSON object. Its errors don't reveal the content.
func parseClaims(data []byte) (claims, error) {
	data = bytes.TrimSpace(data)
	if !utf8.Valid(data) {
		return nil, errors.New("it is not valid UTF-8")
	}
	switch strictjson.Bounded(data, maxLevels, maxValues) {
	case nil:
	case strictjson.ErrDepth:
		return nil, errors.New("it is nested too deeply")
	default:
		return nil, errors.New("it has too many values")
	}
	if !strictjson.Valid(data) || data[0] != '{' {
		return nil, errNotObject
	}
	members, ambiguity := strictjson.Unambiguous(data, nil)
	if ambiguity != nil {
		return nil, errors.New("it has a duplicate name")
	}
	o := make(claims, len(members))
	for _, m := range members {
		o[m.Name] = m.Value
	}
	return o, nil
}

var errNotObject = errors.New("it is not a JSON object")

// text returns a string claim, or "" if it is missing.
func (o claims) text(name string) (string, error) {
	raw, ok := o[name]
	if !ok {
		return "", nil
	}
	s, ok := strictjson.Text(raw)
	if !ok {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return s, nil
}

// texts returns a claim that is a string or an array of strings.
func (o claims) texts(name string) (list []string, err error) {
	raw, ok := o[name]
	if !ok {
		return nil, nil
	}
	if s, ok := strictjson.Text(raw); ok {
		return []string{s}, nil
	}
	if raw[0] != '[' {
		return nil, fmt.Errorf("%s is not a string or an array of strings", name)
	}
	for _, e := range strictjson.Elements(raw) {
		s, ok := strictjson.Text(e)
		if !ok {
			return nil, fmt.Errorf("%s contains a value that is not a string", name)
		}
		list = append(list, s)
	}
	return list, nil
}

// lastSecond is the end of the year 9999. Later times are most likely in milliseconds.
const lastSecond = 253402300799

// timestamp returns a claim that is a Unix time; ok is false if it is missing.
func (o claims) timestamp(name string) (at time.Time, ok bool, err error) {
	raw, ok := o[name]
	if !ok {
		return time.Time{}, false, nil
	}
	seconds, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || seconds < 0 || seconds > lastSecond {
		return time.Time{}, true, fmt.Errorf("%s is not a Unix timestamp", name)
	}
	return time.UnixMilli(int64(seconds * 1000)), true, nil
}

const (
	// leeway is the accepted difference between an issuer's clock and ours.
	leeway = 30 * time.Second
	// maxName is the maximum length of subjects (as in OpenID Connect) and client IDs, in bytes.
	maxName = 255
)

// tokenClaims are the claims of a verified access token.
type tokenClaims struct {
	subject string
	client  string       // client ID of the app
	scopes  []cola.Scope // this service's scopes, sorted
	email   string       // verified by the issuer, or empty
	expires time.Time
}

// names holds the audiences and scope prefix that issuers use for this service.
type names struct {
	audiences   []string // accepted audiences
	scopePrefix string   // optional prefix of scopes
}

// readTokenClaims reads a verified payload. It rejects anything but a current access token for one
// of our audiences. typed is true if the header declares an access token.
func readTokenClaims(payload []byte, typed bool, ours names, now time.Time) (c tokenClaims, err error) {
	o, err := parseClaims(payload)
	if err != nil {
		return tokenClaims{}, unreadableClaims(err)
	}
	if err := o.checkUse(typed); err != nil {
		return tokenClaims{}, err
	}
	if err := o.checkAudience(ours.audiences); err != nil {
		return tokenClaims{}, err
	}
	if c.expires, err = o.checkTimes(now); err != nil {
		return tokenClaims{}, err
	}
	if c.subject, err = o.subject(); err != nil {
		return tokenClaims{}, err
	}
	if c.client, err = o.client(); err != nil {
		return tokenClaims{}, err
	}
	if c.scopes, err = o.scopes(ours.scopePrefix); err != nil {
		return tokenClaims{}, err
	}
	c.email = o.verifiedEmail()
	return c, nil
}

// checkUse rejects tokens that issuers sign with the same keys for other purposes, and tokens bound
// to a client's key, because this service does not check that binding.
//
// The type at+jwt in the header is reserved for access tokens (RFC 9068), but many issuers omit it.
// Without it, the token needs a scope claim and must not have claims that only ID tokens have.
func (o claims) checkUse(typed bool) error {
	if o.has("cnf") {
		return unauthorized("The access token is bound to a client key (cnf: DPoP or mutual TLS), which this service " +
			"does not support. Request a plain bearer token.")
	}
	if o.has("events") {
		return unauthorized("The token is a security event token (it has events). Send an access token.")
	}
	for _, c := range []struct{ name, want string }{{"typ", "Bearer"}, {"token_use", "access"}} { // Keycloak, Cognito
		if use, err := o.text(c.name); o.has(c.name) && (err != nil || !strings.EqualFold(use, c.want)) {
			return unauthorized("The token is not an access token: its %s claim must be %q.", c.name, c.want)
		}
	}
	if typed {
		return nil
	}
	for _, name := range []string{"nonce", "at_hash", "c_hash", "s_hash"} {
		if o.has(name) {
			return unauthorized("The token is an ID token (it has %s). Send the access token.", name)
		}
	}
	if !o.has("scope") && !o.has("scp") {
		return unauthorized("The token is not an access token: it needs the type at+jwt in its header, or a scope or " +
			"scp claim.")
	}
	return nil
}

func (o claims) has(name string) bool {
	_, ok := o[name]
	return ok
}

func (o claims) checkAudience(ours []string) error {
	theirs, err := o.texts("aud")
	if err != nil {
		return unreadableClaims(err)
	}
	if slices.ContainsFunc(theirs, func(a string) bool { return slices.Contains(ours, a) }) {
		return nil
	}
	return unauthorized("The access token is for another audience; accepted: %s.", quotedList(ours))
}

// quotedList quotes configured values and joins them with "or", for a message.
func quotedList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	return strings.Join(quoted, " or ")
}

// checkTimes returns the expiry of the token, or an error if the token is not valid now.
func (o claims) checkTimes(now time.Time) (expires time.Time, err error) {
	expires, ok, err := o.timestamp("exp")
	if err != nil {
		return time.Time{}, unreadableClaims(err)
	}
	if !ok {
		return time.Time{}, unauthorized("The access token has no expiry. Request one with an exp claim.")
	}
	if !now.Before(expires.Add(leeway)) {
		return time.Time{}, unauthorized("The access token has expired. Refresh it, or sign in again.")
	}
	for _, name := range []string{"nbf", "iat"} {
		at, ok, err := o.timestamp(name)
		if err != nil {
			return time.Time{}, unreadableClaims(err)
		}
		if ok && at.Add(-leeway).After(now) {
			return time.Time{}, unauthorized("The access token is not valid yet (%s). The issuer's clock may be ahead.", name)
		}
	}
	return expires, nil
}

func (o claims) subject() (string, error) {
	s, err := o.text("sub")
	if err != nil || !isName(s) {
		return "", unauthorized("The access token needs a subject (sub) of 1 to %d bytes without control characters.", maxName)
	}
	return s, nil
}

// client returns the client ID. Issuers use different claims for it, and some use two.
func (o claims) client() (id string, err error) {
	for _, name := range []string{"client_id", "azp", "appid", "cid"} {
		if !o.has(name) {
			continue
		}
		value, err := o.text(name)
		if err != nil || !isName(value) {
			return "", unauthorized("The access token's %s is not a client ID of 1 to %d bytes without control characters.", name, maxName)
		}
		if id != "" && value != id {
			return "", unauthorized("The access token names more than one client (client_id, azp, appid, cid).")
		}
		id = value
	}
	if id == "" {
		return "", unauthorized("The access token does not name its client (client_id, azp, appid or cid).")
	}
	return id, nil
}

// isName reports whether s can be stored as a subject or client ID.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, unicode.IsControl)
}

// scopes returns the scopes of this service, sorted, without the prefix. Issuers send scopes as a
// space-separated string or as an array, in the scope or scp claim.
func (o claims) scopes(prefix string) (known []cola.Scope, err error) {
	name := "scope"
	if !o.has(name) {
		name = "scp"
	}
	list, err := o.texts(name)
	if err != nil {
		return nil, unreadableClaims(err)
	}
	var granted []string
	for _, s := range list {
		for scope := range strings.FieldsSeq(s) {
			granted = append(granted, strings.TrimPrefix(scope, prefix))
		}
	}
	for _, s := range cola.Scopes() {
		if slices.Contains(granted, string(s)) {
			known = append(known, s)
		}
	}
	slices.Sort(known)
	return known, nil
}

// verifiedEmail returns the email address if the issuer marks it as verified, otherwise "". The
// address links a new identity to an account, so only plain addresses count.
func (o claims) verifiedEmail() string {
	if verified := string(o["email_verified"]); verified != `true` && verified != `"true"` {
		return ""
	}
	email, err := o.text("email")
	if err != nil || cola.CheckEmail(email) != nil {
		return ""
	}
	return email
}
