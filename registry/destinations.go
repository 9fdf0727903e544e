package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/store"
)

// visible returns a destination as a caller with the given grant may see it. Every operation that
// returns destinations to read-only callers uses it, because a webhook's address is often a
// credential.
func visible(g quota.Grant, d cola.Destination) cola.Destination {
	if slices.Contains(g.Scopes, cola.ScopeWriteSavedSearches) {
		return d
	}
	return d.Redacted()
}

// Destinations returns a page of the caller's destinations, oldest first. It is free. Destinations
// are redacted for a caller without the scope cola.ScopeWriteSavedSearches.
func (s *Service) Destinations(
	ctx context.Context, c cola.Caller, p cola.SavedSearchListParams,
) (PageList[cola.Destination], cola.QuotaState, error) {
	page, invalid := p.Normalize()
	return listPage(ctx, s, c, page, invalid, "list destinations",
		func(ctx context.Context, g quota.Grant, part store.Slice) ([]cola.Destination, int, error) {
			stored, total, err := s.store.Destinations(ctx, c.Account, part)
			rows := make([]cola.Destination, len(stored))
			for i := range stored {
				rows[i] = visible(g, stored[i].Destination)
			}
			return rows, total, err
		})
}

// listPage serves a page of a free list: it admits or rejects the request and reads the rows of the
// caller's account.
func listPage[T any](ctx context.Context, s *Service, c cola.Caller, page cola.SavedSearchPage, invalid error,
	operation string,
	read func(ctx context.Context, g quota.Grant, part store.Slice) ([]T, int, error),
) (list PageList[T], state cola.QuotaState, err error) {
	grant, err := s.grantFree(ctx, c, invalid)
	if err != nil {
		return list, grant.State, err
	}
	part := store.Slice{Offset: (page.Page - 1) * page.PerPage, Limit: page.PerPage}
	meta := cola.PageMeta{Page: page.Page, PerPage: page.PerPage}
	var rows []T
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		rows, meta.Total, err = read(ctx, grant, part)
		return err
	})
	if err != nil {
		return list, grant.State, storeError(err, operation)
	}
	meta.HasMore = part.Offset+len(rows) < meta.Total
	return PageList[T]{Rows: rows, Meta: meta}, grant.State, nil
}

// Destination returns one of the caller's destinations. It is free. It fails with CodeNotFound if
// the destination is missing or belongs to another account.
func (s *Service) Destination(
	ctx context.Context, c cola.Caller, id, ifNoneMatch string,
) (Tagged[cola.Destination], cola.QuotaState, error) {
	var none Tagged[cola.Destination]
	grant, err := s.grantFree(ctx, c, nil)
	if err != nil {
		return none, grant.State, err
	}
	key, err := parseDestinationID(id)
	if err != nil {
		return none, grant.State, err
	}
	d, err := s.destination(ctx, c.Account, key)
	if err != nil {
		return none, grant.State, err
	}
	found, err := tagged(s, c, visible(grant, d.Destination), ifNoneMatch, true)
	return found, grant.State, err
}

// destination reads a destination by its normalized UUID, or fails with CodeNotFound.
func (s *Service) destination(
	ctx context.Context, account cola.AccountID, key string,
) (d store.Destination, err error) {
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		d, err = s.store.Destination(ctx, account, key)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Destination{}, destinationNotFound(key)
	case err != nil:
		return store.Destination{}, storeError(err, "read destination")
	}
	return d, nil
}

// CreateDestination adds a destination to the caller's account. It is free and needs the scope
// cola.ScopeWriteSavedSearches.
//
// A new webhook is pending: until its endpoint confirms, it receives only a challenge. Its signing
// secret is returned only once. An email address other than the account's own is unconfirmed until
// its owner agrees.
//
// CreateDestination fails with the same errors as Normalize, with CodeDestinationLimit or
// CodeDestinationExists, and with CodeQuotaExceeded if a limit on confirmation requests is reached.
// After CodeUnavailable the outcome is unknown.
func (s *Service) CreateDestination(
	ctx context.Context, c cola.Caller, p cola.DestinationParams,
) (cola.DestinationWithSecret, cola.QuotaState, error) {
	none := cola.DestinationWithSecret{}
	c.Needs = cola.ScopeWriteSavedSearches
	if state, err := s.precheck(c); err != nil {
		return none, state, err
	}
	settled, err := p.Normalize(s.sends)
	if err != nil {
		state, err := s.Refuse(ctx, c, err)
		return none, state, err
	}
	state, err := s.Admit(ctx, c)
	if err != nil {
		return none, state, err
	}
	created, err := s.addDestination(ctx, c.Account, settled)
	return created, state, err
}

