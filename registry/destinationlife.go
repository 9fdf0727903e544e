package registry

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

// secretsOverlap is for how long webhooks are signed with a replaced secret as well.
const secretsOverlap = 24 * time.Hour

// maxReplayed is how many deliveries one request has sent again.
const maxReplayed = 1_000

// What a caller is told when the outcome of a request is not known.
const (
	maybeDestinationChanged = "It is unknown whether the destination was changed. Send the same request again in a few seconds: a change made twice is as good as one made once."
	maybeDestinationDeleted = "It is unknown whether the destination was deleted. Send the same request again in a few seconds; not_found then says that it is gone."
	maybeSecretReplaced     = "It is unknown whether the secret was replaced. Send the same request again in a few seconds for another one; the latest is the one that counts."
	maybeSent               = "It is unknown whether the message is to be sent. GET /deliveries tells; or send the same request again in a few seconds."
)

// ChangeDestination changes a destination of the caller's account, and returns it. It is free and needs the scope
// cola.ScopeWriteSavedSearches. It fails with CodeNotFound also for another account's, and with what cola.DestinationChangeParams refuses.
// CodeUnavailable may leave unknown whether it was changed.
func (s *Service) ChangeDestination(ctx context.Context, c cola.Caller, id string, p cola.DestinationChangeParams) (cola.Destination, cola.QuotaState, error) {
	key, state, err := beginWritingOf(ctx, s, c, id, destinationID)
	if err != nil {
		return cola.Destination{}, state, err
	}
	before, err := s.destination(ctx, c.Account, key)
	if err != nil {
		return cola.Destination{}, state, err
	}
	settled, err := p.Normalize()
	if err != nil {
		return cola.Destination{}, state, err
	}
	own, err := s.isOwn(ctx, before)
	if err != nil {
		return cola.Destination{}, state, err
	}
	changed, err := s.update(ctx, before, maybeDestinationChanged, func(d *store.Destination) (err error) {
		after, err := settled.Apply(d.Destination, own)
		if err == nil {
			d.Destination = after
		}
		return err
	})
	return changed.Destination, state, err
}

// update changes a destination in the store. unknown is what a caller is told when it may have been done.
func (s *Service) update(ctx context.Context, d store.Destination, unknown string, change func(*store.Destination) error) (changed store.Destination, err error) {
	err = within(ctx, saveWithin, func(ctx context.Context) (err error) {
		changed, err = s.store.UpdateDestination(ctx, d.Account, d.UUID, change)
		return err
	})
	if err != nil {
		return store.Destination{}, destinationError(err, d.UUID, unknown)
	}
	return changed, nil
}

// DeleteDestination forgets a destination of the caller's account, with all that was and is to be sent there. It is free and needs the scope
// cola.ScopeWriteSavedSearches. It fails with CodeNotFound also for another account's, and with CodeValidation for the account's own email
// address, which can be paused. CodeUnavailable may leave unknown whether it was deleted.
func (s *Service) DeleteDestination(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error) {
	d, state, err := s.beginChanging(ctx, c, id)
	if err != nil {
		return state, err
	}
	if d.Own {
		return state, notFor("It is the account's own email address, which stays. To have nothing sent there, send PATCH /destinations/" + d.UUID + " with {\"active\": false}.")
	}
	err = within(ctx, saveWithin, func(ctx context.Context) error {
		return s.store.DeleteDestination(ctx, d.Account, d.UUID)
	})
	if err != nil {
		return state, destinationError(err, id, maybeDestinationDeleted)
	}
	return state, nil
}

// beginChanging admits a caller who is to do something with a destination, and reads it.
func (s *Service) beginChanging(ctx context.Context, c cola.Caller, id string) (store.Destination, cola.QuotaState, error) {
	key, state, err := beginWritingOf(ctx, s, c, id, destinationID)
	if err != nil {
		return store.Destination{}, state, err
	}
	d, err := s.destination(ctx, c.Account, key)
	return d, state, err
}

// notFor refuses what a destination of its kind is not for.
func notFor(message string) error {
	var problems cola.Problems
	problems.Add("uuid", "%s", message)
	return problems.Err()
}

// RotateSecret replaces the secret that signs webhooks to a destination, and returns the new one. It
// is never returned again. For 24 hours, messages are signed with the old secret as well. It is free
// and needs the scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound also for another
// account's destination, and with CodeValidation for an email address. After CodeUnavailable the
// outcome is unknown.
func (s *Service) RotateSecret(ctx context.Context, c cola.Caller, id string) (cola.DestinationWithSecret, cola.QuotaState, error) {
	d, state, err := s.beginChanging(ctx, c, id)
	if err != nil {
		return cola.DestinationWithSecret{}, state, err
	}
	if d.Kind != cola.KindWebhook {
		return cola.DestinationWithSecret{}, state, notFor("This is an email address; only webhooks are signed with a secret.")
	}
	secret, until := cola.NewWebhookSecret(), s.now().Add(secretsOverlap)
	sealed := s.vault.Seal(vault.Secret, d.UUID, secret)
	changed, err := s.update(ctx, d, maybeSecretReplaced, func(d *store.Destination) error {
		d.Secrets = store.Secrets{Current: sealed, Old: d.Secrets.Current, OldUntil: until}
		return nil
	})
	if err != nil {
		return cola.DestinationWithSecret{}, state, err
	}
	return withSecret(changed, secret), state, nil
}

