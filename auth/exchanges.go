package auth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/security"
)

const (
	// exchangesByAddress is how many exchanges of one client address may fail or be in flight. One
	// is regained every exchangeRegained.
	exchangesByAddress = 10
	exchangeRegained   = 6 * time.Second
	// exchangesAtOnce bounds the exchanges in flight with one issuer, several times the share of an
	// address. Others wait for exchangeWait at most.
	exchangesAtOnce = 32
	exchangeWait    = 2 * time.Second

	usedAttempts      = 50_000 // that are remembered
	exchangeAddresses = 50_000 // that are remembered
)

// exchanges bounds how often an issuer is asked to redeem codes. Anybody can start a sign-in and
// come back with a made-up code, and issuers throttle this service as a whole. So an attempt is
// exchanged once, an address with many failed exchanges has to wait, and few exchanges are in flight
// at a time. Exchanges that succeed count against no limit. State lives in memory, per process. It is
// safe for concurrent use.
type exchanges struct {
	used      *lru.Cache[string, struct{}] // by state
	addresses *ratelimit.Limiter[netip.Prefix]
	slots     chan struct{}
}

func newExchanges(now cola.Clock) *exchanges {
	used, err := lru.New[string, struct{}](usedAttempts)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return &exchanges{
		used: used, slots: make(chan struct{}, exchangesAtOnce),
		addresses: ratelimit.New[netip.Prefix](exchangesByAddress, exchangeRegained, exchangeAddresses, now),
	}
}

// errBusy is the error of exchanges.begin when too many exchanges are in flight.
var errBusy = errors.New("too many exchanges in flight")

// begin admits the exchange of an attempt, named by its state. The caller must call done with whether
// the issuer accepted the code. It fails with errNoAttempt for an attempt that was exchanged before,
// with a cola.CodeQuotaExceeded error for an address over its limit, with errBusy, or with the error of
// the context. Unless it fails with errNoAttempt, the attempt may be exchanged later.
func (e *exchanges) begin(ctx context.Context, state string) (done func(accepted bool), err error) {
	if used, _ := e.used.ContainsOrAdd(state, struct{}{}); used {
		return nil, errNoAttempt
	}
	from := security.Network(cola.ClientFrom(ctx))
	if wait := e.addresses.Take(from, 1); wait > 0 {
		e.used.Remove(state)
		return nil, tooManyFailed(wait)
	}
	if err := e.enter(ctx); err != nil {
		e.addresses.Return(from, 1)
		e.used.Remove(state)
		return nil, err
	}
	return func(accepted bool) {
		<-e.slots
		if accepted {
			e.addresses.Return(from, 1)
		}
	}, nil
}

// enter waits for a slot.
func (e *exchanges) enter(ctx context.Context) error {
	select {
	case e.slots <- struct{}{}:
		return nil
	default:
	}
	timeout := time.NewTimer(exchangeWait)
	defer timeout.Stop()
	select {
	case e.slots <- struct{}{}:
		return nil
	case <-timeout.C:
		return errBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

func tooManyFailed(wait time.Duration) error {
	seconds := int64((wait + time.Second - 1) / time.Second)
	return &cola.Error{
		Code: cola.CodeQuotaExceeded,
		Message: fmt.Sprintf("Too many sign-ins from your network address have failed. Reload this page in %d seconds.",
			seconds),
		Details:    map[string]any{"reason": security.ReasonFailedCredentials, "retry_after": seconds},
		RetryAfter: wait,
	}
}
