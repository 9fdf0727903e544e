package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

// secretOverlap is how long webhooks are also signed with the previous secret after a rotation.
const secretOverlap = 24 * time.Hour

// maxReplayed is the maximum number of deliveries that one request resends.
const maxReplayed = 1_000

// Messages for requests with an unknown outcome.
const (
	changeDestinationUnconfirmed = "The destination may not have been changed. Send the same request again in a few " +
		"seconds; it's safe to retry."
	deleteDestinationUnconfirmed = "The destination may not have been deleted. Send the same request again in a few " +
		"seconds; not_found means that it was."
	rotateSecretUnconfirmed = "The secret may not have been replaced. Send the same request again in a few " +
		"seconds; the secret in that response is the valid one."
	sendUnconfirmed = "The message may not have been queued. Check the deliveries, or send the same " +
		"request again in a few seconds."
)

// RotateSecret replaces the secret that signs webhooks to a destination, and returns the new one,
// which is never returned again. For 24 hours, messages are signed with the old secret as well.
// RotateSecret is free and needs the scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound
// if the destination is missing or belongs to another account, and with CodeValidation for an email
// address. After CodeUnavailable the outcome is unknown.
func (s *Service) RotateSecret(
	ctx context.Context, c cola.Caller, id string,
) (cola.DestinationWithSecret, cola.QuotaState, error) {
	d, state, err := s.authorizeDestinationWrite(ctx, c, id)
	if err != nil {
		return cola.DestinationWithSecret{}, state, err
	}
	if d.Kind != cola.KindWebhook {
		return cola.DestinationWithSecret{}, state,
			unsupportedError("Only webhooks have a secret; this is an email address.")
	}
	secret, until := cola.NewWebhookSecret(), s.now().Add(secretOverlap)
	sealed := s.vault.Seal(vault.Secret, d.UUID, secret)
	changed, err := s.updateDestination(ctx, d, rotateSecretUnconfirmed, func(d *store.Destination) error {
		d.Secrets = store.Secrets{Current: sealed, Old: d.Secrets.Current, OldUntil: until}
		return nil
	})
	if err != nil {
		return cola.DestinationWithSecret{}, state, err
	}
	return withSecret(changed, secret), state, nil
}

// TestDestination sends a test message to one of the caller's destinations. It is free and needs
// the scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound if the destination is missing
// or belongs to another account; with CodeNotActive if messages can't be sent to the destination;
// and with CodeQuotaExceeded after ten test messages within a minute.
func (s *Service) TestDestination(
	ctx context.Context, c cola.Caller, id string,
) (cola.Delivery, cola.QuotaState, error) {
	d, state, err := s.authorizeDestinationWrite(ctx, c, id)
	if err == nil {
		err = s.checkSendable(ctx, d)
	}
	if err == nil {
		err = s.testLimit.take(d.UUID)
	}
	if err != nil {
		return cola.Delivery{}, state, err
	}
	var created cola.Delivery
	err = withTimeout(ctx, saveTimeout, func(ctx context.Context) (err error) {
		created, err = s.store.AddTest(ctx, d.Account, d.UUID, s.now())
		return err
	})
	if err != nil {
		return cola.Delivery{}, state, destinationError(err, d.UUID, sendUnconfirmed)
	}
	return created, state, nil
}

// checkSendable fails with CodeNotActive if messages can't be sent to a destination.
func (s *Service) checkSendable(ctx context.Context, d store.Destination) error {
	unserved := s.unserved(d.Kind, d.Address.V)
	switch {
	case unserved != nil:
		return unserved
	case !d.Address.OK:
		return cola.Errorf(cola.CodeNotActive,
			"The account has no email address. Add an email or webhook destination.")
	case d.State == cola.DestinationActive:
		return nil
	}
	own, err := s.isAccountDestination(ctx, d)
	if err != nil {
		return err
	}
	return d.CheckActive(own)
}

// unserved fails with CodeNotActive if the server doesn't send messages to an address.
func (s *Service) unserved(kind, address string) error {
	if why := s.sends.Unserved(kind, address); why != "" {
		return cola.Errorf(cola.CodeNotActive, "%s Use a webhook that the server accepts, or a saved search's feed.", why)
	}
	return nil
}

