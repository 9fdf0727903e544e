package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Results in metrics.
const (
	resultCached      = "cached"      // a cached result was used
	resultAccepted    = "accepted"    // valid
	resultRefused     = "refused"     // invalid
	resultUnavailable = "unavailable" // the issuer or the store did not respond
	resultFailed      = "failed"      // internal error
	resultFetched     = "ok"
)

// tokenMetrics holds the access token metrics.
type tokenMetrics struct {
	checks  *prometheus.CounterVec // by result
	fetches *prometheus.CounterVec // by result
}

// newTokenMetrics registers the metrics, unless the registerer is nil.
func newTokenMetrics(r prometheus.Registerer) *tokenMetrics {
	factory := promauto.With(r)
	m := &tokenMetrics{
		checks: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_token_checks_total", Help: "Checks of access tokens, by result.",
		}, []string{"result"}),
		fetches: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_issuer_fetches_total", Help: "Attempts to fetch the keys of token issuers, by result.",
		}, []string{"result"}),
	}
	for _, result := range []string{resultCached, resultAccepted, resultRefused, resultUnavailable, resultFailed} {
		m.checks.WithLabelValues(result) // exported from the start
	}
	for _, result := range []string{resultFetched, resultFailed} {
		m.fetches.WithLabelValues(result)
	}
	return m
}

// checked counts a token check by its result.
func (m *tokenMetrics) checked(result string, err error) {
	m.checks.WithLabelValues(resultOf(err, result)).Inc()
}

// fetched counts an attempt to fetch keys.
func (m *tokenMetrics) fetched(err error) {
	result := resultFetched
	if err != nil {
		result = resultFailed
	}
	m.fetches.WithLabelValues(result).Inc()
}

// Sign-in methods in metrics.
const (
	byLink   = "link"
	byIssuer = "issuer"
)

// newSignInCounts registers the sign-in metric, unless the registerer is nil.
func newSignInCounts(r prometheus.Registerer) *prometheus.CounterVec {
	counts := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_sign_ins_total", Help: "Attempts to sign in to the dashboard, by method and result.",
	}, []string{"by", "result"})
	for _, by := range []string{byLink, byIssuer} {
		for _, result := range []string{resultAccepted, resultRefused, resultUnavailable, resultFailed} {
			counts.WithLabelValues(by, result) // exported from the start
		}
	}
	return counts
}

// resultOf returns the result to count for an error, or accepted for nil.
func resultOf(err error, accepted string) string {
	var rejection *cola.Error
	switch {
	case err == nil:
		return accepted
	case !errors.As(err, &rejection):
		return resultFailed
	case rejection.Code == cola.CodeUnavailable:
		return resultUnavailable
	}
	return resultRefused
}

const (
	loggedEvery = time.Minute // minimum time between lines of the same kind
	loggedKinds = 1_000       // kinds remembered
)

// rateLimitedLog logs at most one warning of each kind a minute, for events that unauthenticated
// clients can trigger. The next warning includes the number omitted. A rateLimitedLog is safe for
// concurrent use.
type rateLimitedLog struct {
	log *slog.Logger
	now cola.Clock

	mu    sync.Mutex
	kinds *lru.Cache[string, loggedKind]
}

type loggedKind struct {
	at      time.Time // time of the last line
	omitted int       // lines omitted since then
}

func newRateLimitedLog(log *slog.Logger, now cola.Clock) *rateLimitedLog {
	kinds, err := lru.New[string, loggedKind](loggedKinds)
	if err != nil {
		panic(err) // fails only if the size is below one
	}
	return &rateLimitedLog{log: log, now: now, kinds: kinds}
}

// warn logs a warning, unless one of the same kind was logged less than a minute ago.
func (l *rateLimitedLog) warn(kind, message string, args ...any) {
	l.mu.Lock()
	now := l.now()
	k, known := l.kinds.Get(kind)
	if since := now.Sub(k.at); known && since >= 0 && since < loggedEvery {
		k.omitted++
		l.kinds.Add(kind, k)
		l.mu.Unlock()
		return
	}
	l.kinds.Add(kind, loggedKind{at: now})
	l.mu.Unlock()
	if k.omitted > 0 {
		args = append(args, "omitted", k.omitted)
	}
	l.log.Warn(message, args...)
}

// warnDuplicateAccount warns the operator that a person may have two accounts: the account of an
// identity has no email address, and the verified address in its token belongs to another account.
// The operator must decide which one to keep.
func (l *rateLimitedLog) warnDuplicateAccount(account store.Account, issuer, verified, kind string) {
	if verified == "" || !store.IsIdentityName(account.Email) {
		return
	}
	l.warn(fmt.Sprint("duplicate of account ", account.ID),
		"possible duplicate account: the verified email address in an "+kind+" token belongs to another account; "+
			"to merge, move the identity (account identities, account add-identity)",
		"account", account.ID, "issuer", issuer)
}
