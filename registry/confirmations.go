package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

// Limits on requests to confirm a destination. Recipients may not know us, so they must not be asked
// often.
const (
	askedWithin = 24 * time.Hour // window of the limits per account and per recipient
	maxAsked    = 10             // requests of an account, to any recipient

	// An email address may be asked once an hour by an account, and three times a day by all.
	askAddressAgain = time.Hour
	maxAskedAddress = 3

	// A host may be sent five challenges an hour by an account, and fifty a day by all; see store.ConfirmationLimits for the exceptions.
	askHostAgain    = time.Hour
	maxAskedByOne   = 5
	maxAskedHost    = 50
	reasonAskLimits = "confirmations" // value of details.reason
)

// ask returns a request to confirm a destination of a kind, due now.
func (s *Service) ask(kind string) store.ConfirmationRequest {
	l := store.ConfirmationLimits{RepeatWindow: askAddressAgain, MaxRepeats: 1, Window: askedWithin, MaxByAccount: maxAsked, MaxOfAddress: maxAskedAddress}
	if kind == cola.KindWebhook {
		l.RepeatWindow, l.MaxRepeats, l.MaxOfAddress = askHostAgain, maxAskedByOne, maxAskedHost
	}
	return store.ConfirmationRequest{Due: s.now(), Limits: l}
}

// newChallenge returns a new encrypted challenge for an endpoint.
func (s *Service) newChallenge(destination string) string {
	return s.vault.Seal(vault.Challenge, destination, string(cola.NewChallenge()))
}

// askError turns the error of asking too often into what a caller may see, and leaves others as they are.
func askError(kind string, err error) error {
	reached, ok := errors.AsType[store.ConfirmationLimitError](err)
	if !ok {
		return err
	}
	return cola.TooMany(reasonAskLimits, 0, reached.Wait, askLimitWords(kind, reached.Limit))
}

func askLimitWords(kind string, limit store.ConfirmationLimit) string {
	webhook := kind == cola.KindWebhook
	switch {
	case limit == store.LimitRepeats && webhook:
		return fmt.Sprintf("An account may send a host %d challenges an hour.", maxAskedByOne)
	case limit == store.LimitRepeats:
		return "The owner of this address was asked within the last hour."
	case limit == store.LimitOfAddress && webhook:
		return fmt.Sprintf("All accounts together may send a host %d challenges in 24 hours.", maxAskedHost)
	case limit == store.LimitOfAddress:
		return fmt.Sprintf("An address is asked to confirm at most %d times in 24 hours.", maxAskedAddress)
	}
	return fmt.Sprintf("An account may request %d confirmations in 24 hours.", maxAsked)
}

// maybeConfirmed is the message if the outcome of a confirmation is unknown.
const maybeConfirmed = "It is unknown whether the code was accepted. Check the state with GET /destinations/{uuid}, " +
	"or send the same request again in a few seconds."

// ConfirmDestination confirms a pending endpoint with the code from its latest challenge, and returns
// the destination, which is then active. It is free and needs the scope cola.ScopeWriteSavedSearches.
// It fails with CodeNotFound also for another account's destination, with CodeValidation for a wrong
// code or an email address, and with CodeNotActive if too many codes were entered for the challenge.
// After CodeUnavailable the outcome is unknown.
func (s *Service) ConfirmDestination(ctx context.Context, c cola.Caller, id string, p cola.DestinationConfirmParams) (cola.Destination, cola.QuotaState, error) {
	d, state, err := s.beginChanging(ctx, c, id)
	if err != nil {
		return cola.Destination{}, state, err
	}
	settled, err := p.Normalize()
	switch {
	case err != nil:
		return cola.Destination{}, state, err
	case d.Kind != cola.KindWebhook:
		return cola.Destination{}, state, notFor("This is an email address; its owner confirms by the link in the email.")
	}
	var refusal error
	changed, err := s.update(ctx, d, maybeConfirmed, func(d *store.Destination) error {
		refusal = s.enterCode(d, settled.Code)
		return nil // a wrong code counts
	})
	if err == nil {
		err = refusal
	}
	if err != nil {
		return cola.Destination{}, state, err
	}
	return changed.Destination, state, nil
}

// enterCode confirms an endpoint if the code is right, and counts a wrong one. It does not change a
// confirmed endpoint.
func (s *Service) enterCode(d *store.Destination, code string) error {
	if d.State != cola.DestinationPending {
		return nil
	}
	challenge, err := s.vault.Open(vault.Challenge, d.UUID, d.Challenge.Sealed)
	switch {
	case err != nil:
		return fmt.Errorf("confirm destination: %w", err)
	case challenge == "" || d.Challenge.Tries >= cola.MaxCodeTries:
		return noMoreCodes(d)
	}
	if cola.Challenge(challenge).Matches(code) {
		d.Destination, d.VerifiedAt = d.Confirmed(), s.now()
		return nil
	}
	d.Challenge.Tries++
	if d.Challenge.Tries == cola.MaxCodeTries {
		return noMoreCodes(d)
	}
	var problems cola.Problems
	problems.Add("code", "Wrong code for the latest challenge. You have %d more tries.", cola.MaxCodeTries-d.Challenge.Tries)
	return problems.Err()
}

// noMoreCodes returns the refusal of any further code.
func noMoreCodes(d *store.Destination) error {
	refusal := cola.Errorf(cola.CodeNotActive, "No code can be entered: no challenge was sent, or too many wrong codes were entered. "+
		"To send another challenge, use POST /destinations/%s/confirmation.", d.UUID)
	refusal.Details = map[string]any{"state": d.State}
	return refusal
}