// withSecret returns a destination with its new secret, which is empty for an email address.
func withSecret(d store.Destination, secret string) cola.DestinationWithSecret {
	result := cola.DestinationWithSecret{Destination: d.Destination}
	if secret != "" {
		result.Secret = cola.Some(secret)
	}
	return result
}

// addDestination stores a normalized destination and asks its recipient to confirm if needed.
func (s *Service) addDestination(
	ctx context.Context, account cola.AccountID, d cola.Destination,
) (cola.DestinationWithSecret, error) {
	n, secret, err := s.newDestination(ctx, account, d)
	if err != nil {
		return cola.DestinationWithSecret{}, err
	}
	created, err := s.storeDestination(ctx, n)
	if err != nil {
		return cola.DestinationWithSecret{}, err
	}
	return withSecret(created, secret), nil
}

// newDestination returns a normalized destination to store, and the new secret of a webhook. If the
// recipient must confirm, storing the destination also queues a confirmation request.
func (s *Service) newDestination(
	ctx context.Context, account cola.AccountID, d cola.Destination,
) (n store.NewDestination, secret string, err error) {
	n = store.NewDestination{
		UUID: uuid.NewString(), Account: account, Kind: d.Kind, Address: d.Address.V, SavedSearch: d.SavedSearch.V,
		SendEmpty: d.SendEmpty,
		State:     cola.DestinationActive, MaxDestinations: cola.MaxDestinations,
	}
	switch own, err := s.isAccountAddress(ctx, account, n); {
	case err != nil:
		return n, "", err
	case n.Kind == cola.KindWebhook:
		secret = cola.NewWebhookSecret()
		n.State, n.Secret, n.Challenge = cola.DestinationPending, s.vault.Seal(vault.Secret, n.UUID,
			secret), s.newChallenge(n.UUID)
	case !own:
		n.State = cola.DestinationUnconfirmed
	}
	if n.State != cola.DestinationActive {
		request := s.confirmationRequest(n.Kind)
		n.Confirm = &request
	}
	return n, secret, nil
}

// storeDestination creates a destination in the store.
func (s *Service) storeDestination(ctx context.Context, n store.NewDestination) (created store.Destination, err error) {
	err = withTimeout(ctx, saveTimeout, func(ctx context.Context) (err error) {
		created, err = s.store.CreateDestination(ctx, n)
		return err
	})
	if err != nil {
		return created, newDestinationError(n, err)
	}
	return created, nil
}

// newDestinationError returns the public error for a destination that couldn't be created.
func newDestinationError(n store.NewDestination, err error) error {
	switch {
	case errors.Is(err, store.ErrExists):
		return cola.Errorf(cola.CodeDestinationExists,
			"The account already has this destination for the same searches. GET /destinations lists it. To replace "+
				"a lost secret, send POST /destinations/{uuid}/secret.")
	case errors.Is(err, store.ErrLimit):
		refusal := cola.Errorf(cola.CodeDestinationLimit,
			"The account has reached the maximum of %d destinations. Delete one first.",
			n.MaxDestinations)
		refusal.Details = map[string]any{"limit": n.MaxDestinations}
		return refusal
	case errors.Is(err, store.ErrNotFound):
		var problems cola.Problems
		problems.Add("saved_search", "Your account has no saved search with the ID %s.", cola.Quoted(n.SavedSearch))
		return problems.Err()
	}
	return destinationError(confirmationError(n.Kind, err), n.Address,
		"The destination may not have been created. Send the same request again in a few seconds; "+
			"destination_exists means that it was.")
}

// isAccountAddress reports whether a new destination has the account's own email address, in any
// letter case.
func (s *Service) isAccountAddress(
	ctx context.Context, account cola.AccountID, n store.NewDestination,
) (own bool, err error) {
	if n.Kind != cola.KindEmail {
		return false, nil
	}
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) error {
		list, _, err := s.store.Destinations(ctx, account, store.Slice{Limit: cola.MaxDestinations + 1})
		for _, d := range list {
			own = own || d.Own && d.Address.OK &&
				cola.FoldAddress(d.Kind, d.Address.V) == cola.FoldAddress(d.Kind, n.Address)
		}
		return err
	})
	if err != nil {
		return false, storeError(err, "read the account's own destination")
	}
	return own, nil
}

