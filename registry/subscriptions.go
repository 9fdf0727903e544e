package registry

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// Subscription is an email destination as its recipient sees it through a link in a message. It
// does not name the account.
type Subscription struct {
	Address string // masked; may be empty
	Search  string // name of its saved search; empty for all of the account's searches
	State   string // state of the destination
	Reason  string // why it is paused; otherwise empty
}

// Ended reports whether the recipient has unsubscribed.
func (s Subscription) Ended() bool { return s.Reason == cola.ReasonUnsubscribed }

// Confirmed reports whether the recipient has agreed.
func (s Subscription) Confirmed() bool { return !s.Ended() && s.State != cola.DestinationUnconfirmed }

// subscribeUnconfirmed is the message for a request with an unknown outcome.
const subscribeUnconfirmed = "The change may not have been saved. Try again in a few seconds; it's safe to retry."

// Subscription returns the subscription for a token. It fails with CodeNotFound if the email
// destination no longer exists.
func (s *Service) Subscription(ctx context.Context, token string) (Subscription, error) {
	d, err := s.subscribedDestination(ctx, token)
	if err != nil {
		return Subscription{}, err
	}
	return s.subscription(ctx, d)
}

// Unsubscribe ends the subscription for a token: no messages are sent until the recipient agrees
// again. Unsubscribe fails with CodeNotFound if the email destination no longer exists.
func (s *Service) Unsubscribe(ctx context.Context, token string) (Subscription, error) {
	return s.changeSubscription(ctx, token, cola.Destination.Unsubscribed)
}

// Confirm records the recipient's consent, for the first time or after Unsubscribe. It fails with
// CodeNotFound if the email destination no longer exists.
func (s *Service) Confirm(ctx context.Context, token string) (Subscription, error) {
	return s.changeSubscription(ctx, token, cola.Destination.Confirmed)
}

// changeSubscription changes the email destination that a token identifies.
func (s *Service) changeSubscription(
	ctx context.Context, token string, change func(cola.Destination) cola.Destination,
) (Subscription, error) {
	d, err := s.subscribedDestination(ctx, token)
	if err != nil {
		return Subscription{}, err
	}
	changed, err := s.updateDestination(ctx, d, subscribeUnconfirmed, func(d *store.Destination) error {
		d.Destination = change(d.Destination)
		return nil
	})
	switch {
	case cola.CodeOf(err) == cola.CodeNotFound:
		return Subscription{}, subscriptionNotFound()
	case err != nil:
		return Subscription{}, err
	}
	return s.subscription(ctx, changed)
}

// subscribedDestination returns the email destination for a token. It fails with CodeNotFound for
// an unknown token, and with CodeQuotaExceeded if the token is used too often or the client's IP
// address sent too many wrong tokens.
func (s *Service) subscribedDestination(ctx context.Context, token string) (d store.Destination, err error) {
	if !looksLikeToken(token) {
		return d, s.events.Failed(ctx, security.Subscription, subscriptionNotFound())
	}
	if err := s.tokenLimit.take(token); err != nil {
		return d, err
	}
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		if account, destination, ok := s.vault.OpenLink(token); ok {
			d, err = s.store.Destination(ctx, account, destination)
			return err
		}
		hash := sha256.Sum256([]byte(token)) // the email may come from an earlier version
		d, err = s.store.DestinationByLink(ctx, hash[:])
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && d.Kind != cola.KindEmail:
		return store.Destination{}, s.events.Failed(ctx, security.Subscription, subscriptionNotFound())
	case err != nil:
		return store.Destination{}, storeError(err, "find destination by link")
	}
	return d, nil
}

// subscription returns the recipient's view of an email destination.
func (s *Service) subscription(ctx context.Context, d store.Destination) (Subscription, error) {
	sub := Subscription{Address: cola.MaskEmail(d.Address.V), State: d.State, Reason: d.Reason.V}
	if !d.SavedSearch.OK {
		return sub, nil
	}
	err := withTimeout(ctx, readTimeout, func(ctx context.Context) error {
		search, err := s.store.SavedSearch(ctx, d.Account, d.SavedSearch.V)
		sub.Search = search.Name
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound): // just deleted, with its destination
		return Subscription{}, subscriptionNotFound()
	case err != nil:
		return Subscription{}, storeError(err, "read saved search of a destination")
	}
	return sub, nil
}

// subscriptionNotFound does not repeat the token, which is a secret even if mistyped.
func subscriptionNotFound() error {
	return cola.Errorf(cola.CodeNotFound, "This link is no longer valid. The subscription was deleted, so you won't get "+
		"any more messages.")
}

// looksLikeToken reports whether a string has the form of a token; other strings need no lookup.
func looksLikeToken(text string) bool {
	const minLength, maxLength = 16, 128 // characters
	other := func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	return len(text) >= minLength && len(text) <= maxLength && !strings.ContainsFunc(text, other)
}

const (
	// tokenRequestsPerMinute limits requests with a feed token or emailed link, both as a burst
	// and per minute. Feed readers poll every few minutes.
	tokenRequestsPerMinute = 60
	maxTokenLimits         = 20_000 // tokens remembered
	reasonToken            = "requests"
)

// tokenRateLimit limits the database work that a holder of a feed or email token can cause.
type tokenRateLimit struct {
	*ratelimit.Limiter[[sha256.Size]byte]
}

func newTokenRateLimit(now cola.Clock) tokenRateLimit {
	return tokenRateLimit{ratelimit.New[[sha256.Size]byte](tokenRequestsPerMinute, time.Minute/tokenRequestsPerMinute,
		maxTokenLimits, now)}
}

// take counts a request with a token, or returns a CodeQuotaExceeded error.
func (l tokenRateLimit) take(token string) error {
	wait := l.Take(sha256.Sum256([]byte(token)), 1)
	if wait == 0 {
		return nil
	}
	return cola.TooMany(reasonToken, tokenRequestsPerMinute, wait,
		fmt.Sprintf("This URL is limited to %d requests a minute.", tokenRequestsPerMinute))
}
