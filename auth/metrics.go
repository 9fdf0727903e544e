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

// Results that are counted.
const (
	resultCached      = "cached"      // the token was known to be good
	resultAccepted    = "accepted"    // it was found to be
	resultRefused     = "refused"     // it was found not to be
	resultUnavailable = "unavailable" // the issuer or the store could not be asked
	resultFailed      = "failed"      // a fault of ours
	resultFetched     = "ok"
)

// tokenMetrics are the metrics of access tokens.
type tokenMetrics struct {
	checks  *prometheus.CounterVec // by result
	fetches *prometheus.CounterVec // by result
}

// newTokenMetrics registers the metrics, unless the registerer is nil.
func newTokenMetrics(r prometheus.Registerer) *tokenMetrics {
	factory := promauto.With(r)
	m := &tokenMetrics{
		checks: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_token_checks_total", Help: "Access tokens that were looked at, by what was found.",
		}, []string{"result"}),
		fetches: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_issuer_fetches_total", Help: "Attempts to get the keys of an issuer of access tokens.",
		}, []string{"result"}),
	}
	for _, result := range []string{resultCached, resultAccepted, resultRefused, resultUnavailable, resultFailed} {
		m.checks.WithLabelValues(result) // seen from the start
	}
	for _, result := range []string{resultFetched, resultFailed} {
		m.fetches.WithLabelValues(result)
	}
	return m
}

// checked counts a token, unless its caller left before the response.
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

// Ways to sign in that are counted.
const (
	byLink   = "link"
	byIssuer = "issuer"
)

// newSignInCounts registers the metric of sign-ins, unless the registerer is nil.
func newSignInCounts(r prometheus.Registerer) *prometheus.CounterVec {
	counts := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_sign_ins_total", Help: "Attempts to sign in to the dashboard, by how they ended.",
	}, []string{"by", "result"})
	for _, by := range []string{byLink, byIssuer} {
		for _, result := range []string{resultAccepted, resultRefused, resultUnavailable, resultFailed} {
			counts.WithLabelValues(by, result) // seen from the start
		}
	}
	return counts
}

// resultOf returns the result to count for an error, or accepted for nil.
func resultOf(err error, accepted string) string {
	var refusal *cola.Error
	switch {
	case err == nil:
		return accepted
	case !errors.As(err, &refusal):
		return resultFailed
	case refusal.Code == cola.CodeUnavailable:
		return resultUnavailable
	}
	return resultRefused
}

const (
	loggedEvery = time.Minute // of each kind of line
	loggedKinds = 1_000       // that are remembered
)

// rateLimitedLog logs one warning of each kind a minute, for events that strangers can cause. The
// next warning says how many of its kind were left out. It is safe for concurrent use.
type rateLimitedLog struct {
	log *slog.Logger
	now cola.Clock

	mu    sync.Mutex
	kinds *lru.Cache[string, loggedKind]
}

type loggedKind struct {
	at      time.Time // of the last line
	omitted int       // since then
}

func newRateLimitedLog(log *slog.Logger, now cola.Clock) *rateLimitedLog {
	kinds, err := lru.New[string, loggedKind](loggedKinds)
	if err != nil {
		panic(err) // only a size below one fails
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

// warnDuplicateAccount warns the operator of a person who may have two accounts: the account of an
// identity has no email address, and the verified address in its token belongs to another account.
// Only an operator knows which of the two to keep.
func (l *rateLimitedLog) warnDuplicateAccount(account store.Account, issuer, verified, kind string) {
	if verified == "" || !store.IsIdentityName(account.Email) {
		return
	}
	l.warn(fmt.Sprint("duplicate of account ", account.ID),
		"the verified address in an "+kind+" token belongs to a different account than the token; "+
			"if both accounts belong to the same person, move the identity to the right one: "+
			"account identities, account add-identity",
		"account", account.ID, "issuer", issuer)
}