// isAccountDestination reports whether a destination has the account's own email address, which
// needs no consent.
func (s *Service) isAccountDestination(ctx context.Context, d store.Destination) (bool, error) {
	if d.Own {
		return true, nil
	}
	return s.isAccountAddress(ctx, d.Account, store.NewDestination{Kind: d.Kind, Address: d.Address.V})
}

// parseDestinationID returns the normalized UUID of a destination.
func parseDestinationID(id string) (string, error) {
	if key, ok := normalizeUUID(id); ok {
		return key, nil
	}
	refusal := destinationNotFound(id)
	refusal.Message += " Destination IDs are UUIDs."
	return "", refusal
}

func destinationNotFound(id string) *cola.Error {
	return cola.Errorf(cola.CodeNotFound, "Your account has no destination with the ID %s.", cola.Quoted(id))
}

// destinationError returns the public error for a failed change. unknown is the message if the
// outcome is unknown.
func destinationError(err error, id, unknown string) error {
	if refusal, ok := errors.AsType[*cola.Error](err); ok {
		return refusal
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return destinationNotFound(id)
	case errors.Is(err, store.ErrUnavailable):
		refusal := cola.Unavailable()
		refusal.Message = unknown
		return refusal
	}
	return fmt.Errorf("change destination: %w", err)
}

// ChangeDestination changes one of the caller's destinations, and returns it. It is free and needs
// the scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound if the destination is missing
// or belongs to another account, and with the same errors as cola.DestinationChangeParams.Normalize
// and Apply. After CodeUnavailable the outcome may be unknown.
func (s *Service) ChangeDestination(
	ctx context.Context, c cola.Caller, id string, p cola.DestinationChangeParams,
) (cola.Destination, cola.QuotaState, error) {
	key, state, err := authorizeWrite(ctx, s, c, id, parseDestinationID)
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
	own, err := s.isAccountDestination(ctx, before)
	if err != nil {
		return cola.Destination{}, state, err
	}
	changed, err := s.updateDestination(ctx, before, changeDestinationUnconfirmed, func(d *store.Destination) (err error) {
		after, err := settled.Apply(d.Destination, own)
		if err == nil {
			d.Destination = after
		}
		return err
	})
	return changed.Destination, state, err
}

// updateDestination changes a destination in the store. unknown is the message if the outcome is
// unknown.
func (s *Service) updateDestination(
	ctx context.Context, d store.Destination, unknown string, change func(*store.Destination) error,
) (changed store.Destination, err error) {
	err = withTimeout(ctx, saveTimeout, func(ctx context.Context) (err error) {
		changed, err = s.store.UpdateDestination(ctx, d.Account, d.UUID, change)
		return err
	})
	if err != nil {
		return store.Destination{}, destinationError(err, d.UUID, unknown)
	}
	return changed, nil
}

// DeleteDestination deletes one of the caller's destinations and its deliveries. It is free and
// needs the scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound if the destination is
// missing or belongs to another account, and with CodeValidation for the account's own email
// address, which can only be paused. After CodeUnavailable the outcome may be unknown.
func (s *Service) DeleteDestination(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error) {
	d, state, err := s.authorizeDestinationWrite(ctx, c, id)
	if err != nil {
		return state, err
	}
	if d.Own {
		return state, unsupportedError("The account's own email address can't be deleted. To pause it, send PATCH " +
			"/destinations/" + d.UUID + " with {\"active\": false}.")
	}
	err = withTimeout(ctx, saveTimeout, func(ctx context.Context) error {
		return s.store.DeleteDestination(ctx, d.Account, d.UUID)
	})
	if err != nil {
		return state, destinationError(err, id, deleteDestinationUnconfirmed)
	}
	return state, nil
}

// authorizeDestinationWrite admits a request to change or use a destination, and reads the
// destination.
func (s *Service) authorizeDestinationWrite(
	ctx context.Context, c cola.Caller, id string,
) (store.Destination, cola.QuotaState, error) {
	key, state, err := authorizeWrite(ctx, s, c, id, parseDestinationID)
	if err != nil {
		return store.Destination{}, state, err
	}
	d, err := s.destination(ctx, c.Account, key)
	return d, state, err
}

// unsupportedError returns the error for an action that the kind or state of a destination does not
// allow.
func unsupportedError(message string) error {
	var problems cola.Problems
	problems.Add("uuid", "%s", message)
	return problems.Err()
}
