package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// Lifetimes of sign-ins and sessions.
const (
	// SignInLifetime is the absolute lifetime of a sign-in.
	SignInLifetime = 14 * 24 * time.Hour
	// SignInIdle is how long a sign-in lasts without a request. The sign-in may expire up to
	// lastSeenEvery early.
	SignInIdle = 24 * time.Hour
	// AttemptLifetime is how long a sign-in with an issuer may take, and how long the session of a
	// signed-out browser lasts.
	AttemptLifetime = 10 * time.Minute
)

// Paths of the dashboard, below the public URL.
const (
	SignInPath         = "/sign-in"
	SignInCallbackPath = SignInPath + "/callback" // redirect URL to register with issuers
	SignInLinkPath     = SignInPath + "/link/"    // followed by a link's token
	homePath           = "/"
)

// BrowserStore is the part of the store that Browsers uses.
type BrowserStore interface {
	AccountOf(ctx context.Context, who store.Identity, verified string) (store.Account, error)
	CreateSignIn(ctx context.Context, s store.SignIn) (store.SignIn, error)
	EndSignIn(ctx context.Context, account cola.AccountID, id int64) error
	SignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error)
	UseSignInLink(ctx context.Context, hash store.SignInLinkHash, signUp bool) (store.Account, error)
	CreateEmailedLink(
		ctx context.Context, l store.EmailedLink, signUp bool, limits store.EmailedLinkLimits,
	) (forSignUp bool, err error)
	DeleteOldEmailedLinks(ctx context.Context) error
	store.Sessions
}

// BrowserOptions configures browser sessions and the issuers for signing in. Store, Attempts and
// PublicURL are required.
type BrowserOptions struct {
	Store     BrowserStore
	PublicURL string                // scheme and host of the service; with https, cookies are for https only
	Attempts  Sealer                // encrypts sign-in attempts
	Issuers   []SignInIssuer        // without issuers, people can sign in only with links
	LinkEmail LinkPolicies          // which verified email addresses link to accounts
	SendLink  LinkSender            // sends sign-in links by email; without it, RequestLink fails
	SignUp    bool                  // whether emailed links create accounts
	Client    *http.Client          // for requests to issuers; optional
	Now       cola.Clock            // default time.Now
	Logger    *slog.Logger          // optional
	Metrics   prometheus.Registerer // must not be shared by several Browsers; optional
	Events    *security.Events      // records failed credentials, new identities and sign-ins; optional
	// OnFault responds to a request whose session can't be read or stored, before any output. It
	// should display a *cola.Error and log any other error. The request's context has no session. The
	// default writes a plain-text line.
	OnFault func(w http.ResponseWriter, r *http.Request, err error)
}

// Browsers identifies account holders by their browsers' sessions, and signs them in and out.
//
// A signed-in browser has a session in the store, under the hash of the random token in its cookie.
// The session refers to a sign-in of an account. The sign-in is the credential: the ledger checks it
// on every request, like a key, so the session of an ended sign-in is useless.
type Browsers struct {
	store        BrowserStore
	public       string // URL without a trailing slash
	issuers      []*signInIssuer
	attempts     attempts
	https        bool
	now          cola.Clock
	log          *slog.Logger
	throttledLog *rateLimitedLog
	onFault      func(http.ResponseWriter, *http.Request, error)
	counts       *prometheus.CounterVec // sign-ins, by method and result
	events       *security.Events
	links        *linkQueue // nil if links can't be emailed
}

