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

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// How long browsers are remembered.
const (
	// SignInFor is how long a sign-in holds at most, from when it was made.
	SignInFor = 14 * 24 * time.Hour
	// SignInIdle is how long a sign-in holds without a request, give or take lastSeenEvery.
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
	store      BrowserStore
	public     string // URL, without a slash at the end
	issuers    []*signInIssuer
	attempts   attempts
	https      bool
	now        cola.Clock
	log        *slog.Logger
	occasional *occasionalLog
	onFault    func(http.ResponseWriter, *http.Request, error)
	counts     *prometheus.CounterVec // of sign-ins
	events     *security.Events
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
		store: o.Store, public: public.Scheme + "://" + public.Host, https: public.Scheme == "https", now: o.Now,
		log: o.Logger, occasional: newOccasionalLog(o.Logger, o.Now), onFault: o.OnFault,
		counts: newSignInCounts(o.Metrics), events: o.Events,
	}
	if b.onFault == nil {
		b.onFault = b.plainFault
	}
	if o.Attempts == nil {
		return nil, errors.New("no keys to encrypt sign-in attempts with")
	}
	b.attempts = attempts{box: o.Attempts, https: b.https, now: o.Now}
	if b.issuers, err = newSignInIssuers(o, b.public+SignInCallbackPath); err != nil {
		return nil, err
	}
	return b, nil
}

// Caller returns who uses the browser of a request under Load; ok is false when nobody is signed in. Whether the sign-in was ended
// meanwhile the ledger tells.
func (b *Browsers) Caller(ctx context.Context) (c cola.Caller, ok bool) {
	s, ok := ctx.Value(sessionKey{}).(*session)
	if !ok || s.data.SignIn == nil {
		return cola.Caller{}, false
	}
	return cola.Caller{
		Account:    s.data.SignIn.Account,
		Credential: cola.Credential{Kind: cola.CredentialSignIn, ID: s.data.SignIn.ID},
		Channel:    cola.ChannelDashboard,
		Scopes:     cola.Scopes(), // an account holder may do all that the account may
	}, true
}

// Put keeps a text for a later request of the same browser, in place of one with the same key. Those of a browser are few and short:
// beyond four the oldest is forgotten, and the end of what has more than 2,000 bytes.
func (b *Browsers) Put(ctx context.Context, key, value string) {
	s := sessionOf(ctx)
	s.data.put(key, value)
	s.changed = true
}

// Pop returns what Put kept under a key, and forgets it.
func (b *Browsers) Pop(ctx context.Context, key string) string {
	s := sessionOf(ctx)
	value, found := s.data.pop(key)
	s.changed = s.changed || found
	return value
}

// SignOut ends the sign-in of a browser and forgets all about the browser, whose cookie leads nowhere then. redirect is where the issuer
// ends what it keeps of its own, when the sign-in came by one that has such a place; else it is empty. When the store does not answer
// the browser stays signed in.
func (b *Browsers) SignOut(ctx context.Context) (redirect string, err error) {
	s := sessionOf(ctx)
	was := s.data.SignIn
	if was != nil {
		if err := b.endSignIn(ctx, was); err != nil {
			return "", err
		}
	}
	if s.token == "" && was == nil {
		return "", nil // there is no session to end
	}
	if err := b.dropSession(ctx, s); err != nil {
		return "", err
	}
	s.data, s.changed = sessionData{}, true
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

// enter signs an account holder in with a new session, so that a token that others may know leads
// nowhere. The old session ends, with its notices and its sign-in.
func (b *Browsers) enter(ctx context.Context, e entry) error {
	s := sessionOf(ctx)
	var made store.SignIn
	if err := within(ctx, "create sign-in", func(ctx context.Context) (err error) {
		made, err = b.store.CreateSignIn(ctx, store.SignIn{
			Account: e.account.ID, Via: e.via, Browser: shownBrowser(e.browser), ExpiresAt: b.now().Add(SignInFor),
		})
		return err
	}); err != nil {
		return err
	}
	entered := &signedIn{
		ID: made.ID, Account: made.Account, Until: made.ExpiresAt, SignOutAt: e.signOutAt, ClientID: e.clientID, IDToken: e.idToken,
	}
	if err := b.dropSession(ctx, s); err != nil {
		b.abandonSignIn(ctx, entered)
		return err
	}
	if was := s.data.SignIn; was != nil {
		b.abandonSignIn(ctx, was)
	}
	b.events.Record(ctx, security.NewSignIn, made.Account, cola.Credential{Kind: cola.CredentialSignIn, ID: made.ID})
	s.data, s.changed = sessionData{SignIn: entered}, true
	return nil
}

// abandonSignIn ends a sign-in that no browser can use. If that fails, the sign-in expires later.
func (b *Browsers) abandonSignIn(ctx context.Context, in *signedIn) {
	if err := b.endSignIn(context.WithoutCancel(ctx), in); err != nil {
		b.log.Warn("could not end a sign-in that no browser has any more; it expires by itself", "account", in.Account, "error", err)
	}
}

func (b *Browsers) endSignIn(ctx context.Context, in *signedIn) error {
	err := within(ctx, "end sign-in", func(ctx context.Context) error { return b.store.EndSignIn(ctx, in.Account, in.ID) })
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
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