// ResendConfirmation sends another request to confirm a destination: a new challenge to an
// endpoint, or an email to the owner of an address who has not agreed or has unsubscribed. It is
// free and needs the scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound if the
// destination is missing or belongs to another account, with CodeValidation if the destination
// needs no confirmation, and with CodeQuotaExceeded if a limit on confirmation requests is reached.
func (s *Service) ResendConfirmation(
	ctx context.Context, c cola.Caller, id string,
) (cola.Delivery, cola.QuotaState, error) {
	d, state, err := s.authorizeDestinationWrite(ctx, c, id)
	if err == nil {
		err = s.checkCanResend(ctx, d)
	}
	if err != nil {
		return cola.Delivery{}, state, err
	}
	var challenge store.Challenge
	if d.Kind == cola.KindWebhook {
		challenge.Sealed = s.newChallenge(d.UUID)
	}
	var created cola.Delivery
	err = withTimeout(ctx, saveTimeout, func(ctx context.Context) (err error) {
		created, err = s.store.RequestConfirmation(ctx, d.Account, d.UUID, s.confirmationRequest(d.Kind),
			func(d *store.Destination) error {
				if !d.NeedsConsent() {
					return unsupportedError(alreadyConfirmed)
				}
				d.Destination, d.Challenge = d.Asked(), challenge
				return nil
			})
		return err
	})
	if err != nil {
		return cola.Delivery{}, state, destinationError(confirmationError(d.Kind, err), d.UUID, sendUnconfirmed)
	}
	return created, state, nil
}

const alreadyConfirmed = "The destination is already confirmed. To resume it, send PATCH /destinations/{uuid} with {\"active\": true}."

// checkCanResend fails if the destination needs no consent, or if the server can't ask for it.
func (s *Service) checkCanResend(ctx context.Context, d store.Destination) error {
	own, err := s.isAccountDestination(ctx, d)
	switch {
	case err != nil:
		return err
	case own || !d.NeedsConsent():
		return unsupportedError(alreadyConfirmed)
	}
	return s.unserved(d.Kind, d.Address.V)
}

// ReplayDestination resends the messages about runs that a destination missed because delivery
// failed or the destination was paused: at most 1,000, oldest first. It is free and needs the scope
// cola.ScopeWriteSavedSearches. It fails with CodeNotFound if the destination is missing or belongs
// to another account, and with CodeNotActive if messages can't be sent to the destination.
func (s *Service) ReplayDestination(
	ctx context.Context, c cola.Caller, id string,
) (cola.Replayed, cola.QuotaState, error) {
	d, state, err := s.authorizeDestinationWrite(ctx, c, id)
	if err == nil {
		err = s.checkSendable(ctx, d)
	}
	if err != nil {
		return cola.Replayed{}, state, err
	}
	var replayed cola.Replayed
	err = withTimeout(ctx, saveTimeout, func(ctx context.Context) (err error) {
		replayed.Count, err = s.store.ReplayUndelivered(ctx, d.Account, d.UUID, s.now(), maxReplayed)
		return err
	})
	if err != nil {
		return cola.Replayed{}, state, replayError(err, destinationError(err, id, sendUnconfirmed))
	}
	return replayed, state, nil
}

// Limits on requests to confirm a destination. Recipients may not know us, so they must not be
// asked often.
const (
	confirmationWindow  = 24 * time.Hour  // for the limits per account and per recipient
	maxConfirmations    = 10              // requests per account, to any recipient
	reasonConfirmations = "confirmations" // value of details.reason

	// An email address gets at most one request an hour per account, and three a day in total.
	addressRepeatWindow     = time.Hour
	maxAddressConfirmations = 3

	// A host gets at most five challenges an hour per account, and fifty a day in total; see
	// store.ConfirmationLimits for the exceptions.
	hostRepeatWindow     = time.Hour
	maxHostRepeats       = 5
	maxHostConfirmations = 50
)

// confirmationRequest returns a request, due now, to confirm a destination of the given kind.
func (s *Service) confirmationRequest(kind string) store.ConfirmationRequest {
	l := store.ConfirmationLimits{
		RepeatWindow:  addressRepeatWindow,
		MaxRepeats:    1,
		Window:        confirmationWindow,
		MaxPerAccount: maxConfirmations,
		MaxPerAddress: maxAddressConfirmations,
	}
	if kind == cola.KindWebhook {
		l.RepeatWindow, l.MaxRepeats, l.MaxPerAddress = hostRepeatWindow, maxHostRepeats, maxHostConfirmations
	}
	return store.ConfirmationRequest{Due: s.now(), Limits: l}
}

// newChallenge returns a new encrypted challenge for an endpoint.
func (s *Service) newChallenge(destination string) string {
	return s.vault.Seal(vault.Challenge, destination, string(cola.NewChallenge()))
}

// confirmationError returns the public error if a confirmation limit is reached, and other errors
// unchanged.
func confirmationError(kind string, err error) error {
	limitErr, ok := errors.AsType[store.ConfirmationLimitError](err)
	if !ok {
		return err
	}
	return cola.TooMany(reasonConfirmations, 0, limitErr.Wait, confirmationLimitMessage(kind, limitErr.Limit))
}

