package auth

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// session is the session of the browser that sent a request. It belongs to the goroutine that
// handles the request.
type session struct {
	token   string      // from the browser's cookie, or new; empty without a stored session
	data    sessionData // current data, including this request's changes
	stored  sessionData // data as last read or written by this request
	changed bool        // data must be stored
	dropped bool        // the session that the browser's cookie names was deleted

	sent    []*http.Cookie // from the request
	cookies []*http.Cookie // to set with the response, in addition to the session's own
}

type sessionKey struct{}

// sessionOf returns the session of a request. It panics if the request didn't pass through Load.
func sessionOf(ctx context.Context) *session {
	s, ok := ctx.Value(sessionKey{}).(*session)
	if !ok {
		panic("auth: the request did not pass through Browsers.Load")
	}
	return s
}

// openSession returns the session of a request. An unknown or expired token opens an empty session.
func (b *Browsers) openSession(r *http.Request) (*session, error) {
	ctx := r.Context()
	s := &session{sent: r.Cookies()}
	if token := b.sentToken(r); token != "" {
		data, found, err := b.readSession(ctx, token)
		if err != nil {
			return nil, err
		}
		if found {
			s.token, s.data, s.stored = token, data, data.clone()
		} else {
			// Ignore the rate-limit error for an unknown cookie, because a signed-out user must
			// still be able to sign in.
			_ = b.events.Failed(ctx, security.Session, nil)
		}
	}
	if s.data.SignIn != nil && b.now().Sub(s.data.Seen) >= lastSeenEvery {
		// Save now rather than with the response, because another request may change the session
		// while this one is being handled.
		s.changed = true
		if _, err := b.saveSession(ctx, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// saveSession stores a changed session and returns the cookie to set, or nil. It drops an empty
// session. A new session gets its token here, so no session is ever stored under a token that the
// browser chose.
//
// Changes that other requests have stored since this one read the session are merged. If another
// request ended the session by signing in or out, this one's changes are discarded. Another request
// can still intervene between the read and the write here, but not during the seconds that an
// issuer takes to respond.
func (b *Browsers) saveSession(ctx context.Context, s *session) (*http.Cookie, error) {
	if !s.changed {
		return nil, nil
	}
	if s.token != "" {
		theirs, found, err := b.readSession(ctx, s.token)
		if err != nil {
			return nil, err
		}
		if !found {
			s.changed = false
			return nil, nil
		}
		s.data = merged(s.stored, s.data, theirs)
	}
	if s.data.empty() {
		if err := b.dropSession(ctx, s); err != nil {
			return nil, err
		}
		s.changed = false
		if !s.dropped {
			return nil, nil
		}
		return b.sessionCookie("", -time.Second), nil
	}
	token := s.token
	if token == "" {
		token = newSecretText()
	}
	s.data.Seen = b.now()
	lifetime := AttemptLifetime
	if s.data.SignIn != nil {
		lifetime = s.data.SignIn.Until.Sub(s.data.Seen)
	}
	if err := b.writeSession(ctx, token, s.data, min(lifetime, SignInIdle)); err != nil {
		return nil, err
	}
	s.token, s.changed, s.stored = token, false, s.data.clone()
	return b.sessionCookie(token, lifetime+time.Second), nil
}

// dropSession deletes the stored session, which makes its token useless. If the session is saved
// again, it gets a new token.
func (b *Browsers) dropSession(ctx context.Context, s *session) error {
	if s.token == "" {
		return nil
	}
	err := withStoreTimeout(ctx, "drop session", func(ctx context.Context) error {
		_, err := b.store.DeleteSession(ctx, sessionName(s.token))
		return err
	})
	if err == nil {
		s.token, s.dropped = "", true
	}
	return err
}

// readSession returns a stored session's data. Data that can't be decrypted counts as not found,
// and data that can't be decoded as empty: an error would lock the browser out.
func (b *Browsers) readSession(ctx context.Context, token string) (data sessionData, found bool, err error) {
	var sealed []byte
	err = withStoreTimeout(ctx, "read session", func(ctx context.Context) (err error) {
		sealed, err = b.store.Session(ctx, sessionName(token))
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return sessionData{}, false, nil
	case err != nil:
		return sessionData{}, false, err
	}
	plain, ok := unseal(token, sealed)
	if !ok {
		return sessionData{}, false, nil
	}
	if json.Unmarshal(plain, &data) != nil {
		data = sessionData{}
	}
	data.expire(b.now())
	return data, true, nil
}

func (b *Browsers) writeSession(ctx context.Context, token string, data sessionData, lifetime time.Duration) error {
	plain, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode session: %w", err)
	}
	return withStoreTimeout(ctx, "store session", func(ctx context.Context) error {
		return b.store.SaveSession(ctx, sessionName(token), seal(token, plain), b.now().Add(lifetime))
	})
}

// cookieName returns the name of a cookie. Browsers accept __Host- cookies only from this host over
// https, so neither another host in the domain nor an attacker on the network can set one.
func cookieName(name string, https bool) string {
	if https {
		return "__Host-" + name
	}
	return name
}

// newCookie returns a cookie to set; a negative age deletes it.
func newCookie(name, value string, age time.Duration, https bool) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(age / time.Second),
		HttpOnly: true, Secure: https, SameSite: http.SameSiteLaxMode,
	}
}

func (b *Browsers) sessionCookie(token string, age time.Duration) *http.Cookie {
	return newCookie(cookieName("colaregistry", b.https), token, age, b.https)
}

// sentToken returns the token in the cookie of a request, or "" if it is not a well-formed token.
func (b *Browsers) sentToken(r *http.Request) string {
	cookie, err := r.Cookie(b.sessionCookie("", 0).Name)
	if err != nil || !isSecretText(cookie.Value) {
		return ""
	}
	return cookie.Value
}

// Sessions are stored encrypted, under keys derived from the tokens in browsers' cookies. The
// tokens are not stored, so the database, or a copy of it, reveals neither a token nor the content
// of a session: ID tokens and notices for the next page.

// sessionName returns the name under which a token's session is stored.
func sessionName(token string) string {
	hash := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(hash[:])
}

// seal encrypts session data under a key derived from the token.
func seal(token string, data []byte) []byte {
	return sessionCipher(token).Seal(nil, nil, data, []byte(sessionName(token)))
}

// unseal decrypts data that seal encrypted for the same token; ok is false for any other data.
func unseal(token string, sealed []byte) (data []byte, ok bool) {
	data, err := sessionCipher(token).Open(nil, nil, sealed, []byte(sessionName(token)))
	return data, err == nil
}

// sessionCipher returns AES-256-GCM under the key derived from a token. Each encryption has a
// random nonce; a key usually encrypts at most once a minute, far below the limit for random
// nonces.
func sessionCipher(token string) cipher.AEAD {
	key, err := hkdf.Key(sha256.New, []byte(token), nil, "colaregistry session", 32)
	if err != nil {
		panic(err) // fails only if the requested key is too long
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // fails only for an invalid key length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // fails only for a cipher other than AES
	}
	return aead
}

const (
	// lastSeenEvery is how often a session's last visit is stored. A write for every request would
	// slow down every page.
	lastSeenEvery = time.Minute

	maxNotices = 4
	maxNotice  = 2_000 // in bytes, for a key or a value
	// maxIDToken limits the ID tokens that a session stores for signing out, in bytes, because they
	// go into a URL. Without an ID token, the issuer asks for confirmation.
	maxIDToken = 4 << 10
)

// sessionData is the content of a session. It is stored as JSON, so that other versions of the
// program can read it.
type sessionData struct {
	SignIn  *signedIn `json:"sign_in,omitempty"`
	Notices []notice  `json:"notices,omitempty"` // oldest first
	Seen    time.Time `json:"seen,omitzero"`     // when the browser's last visit was stored
}

// signedIn is the sign-in of a browser.
type signedIn struct {
	ID        int64          `json:"id"`
	Account   cola.AccountID `json:"account"`
	Until     time.Time      `json:"until"`
	SignOutAt string         `json:"sign_out_at,omitempty"` // the issuer's end_session_endpoint
	ClientID  string         `json:"client_id,omitempty"`
	IDToken   string         `json:"id_token,omitempty"`
	// VerifiedEmail is missing from sessions created by earlier versions; their addresses count as
	// unverified.
	VerifiedEmail string `json:"verified_email,omitempty"`
}

// notice is a string for a later request.
type notice struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// signOut returns the URL at which the issuer signs the browser out and redirects it to
// returnURL.
func (s signedIn) signOut(returnURL string) string {
	at, err := url.Parse(s.SignOutAt)
	if err != nil {
		return ""
	}
	query := at.Query()
	query.Set("client_id", s.ClientID)
	query.Set("post_logout_redirect_uri", returnURL)
	if s.IDToken != "" {
		query.Set("id_token_hint", s.IDToken)
	}
	at.RawQuery = query.Encode()
	return at.String()
}

func (d *sessionData) empty() bool { return d.SignIn == nil && len(d.Notices) == 0 }

// expire clears the data if the sign-in has expired.
func (d *sessionData) expire(now time.Time) {
	if d.SignIn != nil && !now.Before(d.SignIn.Until) {
		*d = sessionData{}
	}
}

func (d *sessionData) clone() sessionData {
	c := *d
	c.Notices = slices.Clone(d.Notices)
	return c
}

func (d *sessionData) put(key, value string) {
	d.pop(key)
	clean := func(text string) string { return truncate(strings.ToValidUTF8(text, ""), maxNotice) }
	d.Notices = append(d.Notices, notice{clean(key), clean(value)})
	d.Notices = d.Notices[max(0, len(d.Notices)-maxNotices):]
}

func (d *sessionData) pop(key string) (value string, found bool) {
	at := slices.IndexFunc(d.Notices, func(n notice) bool { return n.Key == key })
	if at < 0 {
		return "", false
	}
	value = d.Notices[at].Value
	d.Notices = slices.Delete(d.Notices, at, at+1)
	return value, true
}

// merged returns the three-way merge of session data: this request changed base to ours, and other
// requests changed base to theirs. The result has the notices that either side added, without those
// that either side removed. The sign-in of a session never changes, because signing in starts a new
// session.
func merged(base, ours, theirs sessionData) sessionData {
	m := sessionData{SignIn: ours.SignIn, Seen: ours.Seen}
	for _, n := range theirs.Notices {
		if slices.Contains(ours.Notices, n) || !slices.Contains(base.Notices, n) {
			m.put(n.Key, n.Value)
		}
	}
	for _, n := range ours.Notices {
		if !slices.Contains(base.Notices, n) {
			m.put(n.Key, n.Value)
		}
	}
	return m
}
