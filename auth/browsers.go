package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// How long browsers are remembered.
const (
	// SignInFor is how long a sign-in holds at most, from when it was made.
	SignInFor = 14 * 24 * time.Hour
	// SignInIdle is how long a sign-in holds without a request, give or take seenEvery.
	SignInIdle = 24 * time.Hour
	// AttemptFor is how long a sign-in with an issuer may take, and how long the session of a browser
	// that is not signed in lasts.
	AttemptFor = 10 * time.Minute
)

// Where the dashboard answers, below the public URL.
const (
	SignInPath         = "/sign-in"
	SignInCallbackPath = SignInPath + "/callback" // where issuers send browsers back to; to be registered there
	SignInLinkPath     = SignInPath + "/link/"    // the token of a link follows
	homePath           = "/"
)

// BrowserStore is what Browsers needs of a store.
type BrowserStore interface {
	AccountOf(ctx context.Context, who store.Identity, verified string) (store.Account, error)
	CreateSignIn(ctx context.Context, s store.SignIn) (store.SignIn, error)
	EndSignIn(ctx context.Context, account cola.AccountID, id int64) error
	SignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error)
	UseSignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error)
	store.Sessions
}

// BrowserOptions configure sessions of browsers and the issuers for signing in. Store, Attempts and
// PublicURL must be set.
type BrowserOptions struct {
	Store     BrowserStore
	PublicURL string                // scheme and host that users reach the service at; with https cookies are for https only
	Attempts  Sealer                // encrypts sign-in attempts
	Issuers   []SignInIssuer        // may be empty: then links are the only way to sign in
	LinkEmail LinkPolicies          // which verified email addresses link to accounts
	Client    *http.Client          // to ask issuers with; what it leaves open is as with nil, which is one of ours
	Now       cola.Clock            // nil: time.Now
	Logger    *slog.Logger          // nil discards
	Metrics   prometheus.Registerer // gets the metrics, for one Browsers only; nil: not measured
	Events    *security.Events      // records failed credentials, new identities and sign-ins; may be nil
	// OnFault answers a request whose session cannot be read or kept; nothing was written before. The error is one to show, or of ours
	// and to be logged. The request is as one of a browser that is not known. Nil: a line of text.
	OnFault func(w http.ResponseWriter, r *http.Request, err error)
}

// Browsers tells who uses a browser, and signs account holders in and out.
//
// A browser that is signed in has a session in the store, under the hash of the random token in its cookie, which names a sign-in of
// an account. The sign-in is the credential: whether it still holds is asked by the ledger with every request, as of a key. So what
// is left in a session of a sign-in that was ended is worth nothing.
type Browsers struct {
	store    BrowserStore
	public   string // URL, without a slash at the end
	issuers  []*signInIssuer
	attempts attempts
	sessions *scs.SessionManager
	now      cola.Clock
	log      *slog.Logger
	onFault  func(http.ResponseWriter, *http.Request, error)
	warned   *warnings
	counts   *prometheus.CounterVec // of sign-ins
	events   *security.Events
}

