package registry

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

// AlertDestinations are destinations to create with a saved search.
type AlertDestinations struct {
	Address     string   // email address or webhook URL to add; may be empty
	AllSearches bool     // Address gets the alerts for all searches, not just the new one
	Shared      []string // UUIDs of other searches' destinations, whose addresses also get the new search's alerts
}

// CreatedAlert is the result of CreateAlert.
type CreatedAlert struct {
	CreatedSavedSearch
	Added  cola.DestinationWithSecret // the destination for Address; may be zero
	Shared []cola.Destination         // the search's destinations for AlertDestinations.Shared
}

// The names of AlertDestinations' parameters in validation errors.
const (
	addressParam = "destination.address"
	sharedParam  = "destinations"
)

// CreateAlert is like CreateSavedSearch, but also creates destinations. It creates everything or
// nothing, and can also return the same errors as CreateDestination. A repeated request creates no
// destinations.
//
// The endpoint of a shared webhook is already confirmed: the new destination is active and has the
// same secret. The new destination for a shared email address is unconfirmed, unless it is the
// account's own address.
func (s *Service) CreateAlert(
	ctx context.Context, c cola.Caller, p cola.SavedSearchParams, to AlertDestinations,
) (CreatedAlert, cola.QuotaState, error) {
	c.Needs = cola.ScopeWriteSavedSearches
	if state, err := s.precheck(c); err != nil {
		return CreatedAlert{}, state, err
	}
	search, err := p.Normalize(s.now())
	added, invalid := to.normalize(s.sends)
	if err = joinProblems(err, invalid); err != nil {
		state, err := s.Refuse(ctx, c, err)
		return CreatedAlert{}, state, err
	}
	state, err := s.Admit(ctx, c)
	if err != nil {
		return CreatedAlert{}, state, err
	}
	created, err := s.saveAlert(ctx, c, search, added, to, p.IdempotencyKey)
	return created, state, err
}

// saveAlert stores a normalized search with its destinations. added is the destination for
// to.Address, or nil.
func (s *Service) saveAlert(
	ctx context.Context, c cola.Caller, search cola.SavedSearch, added *cola.Destination, to AlertDestinations, key string,
) (created CreatedAlert, err error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return created, fmt.Errorf("create saved search UUID: %w", err)
	}
	once := idempotencyOf(c, key, search)
	search.UUID = id.String()
	destinations, err := s.sharedDestinations(ctx, c.Account, search.UUID, to.Shared)
	if err != nil {
		return created, err
	}
	shared, secret := destinations, ""
	if added != nil {
		if !to.AllSearches {
			added.SavedSearch = cola.Some(search.UUID)
		}
		n, newSecret, err := s.newDestination(ctx, c.Account, *added)
		if err != nil {
			return created, err
		}
		destinations, secret = append(destinations, n), newSecret
	}
	if len(destinations) > 0 {
		once.Fingerprint = to.fingerprint(once.Fingerprint)
	}
	if created.CreatedSavedSearch, err = s.saveSearch(ctx, c, search, once, destinations); err != nil {
		return CreatedAlert{}, err
	}
	if created.Repeated {
		return created, nil
	}
	for _, n := range shared {
		created.Shared = append(created.Shared, cola.Destination{
			UUID: n.UUID, Kind: n.Kind, Address: cola.Some(n.Address), SavedSearch: cola.Some(n.SavedSearch), State: n.State,
		})
	}
	if added != nil {
		n := destinations[len(destinations)-1]
		added.UUID, added.State = n.UUID, n.State
		created.Added = withSecret(store.Destination{Destination: *added}, secret)
	}
	return created, nil
}

// normalize returns the destination for Address, or nil if Address is empty. It infers the kind
// from the form of the address.
func (to AlertDestinations) normalize(rules cola.DestinationRules) (*cola.Destination, error) {
	address := strings.TrimSpace(to.Address)
	if address == "" {
		return nil, nil
	}
	kind := cola.KindWebhook
	if strings.Contains(address, "@") && !strings.Contains(address, "://") {
		kind = cola.KindEmail
	}
	d, err := cola.DestinationParams{Kind: kind, Address: address}.Normalize(rules)
	if err == nil {
		return &d, nil
	}
	var problems cola.Problems
	for _, messages := range problemsOf(err) {
		for _, m := range messages {
			problems.Add(addressParam, "%s", m)
		}
	}
	return nil, problems.Err()
}

// fingerprint returns the fingerprint of a request with these destinations. of is the
// fingerprint of the search itself.
func (to AlertDestinations) fingerprint(of [32]byte) [32]byte {
	content, _ := json.Marshal(to) // strings and a bool
	return sha256.Sum256(append(of[:], content...))
}

// sharedDestinations returns destinations for a new search, with the addresses of existing
// destinations.
func (s *Service) sharedDestinations(
	ctx context.Context, account cola.AccountID, search string, uuids []string,
) (all []store.NewDestination, err error) {
	if len(uuids) == 0 {
		return nil, nil
	}
	var existing []store.Destination
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		existing, _, err = s.store.Destinations(ctx, account, store.Slice{Limit: cola.MaxDestinations + 1})
		return err
	})
	if err != nil {
		return nil, storeError(err, "list destinations")
	}
	var problems cola.Problems
	for _, id := range slices.Compact(slices.Sorted(slices.Values(uuids))) {
		i := slices.IndexFunc(existing, func(d store.Destination) bool { return d.UUID == id })
		switch {
		case i < 0:
			problems.Add(sharedParam, "Your account has no destination with the ID %s.", cola.Quoted(id))
			continue
		case existing[i].State != cola.DestinationActive || s.sends.Unserved(existing[i].Kind, existing[i].Address.V) != "":
			problems.Add(sharedParam, "%s is not active.", cola.Quoted(existing[i].Address.V))
			continue
		}
		n, err := s.shareDestination(ctx, account, existing[i], search)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, problems.Err()
}

// shareDestination returns a destination for a search, with the address of an existing destination.
// The owner of an email address agrees to each search's alerts separately, and unsubscribes from
// them separately.
func (s *Service) shareDestination(
	ctx context.Context, account cola.AccountID, of store.Destination, search string,
) (store.NewDestination, error) {
	d := cola.Destination{Kind: of.Kind, Address: of.Address, SavedSearch: cola.Some(search)}
	n, _, err := s.newDestination(ctx, account, d)
	if err != nil || of.Kind != cola.KindWebhook || of.VerifiedAt.IsZero() {
		return n, err
	}
	secret, err := s.vault.Open(vault.Secret, of.UUID, of.Secrets.Current)
	if err != nil {
		return n, fmt.Errorf("read the secret of destination %s: %w", of.UUID, err)
	}
	n.State, n.Secret, n.Challenge, n.Confirm = cola.DestinationActive, s.vault.Seal(vault.Secret, n.UUID, secret), "", nil
	return n, nil
}

// joinProblems merges two validation errors, either of which may be nil. If a is another kind of
// error, it returns a.
func joinProblems(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil || cola.CodeOf(a) != cola.CodeValidation:
		return a
	}
	problems := problemsOf(a)
	problems.Merge(problemsOf(b))
	return problems.Err()
}

// problemsOf returns the problems of a validation error.
func problemsOf(err error) (problems cola.Problems) {
	if refusal, ok := err.(*cola.Error); ok {
		for name, messages := range refusal.Details {
			for _, m := range messages.([]string) {
				problems.Add(name, "%s", m)
			}
		}
	}
	return problems
}
