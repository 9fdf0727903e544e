package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

const (
	cachedTokens = 20_000      // entries in the cache, under 300 bytes each
	cachedFor    = time.Minute // how long changes to an app's scopes or an identity's account take to apply

	// A valid token from a rejected app or revoked connection is looked up at most refusedAtOnce
	// times in a burst, then once every refusedEvery.
	refusedAtOnce = 10
	refusedEvery  = time.Second
)

// TokenStore is the part of the store that Tokens uses.
type TokenStore interface {
	AccountOf(ctx context.Context, who store.Identity, verified string) (store.Account, error)
	AppByClient(ctx context.Context, issuer, clientID string) (store.App, error)
	EnsureApp(ctx context.Context, app store.App) (store.App, error)
	Connect(ctx context.Context, account cola.AccountID, app int64, scopes []cola.Scope) (store.Link, error)
}

// TokenOptions configures Tokens. Issuers and Audiences are required.
type TokenOptions struct {
	Issuers   []string // https URLs, exactly as in their tokens; http for this machine only
	Audiences []string // accepted audiences
	AnyApp    bool     // accept unregistered apps: register them on first use, with every scope
	// ScopePrefix is an optional prefix of this service's scopes in tokens, for issuers that send
	// fully qualified names.
	ScopePrefix string
	LinkEmail   LinkPolicies          // which verified email addresses link to accounts
	Client      *http.Client          // for requests to issuers; optional, as are its fields
	Now         cola.Clock            // default time.Now
	Logger      *slog.Logger          // optional
	Metrics     prometheus.Registerer // must not be shared by several Tokens; optional
	Events      *security.Events      // records new identities and connections; optional
}

// Tokens accepts access tokens from configured issuers for accounts and connected apps. A token
// must be signed by one of the issuers, be an access token for one of the audiences, and be valid
// now.
//
// The grant of a valid token is cached for a minute. The rejection of a valid token whose app is
// unregistered or disabled, or whose connection is revoked, is cached for up to a second if the
// token is sent repeatedly, which limits database reads. Other rejections are not cached: a forged
// token costs at most five signature checks per key set, and all forged tokens together cause at
// most one extra key fetch per issuer every 30 seconds.
type Tokens struct {
	store        TokenStore
	issuers      map[string]*issuer // by URL
	urls         []string           // issuers' URLs, as configured
	ours         names
	anyApp       bool
	links        LinkPolicies
	now          cola.Clock
	log          *slog.Logger
	throttledLog *rateLimitedLog
	metrics      *tokenMetrics
	events       *security.Events
	refused      *ratelimit.Limiter[tokenHash]
	known        *lru.Cache[tokenHash, grant]
	checks       singleflight.Group // by hash: checks a new token once for concurrent requests
}

// tokenHash is the SHA-256 of a token. Tokens themselves are not stored.
type tokenHash [sha256.Size]byte

// grant is the account and connection of a token.
type grant struct {
	account cola.AccountID
	link    int64
	scopes  []cola.Scope // effective scopes; read-only
	// withheld are the token's scopes that the app is not allowed to have; read-only.
	withheld  []cola.Scope
	rejection error     // instead of the fields above
	until     time.Time // when the token must be checked again
}

// NewTokens returns Tokens with these options, or an error if they are invalid. An issuer's keys
// are fetched when its first token arrives.
func NewTokens(st TokenStore, o TokenOptions) (*Tokens, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	known, err := lru.New[tokenHash, grant](cachedTokens)
	if err != nil {
		panic(err) // fails only if the size is below one
	}
	t := &Tokens{
		store: st, issuers: map[string]*issuer{}, urls: o.Issuers, ours: names{o.Audiences, o.ScopePrefix},
		anyApp: o.AnyApp, links: o.LinkEmail, now: o.Now, log: o.Logger, metrics: newTokenMetrics(o.Metrics), events: o.Events,
		known: known, refused: ratelimit.New[tokenHash](refusedAtOnce, refusedEvery, cachedTokens, o.Now),
		throttledLog: newRateLimitedLog(o.Logger, o.Now),
	}
	client := issuerClient(o.Client)
	for _, u := range o.Issuers {
		t.issuers[u] = newIssuer(u, client, o.Now, o.Logger, t.metrics)
	}
	return t, nil
}

func (o TokenOptions) check() error {
	if len(o.Issuers) == 0 {
		return errors.New("no access-token issuer is configured")
	}
	for _, s := range o.Issuers {
		if err := checkIssuer(s); err != nil {
			return err
		}
	}
	if len(o.Audiences) == 0 {
		return errors.New("no access-token audience is configured")
	}
	for _, a := range o.Audiences {
		if a == "" {
			return errors.New("an access-token audience is empty")
		}
	}
	return nil
}