// NewBrowsers returns Browsers with these options, or an error that says what is wrong with them. It asks nobody yet.
func NewBrowsers(o BrowserOptions) (*Browsers, error) {
	public, err := url.Parse(o.PublicURL)
	if err != nil || public.Host == "" || (public.Scheme != "https" && public.Scheme != "http") || strings.Trim(public.Path, "/") != "" {
		return nil, fmt.Errorf("the public URL %s is not the scheme and host of an http or https URL", strconv.Quote(o.PublicURL))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Browsers{
		store: o.Store, public: public.Scheme + "://" + public.Host, now: o.Now, log: o.Logger, onFault: o.OnFault, warned: newWarnings(), counts: newSignInCounts(o.Metrics), events: o.Events,
	}
	if b.onFault == nil {
		b.onFault = b.plainFault
	}
	if o.Attempts == nil {
		return nil, errors.New("no keys to encrypt sign-in attempts with")
	}
	https := public.Scheme == "https"
	b.attempts = attempts{box: o.Attempts, https: https, now: o.Now}
	b.sessions = newSessions(o.Store, https, o.Now)
	if b.issuers, err = newSignInIssuers(o, b.public+SignInCallbackPath); err != nil {
		return nil, err
	}
	return b, nil
}

// Caller returns who uses the browser of a request under Load; ok is false when nobody is signed in. Whether the sign-in was ended
// meanwhile the ledger tells.
func (b *Browsers) Caller(ctx context.Context) (c cola.Caller, ok bool) {
	s, ok := ctx.Value(sessionKey{}).(*session)
	if !ok || s.kept.SignIn == nil {
		return cola.Caller{}, false
	}
	return cola.Caller{
		Account:    s.kept.SignIn.Account,
		Credential: cola.Credential{Kind: cola.CredentialSignIn, ID: s.kept.SignIn.ID},
		Channel:    cola.ChannelDashboard,
		Scopes:     cola.Scopes(), // an account holder may do all that the account may
	}, true
}

// Put keeps a text for a later request of the same browser, in place of one with the same key. Those of a browser are few and short:
// beyond four the oldest is forgotten, and the end of what has more than 2,000 bytes.
func (b *Browsers) Put(ctx context.Context, key, value string) {
	s := sessionOf(ctx)
	s.kept.put(key, value)
	s.changed = true
}

// Pop returns what Put kept under a key, and forgets it.
func (b *Browsers) Pop(ctx context.Context, key string) string {
	s := sessionOf(ctx)
	value, found := s.kept.pop(key)
	s.changed = s.changed || found
	return value
}

// SignOut ends the sign-in of a browser and forgets all about the browser, whose cookie leads nowhere then. redirect is where the issuer
// ends what it keeps of its own, when the sign-in came by one that has such a place; else it is empty. When the store does not answer
// the browser stays signed in.
func (b *Browsers) SignOut(ctx context.Context) (redirect string, err error) {
	s := sessionOf(ctx)
	was := s.kept.SignIn
	if was != nil {
		ending, cancel := context.WithTimeout(ctx, findWithin)
		defer cancel()
		if err := b.store.EndSignIn(ending, was.Account, was.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", storeError(ctx, ending, "end sign-in", err)
		}
	}
	if b.sessions.Token(ctx) == "" {
		return "", nil // there is nothing to forget
	}
	if err := b.sessions.Destroy(ctx); err != nil {
		return "", err
	}
	s.kept, s.changed = kept{}, true
	if was == nil || was.SignOutAt == "" {
		return "", nil
	}
	return was.signOut(b.public + SignInPath), nil
}

// entry is what proves who uses a browser.
type entry struct {
	account   store.Account
	via       string // URL of the issuer; empty: a link
	browser   string // what the browser says it is
	signOutAt string // the issuer's end_session_endpoint; empty: none
	clientID  string // that the issuer knows us by
	idToken   string // to sign out with
}

// enter signs an account holder in. The browser gets a new token before its session says so, so that a token which others may know leads
// to nothing; and it forgets what was kept for who was signed in before.
func (b *Browsers) enter(ctx context.Context, e entry) error {
	s := sessionOf(ctx)
	making, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	made, err := b.store.CreateSignIn(making, store.SignIn{
		Account: e.account.ID, Via: e.via, Browser: shownBrowser(e.browser), ExpiresAt: b.now().Add(SignInFor),
	})
	if err != nil {
		return storeError(ctx, making, "create sign-in", err)
	}
	if err := b.sessions.RenewToken(ctx); err != nil {
		b.end(ctx, made.Account, made.ID)
		return err
	}
	if was := s.kept.SignIn; was != nil {
		b.end(ctx, was.Account, was.ID) // no browser has it any more
	}
	b.events.Record(ctx, security.NewSignIn, made.Account, cola.Credential{Kind: cola.CredentialSignIn, ID: made.ID})
	s.changed = true
	s.kept = kept{SignIn: &signedIn{
		ID: made.ID, Account: made.Account, Until: made.ExpiresAt, SignOutAt: e.signOutAt, ClientID: e.clientID, IDToken: e.idToken,
	}}
	return nil
}

// end ends a sign-in that nobody can use. It expires by itself where that fails.
func (b *Browsers) end(ctx context.Context, account cola.AccountID, id int64) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), findWithin)
	defer cancel()
	if err := b.store.EndSignIn(ending, account, id); err != nil && !errors.Is(err, store.ErrNotFound) {
		b.log.Warn("a sign-in that no browser has any more could not be ended; it expires by itself", "account", account, "error", err)
	}
}

// mostBrowser bounds what is kept of what a browser says it is, in bytes.
const mostBrowser = 200

// shownBrowser returns what a browser says it is as it can be kept and shown.
func shownBrowser(said string) string {
	said = strings.ToValidUTF8(said, "")
	said = strings.Map(func(r rune) rune {
		if cola.IsHidden(r) {
			return -1
		}
		return r
	}, said)
	return cut(strings.TrimSpace(said), mostBrowser)
}

// cut returns the beginning of a text that has so many bytes at most, in whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
