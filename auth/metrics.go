package auth

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/colaregistry/colaregistry/cola"
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