// checkIssuer rejects URLs that are not valid for an issuer.
func checkIssuer(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || !u.IsAbs() || u.Host == "" || u.User != nil:
		return fmt.Errorf("the issuer %s is not an absolute https URL", strconv.Quote(s))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("the issuer %s must not have a query or a fragment", strconv.Quote(s))
	case !isTrustedURL(u):
		return fmt.Errorf("the issuer %s is not an https URL; http is allowed only for loopback hosts, such as "+
			"http://127.0.0.1:9000", strconv.Quote(s))
	}
	return nil
}

// Check fetches the keys of every issuer now, and returns an error that lists the unusable issuers.
// The service can start without them: they are contacted again when tokens arrive.
func (t *Tokens) Check(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, len(t.urls))
	for n, u := range t.urls {
		all.Go(func() { errs[n] = t.issuers[u].check(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// caller returns the caller that a token identifies. It fails with CodeUnauthorized, naming the
// failed check; with CodeUnavailable if the issuer or the store does not respond; or with the
// context's error. Errors contain no unverified part of the token.
func (t *Tokens) caller(ctx context.Context, raw string, ch cola.Channel) (cola.Caller, error) {
	g, result, err := t.grant(ctx, raw)
	if ctx.Err() == nil || err == nil {
		t.metrics.checked(result, err)
	}
	if err != nil {
		return cola.Caller{}, err
	}
	return cola.Caller{
		Account:    g.account,
		Credential: cola.Credential{Kind: cola.CredentialLink, ID: g.link},
		Channel:    ch,
		Scopes:     g.scopes,
		Withheld:   g.withheld,
	}, nil
}

func (t *Tokens) grant(ctx context.Context, raw string) (g grant, result string, err error) {
	if len(raw) <= maxToken { // longer ones are not hashed
		if g, ok := t.known.Get(sha256.Sum256([]byte(raw))); ok && t.now().Before(g.until) {
			return g, resultCached, g.rejection
		}
	}
	token, err := parseToken(raw)
	if err != nil {
		return grant{}, "", invalidCredential{err}
	}
	from, ok := t.issuers[token.issuer]
	if !ok {
		return grant{}, "", invalidCredentialf("The access token's issuer is unknown; accepted: %s.", quotedList(t.urls))
	}
	g, err = t.checkOnce(ctx, from, token)
	return g, resultAccepted, err
}

// checkOnce checks a token once for all concurrent requests. The check continues after a request is
// canceled, because other requests may wait for it; each step has a timeout.
func (t *Tokens) checkOnce(ctx context.Context, from *issuer, token accessToken) (grant, error) {
	hash := tokenHash(sha256.Sum256([]byte(token.raw)))
	result := t.checks.DoChan(string(hash[:]), func() (_ any, err error) {
		defer t.recoverPanic(&err)
		g, err := t.check(context.WithoutCancel(ctx), from, token)
		if err == nil || g.rejection != nil {
			t.known.Add(hash, g)
		}
		return g, err
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return grant{}, r.Err
		}
		return r.Val.(grant), nil
	case <-ctx.Done():
		return grant{}, fmt.Errorf("check access token: %w", ctx.Err())
	}
}

// recoverPanic turns a panic into an error. The check runs in its own goroutine, where a panic
// would crash the program.
func (t *Tokens) recoverPanic(err *error) {
	if p := recover(); p != nil {
		t.log.Error("panic while checking an access token", "stack", string(debug.Stack()))
		*err = errors.New("check access token: panic") // the value may contain parts of the token
	}
}

// check verifies a token and finds its grant. It writes to the store only after every check has
// passed.
//
// Only a token without a valid signature counts as a failed credential. An expired token was valid:
// its app must get a 401, so that it renews the token, even if many apps share its address.
func (t *Tokens) check(ctx context.Context, from *issuer, token accessToken) (grant, error) {
	var c tokenClaims
	verified := false
	err := from.verify(ctx, token, func(payload []byte) (err error) {
		verified = true
		c, err = readTokenClaims(payload, token.typed, t.ours, t.now())
		return err
	})
	switch {
	case err != nil && !verified && cola.CodeOf(err) == cola.CodeUnauthorized:
		return grant{}, invalidCredential{err}
	case err != nil:
		return grant{}, err
	}
	now := t.now()
	g, err := t.findGrant(ctx, from.url, c)
	if cola.CodeOf(err) == cola.CodeUnauthorized {
		wait := t.refused.Take(sha256.Sum256([]byte(token.raw)), 1)
		return grant{rejection: err, until: now.Add(wait)}, err
	}
	if err != nil {
		return grant{}, err
	}
	g.until = now.Add(cachedFor)
	if end := c.expires.Add(leeway); end.Before(g.until) {
		g.until = end
	}
	return g, nil
}
