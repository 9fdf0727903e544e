package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// seenEvery is how often it is noted that a browser is still there. Noting it with every request, as the library would, makes
	// every page wait for a write.
	seenEvery = time.Minute

	mostNotices = 4
	mostNotice  = 2_000 // bytes
	// mostIDToken bounds the ID tokens that are kept to sign out with, in bytes: they go into a URL. Without one issuers ask who it is.
	mostIDToken = 4 << 10
)

// kept is the content of a session, less than 40 KiB.
type kept struct {
	SignIn  *signedIn `json:"sign_in,omitempty"`
	Notices []notice  `json:"notices,omitempty"` // the oldest first
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
}

// signOut returns where the issuer signs the browser out, and leads back to a page of ours from.
func (s signedIn) signOut(back string) string {
	at, err := url.Parse(s.SignOutAt)
	if err != nil {
		return ""
	}
	query := at.Query()
	query.Set("client_id", s.ClientID)
	query.Set("post_logout_redirect_uri", back)
	if s.IDToken != "" {
		query.Set("id_token_hint", s.IDToken)
	}
	at.RawQuery = query.Encode()
	return at.String()
}

// notice is a text for a later request.
type notice struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (k *kept) empty() bool { return k.SignIn == nil && len(k.Notices) == 0 }

func (k *kept) put(key, value string) {
	k.pop(key)
	clean := func(text string) string { return cut(strings.ToValidUTF8(text, ""), mostNotice) }
	k.Notices = append(k.Notices, notice{clean(key), clean(value)})
	k.Notices = k.Notices[max(0, len(k.Notices)-mostNotices):]
}

func (k *kept) pop(key string) (value string, found bool) {
	at := slices.IndexFunc(k.Notices, func(n notice) bool { return n.Key == key })
	if at < 0 {
		return "", false
	}
	value = k.Notices[at].Value
	k.Notices = slices.Delete(k.Notices, at, at+1)
	return value, true
}

// current clears the session if its sign-in has expired.
func (k *kept) current(now time.Time) {
	if k.SignIn != nil && !now.Before(k.SignIn.Until) {
		*k = kept{}
	}
}

// session is the state of the browser of one request. It belongs to the goroutine that answers the
// request.
type session struct {
	kept    kept
	changed bool // not stored yet

	sent    []*http.Cookie // from the request
	cookies []*http.Cookie // to set with the response, besides the session's own

	token string // that the browser came with; empty: none that anything is kept under
	read  kept   // what was kept under it when this request read it, or has kept since
}

type sessionKey struct{}

// sessionOf returns the session of a request. That it is under Load is for the program to see to.
func sessionOf(ctx context.Context) *session {
	s, ok := ctx.Value(sessionKey{}).(*session)
	if !ok {
		panic("auth: the request is not one under Browsers.Load")
	}
	return s
}

// keptName is what the library has what is kept under.
const keptName = "kept"

// newSessions returns the library's manager, which makes tokens and keeps what is under them. When something is written
// and for how long is ours: see Load. It is not made by the library's New, which starts a goroutine that nothing ends.
func newSessions(st store.Sessions, https bool, now cola.Clock) *scs.SessionManager {
	m := &scs.SessionManager{
		Store: sessionStore{st, now}, Codec: sessionCodec{}, Lifetime: SignInFor,
		Cookie: scs.SessionCookie{Name: "colaregistry", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode},
	}
	if https {
		// With this prefix browsers take it from this host only, over https only: no neighbour can put one here.
		m.Cookie.Name = "__Host-" + m.Cookie.Name
		m.Cookie.Secure = true
	}
	return m
}

// sessionStore is the store as the library wants it: by tokens, of which the store knows nothing.
type sessionStore struct {
	store.Sessions
	now cola.Clock
}

// FindCtx reads a session. Its errors, as those of the others, are what a caller is told. One that cannot be unsealed is none, since whoever comes with
// its token could do nothing about it.
func (s sessionStore) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	reading, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	sealed, err := s.Session(reading, sessionName(token))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, storeError(ctx, reading, "read session", err)
	}
	data, found = unseal(token, sealed)
	return data, found, nil
}

// CommitCtx keeps a session until its end, or until it was idle for too long.
func (s sessionStore) CommitCtx(ctx context.Context, token string, data []byte, end time.Time) error {
	sealed, err := seal(token, data)
	if err != nil {
		return fmt.Errorf("seal session: %w", err)
	}
	if idle := s.now().Add(SignInIdle); idle.Before(end) {
		end = idle
	}
	return s.within(ctx, "keep session", func(ctx context.Context) error { return s.KeepSession(ctx, sessionName(token), sealed, end) })
}

func (s sessionStore) DeleteCtx(ctx context.Context, token string) error {
	return s.within(ctx, "drop session", func(ctx context.Context) error {
		_, err := s.DropSession(ctx, sessionName(token))
		return err
	})
}

func (s sessionStore) within(ctx context.Context, operation string, do func(context.Context) error) error {
	doing, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	if err := do(doing); err != nil {
		return storeError(ctx, doing, operation, err)
	}
	return nil
}

// errWithoutContext is of the methods that the library calls only where there are none with a context.
var errWithoutContext = errors.New("sessions are kept with a context only")

func (s sessionStore) Find(string) ([]byte, bool, error)      { return nil, false, errWithoutContext }
func (s sessionStore) Commit(string, []byte, time.Time) error { return errWithoutContext }
func (s sessionStore) Delete(string) error                    { return errWithoutContext }

// sessionCodec writes sessions as JSON, which other versions of the program can read.
type sessionCodec struct{}

// keptUntil is a session as it is written.
type keptUntil struct {
	End time.Time `json:"end"`
	kept
}

func (sessionCodec) Encode(end time.Time, values map[string]any) ([]byte, error) {
	k, _ := values[keptName].(kept)
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false) // several times as long, and not for a page
	if err := to.Encode(keptUntil{end, k}); err != nil {
		return nil, fmt.Errorf("write session: %w", err)
	}
	return out.Bytes(), nil
}

// Decode reads a session. One that cannot be read holds nothing, since whoever comes with it could do nothing about it.
func (sessionCodec) Decode(data []byte) (end time.Time, values map[string]any, err error) {
	var k keptUntil
	if json.Unmarshal(data, &k) != nil {
		return time.Time{}, map[string]any{}, nil
	}
	return k.End, map[string]any{keptName: k.kept}, nil
}
