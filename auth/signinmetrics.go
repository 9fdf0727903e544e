package auth

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/colaregistry/colaregistry/cola"
)

// The ways to sign in that are counted.
const (
	byLink   = "link"
	byIssuer = "issuer"
)

// newSignInCounts registers what is measured of sign-ins; with a nil registerer they are counted and never seen.
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

// resultOf returns what an attempt with an error is counted as, and accepted for none.
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