func confirmationLimitMessage(kind string, limit store.ConfirmationLimit) string {
	webhook := kind == cola.KindWebhook
	switch {
	case limit == store.LimitRepeats && webhook:
		return fmt.Sprintf("An account can send at most %d challenges per hour to any one host.", maxHostRepeats)
	case limit == store.LimitRepeats:
		return "A confirmation request was already sent to this address within the last hour."
	case limit == store.LimitPerAddress && webhook:
		return fmt.Sprintf("A host can receive at most %d challenges in 24 hours, across all accounts.",
			maxHostConfirmations)
	case limit == store.LimitPerAddress:
		return fmt.Sprintf("An address can receive at most %d confirmation requests in 24 hours, across all accounts.",
			maxAddressConfirmations)
	}
	return fmt.Sprintf("An account can request at most %d confirmations in 24 hours.", maxConfirmations)
}

// confirmUnconfirmed is the message for a confirmation with an unknown outcome.
const confirmUnconfirmed = "The code may not have been accepted. Check the state with GET /destinations/{uuid}, or " +
	"send the same request again in a few seconds."

// ConfirmDestination confirms a pending endpoint with the code from its latest challenge, and
// returns the destination. It is free and needs the scope cola.ScopeWriteSavedSearches. It fails
// with CodeNotFound if the destination is missing or belongs to another account, with
// CodeValidation for a wrong code or an email address, and with CodeNotActive if too many wrong
// codes were entered for the challenge. After CodeUnavailable the outcome is unknown.
func (s *Service) ConfirmDestination(
	ctx context.Context, c cola.Caller, id string, p cola.DestinationConfirmParams,
) (cola.Destination, cola.QuotaState, error) {
	d, state, err := s.authorizeDestinationWrite(ctx, c, id)
	if err != nil {
		return cola.Destination{}, state, err
	}
	settled, err := p.Normalize()
	switch {
	case err != nil:
		return cola.Destination{}, state, err
	case d.Kind != cola.KindWebhook:
		return cola.Destination{}, state, unsupportedError(
			"Only webhooks are confirmed with a code. The owner of an email address confirms with the link in the email.")
	}
	var refusal error
	changed, err := s.updateDestination(ctx, d, confirmUnconfirmed, func(d *store.Destination) error {
		refusal = s.checkCode(d, settled.Code)
		return nil // even for a wrong code, so that the number of tries is stored
	})
	if err == nil {
		err = refusal
	}
	if err != nil {
		return cola.Destination{}, state, err
	}
	return changed.Destination, state, nil
}

// checkCode confirms an endpoint if the code is correct, and otherwise counts the attempt. It does
// not change an endpoint that isn't pending.
func (s *Service) checkCode(d *store.Destination, code string) error {
	if d.State != cola.DestinationPending {
		return nil
	}
	challenge, err := s.vault.Open(vault.Challenge, d.UUID, d.Challenge.Sealed)
	switch {
	case err != nil:
		return fmt.Errorf("confirm destination: %w", err)
	case challenge == "" || d.Challenge.Tries >= cola.MaxCodeTries:
		return codesExhaustedError(d)
	}
	if cola.Challenge(challenge).Matches(code) {
		d.Destination, d.VerifiedAt = d.Confirmed(), s.now()
		return nil
	}
	d.Challenge.Tries++
	if d.Challenge.Tries == cola.MaxCodeTries {
		return codesExhaustedError(d)
	}
	var problems cola.Problems
	problems.Add("code", "Incorrect code. Use the one from the latest challenge. Attempts left: %d.",
		cola.MaxCodeTries-d.Challenge.Tries)
	return problems.Err()
}

// codesExhaustedError returns the error after too many wrong codes.
func codesExhaustedError(d *store.Destination) error {
	refusal := cola.Errorf(cola.CodeNotActive,
		"No code is currently valid: no challenge was sent, or too many wrong codes were entered. "+
			"To send another challenge, use POST /destinations/%s/confirmation.", d.UUID)
	refusal.Details = map[string]any{"state": d.State}
	return refusal
}

const (
	testsPerMinute = 10     // test messages to one destination, in each process
	maxTestLimits  = 20_000 // destinations remembered
)

// ReasonTests is the details.reason of the error for too many test messages.
const ReasonTests = "tests"

// testMessageLimit limits the test messages to each destination, by its UUID. Replays of test
// messages also count. Users can send them at any time, so they need a separate limit.
type testMessageLimit struct{ *ratelimit.Limiter[string] }

func newTestMessageLimit(now cola.Clock) testMessageLimit {
	return testMessageLimit{ratelimit.New[string](testsPerMinute, time.Minute/testsPerMinute, maxTestLimits, now)}
}

// take counts a test message, or returns a CodeQuotaExceeded error.
func (l testMessageLimit) take(destination string) error {
	wait := l.Take(destination, 1)
	if wait == 0 {
		return nil
	}
	return cola.TooMany(ReasonTests, testsPerMinute, wait,
		fmt.Sprintf("Each destination is limited to %d test messages a minute.", testsPerMinute))
}