// TestDestination has a message for trials sent to a destination of the caller's account. It is free and needs the scope
// cola.ScopeWriteSavedSearches. It fails with CodeNotFound, also for another account's; with CodeNotActive if the destination
// gets no messages; and with CodeQuotaExceeded after ten test messages within a minute.
func (s *Service) TestDestination(ctx context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error) {
	d, state, err := s.beginChanging(ctx, c, id)
	if err == nil {
		err = s.checkSendable(ctx, d)
	}
	if err == nil {
		err = s.tests.take(d.UUID)
	}
	if err != nil {
		return cola.Delivery{}, state, err
	}
	var made cola.Delivery
	err = within(ctx, saveWithin, func(ctx context.Context) (err error) {
		made, err = s.store.AddTest(ctx, d.Account, d.UUID, s.now())
		return err
	})
	if err != nil {
		return cola.Delivery{}, state, destinationError(err, d.UUID, maybeSent)
	}
	return made, state, nil
}

// checkSendable fails with CodeNotActive, telling what to do, unless messages to a destination are sent.
func (s *Service) checkSendable(ctx context.Context, d store.Destination) error {
	switch {
	case d.Kind == cola.KindEmail && !s.sends.SendsMail:
		return cola.Errorf(cola.CodeNotActive, "This server sends no email; use a webhook, or the feed of a saved search.")
	case !d.Address.OK:
		return cola.Errorf(cola.CodeNotActive, "The account has no email address. Add a destination with one, or a webhook.")
	case d.State == cola.DestinationActive:
		return nil
	}
	own, err := s.isOwn(ctx, d)
	if err != nil {
		return err
	}
	return d.CheckActive(own)
}

// ResendConfirmation asks the recipient of a destination again to confirm it. It sends an endpoint
// another challenge, or another email to the owner of an address who has not agreed or has
// unsubscribed. It is free and needs the scope cola.ScopeWriteSavedSearches. It fails with
// CodeNotFound also for another account's destination, with CodeValidation if the destination needs
// no confirmation, and with CodeQuotaExceeded if the limits on requests to confirm are reached.
func (s *Service) ResendConfirmation(ctx context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error) {
	d, state, err := s.beginChanging(ctx, c, id)
	if err == nil {
		err = s.checkAskable(ctx, d)
	}
	if err != nil {
		return cola.Delivery{}, state, err
	}
	var challenge store.Challenge
	if d.Kind == cola.KindWebhook {
		challenge.Sealed = s.newChallenge(d.UUID)
	}
	var made cola.Delivery
	err = within(ctx, saveWithin, func(ctx context.Context) (err error) {
		made, err = s.store.RequestConfirmation(ctx, d.Account, d.UUID, s.ask(d.Kind), func(d *store.Destination) error {
			if !d.NeedsConsent() {
				return notFor(nothingToAsk)
			}
			d.Destination, d.Challenge = d.Asked(), challenge
			return nil
		})
		return err
	})
	if err != nil {
		return cola.Delivery{}, state, destinationError(askError(d.Kind, err), d.UUID, maybeSent)
	}
	return made, state, nil
}

const nothingToAsk = "It is already confirmed. To make it active again, send PATCH /destinations/{uuid} with {\"active\": true}."

// checkAskable fails if the destination needs no consent, or if the server can't ask for it.
func (s *Service) checkAskable(ctx context.Context, d store.Destination) error {
	own, err := s.isOwn(ctx, d)
	switch {
	case err != nil:
		return err
	case own || !d.NeedsConsent():
		return notFor(nothingToAsk)
	case d.Kind == cola.KindEmail && !s.sends.SendsMail:
		return s.checkSendable(ctx, d)
	}
	return nil
}

// ReplayDestination has messages of runs sent again that did not get through to a destination of the caller's account, or were skipped while it
// was paused: 1,000 at most, oldest first. It is free and needs the scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound also for
// another account's, and with CodeNotActive when nothing is sent there.
func (s *Service) ReplayDestination(ctx context.Context, c cola.Caller, id string) (cola.Replayed, cola.QuotaState, error) {
	d, state, err := s.beginChanging(ctx, c, id)
	if err == nil {
		err = s.checkSendable(ctx, d)
	}
	if err != nil {
		return cola.Replayed{}, state, err
	}
	var replayed cola.Replayed
	err = within(ctx, saveWithin, func(ctx context.Context) (err error) {
		replayed.Count, err = s.store.ReplayUndelivered(ctx, d.Account, d.UUID, s.now(), maxReplayed)
		return err
	})
	if err != nil {
		return cola.Replayed{}, state, replayError(err, destinationError(err, id, maybeSent))
	}
	return replayed, state, nil
}