// NewBrowsers returns Browsers with these options, or an error if they are invalid. It does not
// contact the issuers yet.
func NewBrowsers(o BrowserOptions) (*Browsers, error) {
	public, err := url.Parse(o.PublicURL)
	if err != nil || public.Host == "" || (public.Scheme != "https" && public.Scheme != "http") || strings.Trim(public.Path, "/") != "" {
		return nil, fmt.Errorf("the public URL %s must be an http or https URL without a path", strconv.Quote(o.PublicURL))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Browsers{
		store: o.Store, public: public.Scheme + "://" + public.Host, https: public.Scheme == "https", now: o.Now,
		log: o.Logger, throttledLog: newRateLimitedLog(o.Logger, o.Now), onFault: o.OnFault,
		counts: newSignInCounts(o.Metrics), events: o.Events,
	}
	if b.onFault == nil {
		b.onFault = b.plainFault
	}
	if o.Attempts == nil {
		return nil, errors.New("no key to encrypt sign-in attempts")
	}
	b.attempts = attempts{box: o.Attempts, https: b.https, now: o.Now}
	if b.issuers, err = newSignInIssuers(o, b.public+SignInCallbackPath); err != nil {
		return nil, err
	}
	if o.SendLink != nil {
		b.links = newLinkQueue(b, o)
	}
	return b, nil
}

// Caller returns the account holder behind a request; ok is false if the browser is not signed
// in. The ledger checks whether the sign-in is still active.
func (b *Browsers) Caller(ctx context.Context) (c cola.Caller, ok bool) {
	s, ok := ctx.Value(sessionKey{}).(*session)
	if !ok || s.data.SignIn == nil {
		return cola.Caller{}, false
	}
	return cola.Caller{
		Account:    s.data.SignIn.Account,
		Credential: cola.Credential{Kind: cola.CredentialSignIn, ID: s.data.SignIn.ID},
		Channel:    cola.ChannelDashboard,
		Scopes:     cola.Scopes(), // account holders have every scope

		VerifiedEmail: s.data.SignIn.VerifiedEmail,
	}, true
}

// Put stores a string for a later request from the same browser. It replaces any string with the
// same key. At most four are stored per browser; beyond that, Put drops the oldest. Strings are
// truncated to 2,000 bytes.
func (b *Browsers) Put(ctx context.Context, key, value string) {
	s := sessionOf(ctx)
	s.data.put(key, value)
	s.changed = true
}

// Pop returns and deletes the string that Put stored under a key.
func (b *Browsers) Pop(ctx context.Context, key string) string {
	s := sessionOf(ctx)
	value, found := s.data.pop(key)
	s.changed = s.changed || found
	return value
}

// SignOut ends a browser's sign-in and session. redirect is the URL at which the issuer ends its
// own session, or "". If the store is unavailable, the browser stays signed in.
func (b *Browsers) SignOut(ctx context.Context) (redirect string, err error) {
	s := sessionOf(ctx)
	prev := s.data.SignIn
	if prev != nil {
		if err := b.endSignIn(ctx, prev); err != nil {
			return "", err
		}
	}
	if s.token == "" && prev == nil {
		return "", nil // there is no session to end
	}
	if err := b.dropSession(ctx, s); err != nil {
		return "", err
	}
	s.data, s.changed = sessionData{}, true
	if prev == nil || prev.SignOutAt == "" {
		return "", nil
	}
	return prev.signOut(b.public + SignInPath), nil
}

// newSignIn is a successful authentication.
type newSignIn struct {
	account   store.Account
	via       string // URL of the issuer; empty for a link
	browser   string // User-Agent
	signOutAt string // the issuer's end_session_endpoint, if any
	clientID  string // this service's ID at the issuer
	idToken   string // to sign out with
	verified  string // email address; may be empty
}

// startSession signs an account holder in with a new session, which prevents session fixation. The
// old session ends, along with its notices and its sign-in.
func (b *Browsers) startSession(ctx context.Context, e newSignIn) error {
	s := sessionOf(ctx)
	var created store.SignIn
	if err := withStoreTimeout(ctx, "create sign-in", func(ctx context.Context) (err error) {
		created, err = b.store.CreateSignIn(ctx, store.SignIn{
			Account: e.account.ID, Via: e.via, Browser: displayBrowser(e.browser), ExpiresAt: b.now().Add(SignInLifetime),
		})
		return err
	}); err != nil {
		return err
	}
	signIn := &signedIn{
		ID: created.ID, Account: created.Account, Until: created.ExpiresAt, SignOutAt: e.signOutAt, ClientID: e.clientID, IDToken: e.idToken,
		VerifiedEmail: e.verified,
	}
	if err := b.dropSession(ctx, s); err != nil {
		b.abandonSignIn(ctx, signIn)
		return err
	}
	if prev := s.data.SignIn; prev != nil {
		b.abandonSignIn(ctx, prev)
	}
	b.events.Record(ctx, security.NewSignIn, created.Account, cola.Credential{Kind: cola.CredentialSignIn, ID: created.ID})
	s.data, s.changed = sessionData{SignIn: signIn}, true
	return nil
}

// abandonSignIn ends a sign-in that no browser can use. If that fails, the sign-in will expire
// later.
func (b *Browsers) abandonSignIn(ctx context.Context, in *signedIn) {
	if err := b.endSignIn(context.WithoutCancel(ctx), in); err != nil {
		b.log.Warn("could not end an abandoned sign-in; it will expire", "account", in.Account, "error", err)
	}
}

func (b *Browsers) endSignIn(ctx context.Context, in *signedIn) error {
	err := withStoreTimeout(ctx, "end sign-in", func(ctx context.Context) error { return b.store.EndSignIn(ctx, in.Account, in.ID) })
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// maxBrowser is the maximum length of a stored User-Agent in bytes.
const maxBrowser = 200

// displayBrowser returns a User-Agent in a form that can be stored and displayed.
func displayBrowser(userAgent string) string {
	userAgent = strings.ToValidUTF8(userAgent, "")
	userAgent = strings.Map(func(r rune) rune {
		if vocabulary.IsInvisible(r) {
			return -1
		}
		return r
	}, userAgent)
	return truncate(strings.TrimSpace(userAgent), maxBrowser)
}

// truncate returns the longest prefix of text that fits in maxBytes, without a partial character.
func truncate(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxBytes], "")
}

// FormLifetime is how long a single-use form is valid.
const FormLifetime = 2 * time.Hour

// OpenForm returns a token for a form that the signed-in account can submit once, within
// FormLifetime. A later sign-in of the account can submit it too, in case the session ends in the
// meantime. OpenForm fails with CodeUnavailable if the store does not respond.
func (b *Browsers) OpenForm(ctx context.Context) (token string, err error) {
	token = rand.Text()
	err = withStoreTimeout(ctx, "open form", func(ctx context.Context) error {
		return b.store.SaveSession(ctx, formName(ctx, b, token), nil, b.now().Add(FormLifetime))
	})
	return token, err
}

// TakeForm reports whether this submission is the form's first and comes from the account that
// opened it. If a form is submitted concurrently, even to different processes, only one call
// returns true. TakeForm fails with CodeUnavailable if the store does not respond; the form may
// then count as submitted.
func (b *Browsers) TakeForm(ctx context.Context, token string) (first bool, err error) {
	err = withStoreTimeout(ctx, "take form", func(ctx context.Context) (err error) {
		first, err = b.store.DeleteSession(ctx, formName(ctx, b, token))
		return err
	})
	return first && err == nil, err
}

// formName returns the key of a form in the sessions table. The space keeps it distinct from session
// IDs.
func formName(ctx context.Context, b *Browsers, token string) string {
	c, _ := b.Caller(ctx)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", c.Account, token))
	return "form " + hex.EncodeToString(sum[:])
}
