package registry

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// MaxKeys limits an account's active API keys.
const MaxKeys = 100

const (
	maxKeyName  = 100 // characters
	maxKeyYears = 10  // longest lifetime of a key that expires
	// maxKeysPerDay limits how many keys an account can create in 24 hours, because expired keys
	// are kept (usage is reported by key) and managing keys does not count toward the rate limit.
	maxKeysPerDay = 2 * MaxKeys
)

// Key is an API key as its account holder sees it.
type Key struct {
	ID         int64
	Name       string
	Prefix     string // first characters of the key, to recognize it by
	LastFour   string
	CreatedAt  time.Time
	LastUsedAt time.Time // zero if never used; may lag by a minute
	ExpiresAt  time.Time // zero if it never expires
	RevokedAt  time.Time // zero if not revoked
	Requests   int       // requests this month
	store.KeyAccess
}

// Scope returns the key's access level: one of KeyScopes.
func (k Key) Scope() string {
	if slices.Contains(k.Scopes, cola.ScopeWriteSavedSearches) {
		return string(cola.ScopeWriteSavedSearches)
	}
	return ReadOnly
}

// IsActive reports whether the key is valid at the given time.
func (k Key) IsActive(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(now))
}

// NewKey is a key with its secret, which is shown once.
type NewKey struct {
	Key
	Secret string
}

// ReadOnly is the access level of a key without scopes.
const ReadOnly = "read"

// KeyScopes lists the access levels that a key can have. Every key can read.
func KeyScopes() []string { return []string{string(cola.ScopeWriteSavedSearches), ReadOnly} }

// KeyParams are the parameters of a new or changed key.
type KeyParams struct {
	cola.Decoded
	Name     string    // 1 to 100 characters
	Scope    string    // one of KeyScopes; for a new key, the first one is the default
	Networks string    // IP addresses and CIDR blocks, separated by white space, commas or semicolons; empty for any
	Expires  cola.Date // last valid day (UTC); zero if the key never expires; only for a new key
}

// Normalize returns a new key's name, access rights and expiry. It fails with a validation error
// that lists all problems.
func (p KeyParams) Normalize(now time.Time) (key store.Key, err error) {
	if p.Scope == "" {
		p.Scope = KeyScopes()[0]
	}
	key, problems := p.normalizeChange()
	today := cola.DateOf(now)
	latest := cola.DateOf(today.Time().AddDate(maxKeyYears, 0, 0))
	switch {
	case p.Expires == 0:
	case p.Expires <= today:
		problems.Add("expires", "%s is too early; the date must be after today, %s (UTC). Leave it empty for a key that never expires.",
			p.Expires, today)
	case p.Expires > latest:
		problems.Add("expires", "%s is too late; the latest allowed date is %s. Leave it empty for a key that never expires.",
			p.Expires, latest)
	default:
		key.ExpiresAt = p.Expires.AddDays(1).Time()
	}
	return key, problems.Err()
}

// normalizeChange returns a key's name and access rights, and all problems with them.
func (p KeyParams) normalizeChange() (key store.Key, problems cola.Problems) {
	problems.Merge(p.Problems)
	key.Name = problems.Legible("name", p.Name, maxKeyName, "Enter a name of 1 to 100 characters.")
	scope := problems.Choice("scope", p.Scope, KeyScopes())
	if scope == "" && len(problems["scope"]) == 0 {
		problems.Add("scope", "Choose what the key can do.")
	}
	if scope != "" && scope != ReadOnly {
		key.Scopes = []cola.Scope{cola.Scope(scope)}
	}
	key.Networks = parseNetworks(&problems, p.Networks)
	return key, problems
}

// parseNetworks parses a list of networks and drops duplicates.
func parseNetworks(problems *cola.Problems, text string) (networks cola.Networks) {
	items := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) })
	if len(items) > cola.MaxNetworks {
		problems.Add("networks", "A key can have at most %d networks, not %d.", cola.MaxNetworks, len(items))
		return nil
	}
	for _, item := range items {
		block, err := cola.ParseNetwork(item)
		switch {
		case err != nil:
			problems.Add("networks", "%s: %v. Use an IP address such as 203.0.113.7, or a CIDR block such as 203.0.113.0/24.",
				cola.Quoted(item), err)
		case !slices.Contains(networks, block):
			networks = append(networks, block)
		}
	}
	return networks
}

// Keys returns the API keys of the caller's account, including revoked and expired ones, newest
// first.
func (s *Service) Keys(ctx context.Context, c cola.Caller) ([]Key, cola.QuotaState, error) {
	return readManaged(ctx, s, c, "list keys", func(ctx context.Context, state cola.QuotaState) ([]Key, error) {
		keys, err := s.store.Keys(ctx, c.Account)
		if err != nil {
			return nil, err
		}
		requests, err := s.requestsByCredential(ctx, c.Account, state.Period)
		if err != nil {
			return nil, err
		}
		list := make([]Key, len(keys))
		for i, k := range keys {
			list[i] = keyOf(k)
			list[i].Requests = requests[cola.Credential{Kind: cola.CredentialKey, ID: k.ID}]
		}
		slices.Reverse(list) // the store sorts by ID
		return list, nil
	})
}

func keyOf(k store.Key) Key {
	return Key{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, LastFour: k.LastFour,
		CreatedAt: k.CreatedAt, LastUsedAt: k.LastUsedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
		KeyAccess: k.KeyAccess,
	}
}

// CreateKey creates an API key for the caller's account and returns it with its secret, which is
// not stored. It fails with a validation error, or with CodeKeyLimit if the account has MaxKeys
// valid keys or has created too many in the last 24 hours. After CodeUnavailable the key may exist,
// but its secret is lost.
func (s *Service) CreateKey(ctx context.Context, c cola.Caller, p KeyParams) (NewKey, cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		return NewKey{}, state, err
	}
	params, err := p.Normalize(s.now())
	if err != nil {
		return NewKey{}, state, err
	}
	created, err := s.newKey(ctx, "create key", nil,
		func(ctx context.Context, key store.Key, hash store.KeyHash) (store.Key, error) {
			if _, err := s.checkDailyKeyLimit(ctx, c.Account); err != nil {
				return store.Key{}, err
			}
			key.AccountID, key.Name, key.ExpiresAt, key.KeyAccess = c.Account, params.Name, params.ExpiresAt, params.KeyAccess
			return s.store.CreateKey(ctx, key, hash, MaxKeys)
		})
	s.recordKeyEvent(ctx, security.NewKey, c, created.ID, err, accessAttrs(created.KeyAccess)...)
	return created, state, err
}

// ChangeKey changes the name and access rights of one of the caller's keys, effective from the next
// request. The key itself stays the same. ChangeKey fails with a validation error, with
// CodeNotFound if the key is missing or belongs to another account, and with CodeNotActive for an
// invalid key. After CodeUnavailable the outcome may be unknown.
func (s *Service) ChangeKey(ctx context.Context, c cola.Caller, id int64, p KeyParams) (cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		return state, err
	}
	params, problems := p.normalizeChange()
	if err := problems.Err(); err != nil {
		return state, err
	}
	err = s.changeManaged(ctx, "change key", changeKeyUnconfirmed, keyNotFound(id), func(ctx context.Context) error {
		return keyError(s.store.ChangeKey(ctx, c.Account, id, params.Name, params.KeyAccess))
	})
	s.recordKeyEvent(ctx, security.ChangedKey, c, id, err, accessAttrs(params.KeyAccess)...)
	return state, err
}

// accessAttrs describes a key's access rights for a security event.
func accessAttrs(a store.KeyAccess) []slog.Attr {
	return []slog.Attr{slog.Any("scopes", a.Scopes), slog.String("networks", a.Networks.String())}
}

// recordKeyEvent records a change to one of the caller's keys, unless the change failed.
func (s *Service) recordKeyEvent(
	ctx context.Context, k security.Kind, c cola.Caller, id int64, failed error, more ...slog.Attr,
) {
	if failed == nil {
		s.events.Record(ctx, k, c.Account, cola.Credential{Kind: cola.CredentialKey, ID: id}, more...)
	}
}

// checkDailyKeyLimit returns an account's keys. It fails with CodeKeyLimit if the account has
// created maxKeysPerDay keys in the last 24 hours.
func (s *Service) checkDailyKeyLimit(ctx context.Context, account cola.AccountID) ([]store.Key, error) {
	keys, err := s.store.Keys(ctx, account)
	since := s.now().Add(-24 * time.Hour)
	if n := len(keys); n >= maxKeysPerDay && keys[n-maxKeysPerDay].CreatedAt.After(since) {
		refusal := cola.Errorf(cola.CodeKeyLimit,
			"The account has reached the limit of %d new API keys in 24 hours. Try again tomorrow.", maxKeysPerDay)
		refusal.Details = map[string]any{"limit": maxKeysPerDay}
		return nil, refusal
	}
	return keys, err
}

// newKey generates a secret, stores its key, and returns both.
func (s *Service) newKey(ctx context.Context, operation string, missing error,
	save func(ctx context.Context, key store.Key, hash store.KeyHash) (store.Key, error),
) (NewKey, error) {
	secret := auth.NewSecret()
	var created store.Key
	err := s.changeManaged(ctx, operation, createKeyUnconfirmed, missing, func(ctx context.Context) (err error) {
		created, err = save(ctx, secret.Key(), secret.Hash())
		return keyError(err)
	})
	if err != nil {
		return NewKey{}, err
	}
	return NewKey{Key: keyOf(created), Secret: secret.Reveal()}, nil
}

// createKeyUnconfirmed is the message for a new key whose creation has an unknown outcome.
const createKeyUnconfirmed = "The key may not have been created. Check the list of keys in a few seconds. If a " +
	"new key is listed, its secret is lost: revoke that key and create another."

// keyError returns the public error for a store error, or the store error if there is none.
func keyError(err error) error {
	switch {
	case errors.Is(err, store.ErrLimit):
		return keyLimitError()
	case errors.Is(err, store.ErrNotActive):
		return cola.Errorf(cola.CodeNotActive, "This key was revoked or has expired. Create a new key instead.")
	}
	return err
}

func keyLimitError() error {
	refusal := cola.Errorf(cola.CodeKeyLimit,
		"The account has reached the maximum of %d active API keys. Revoke one first.",
		MaxKeys)
	refusal.Details = map[string]any{"limit": MaxKeys}
	return refusal
}

// RevokeKey revokes one of the caller's keys, effective from the next request. Revoking twice is
// not an error. RevokeKey fails with CodeNotFound if the key is missing or belongs to another
// account. After CodeUnavailable the outcome may be unknown.
func (s *Service) RevokeKey(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		return state, err
	}
	err = s.changeManaged(ctx, "revoke key", revokeKeyUnconfirmed, keyNotFound(id), func(ctx context.Context) error {
		return s.store.RevokeKey(ctx, c.Account, id)
	})
	s.recordKeyEvent(ctx, security.RevokedKey, c, id, err)
	return state, err
}

func keyNotFound(id int64) error {
	return cola.Errorf(cola.CodeNotFound, "Your account has no API key with the ID %d.", id)
}

// requestsByCredential returns how many requests an account has made in a month with each
// credential.
func (s *Service) requestsByCredential(
	ctx context.Context, account cola.AccountID, month cola.Period,
) (map[cola.Credential]int, error) {
	first, last := periodDays(month)
	days, err := s.store.DailyUsage(ctx, account, first, last)
	requests := map[cola.Credential]int{}
	for _, d := range days {
		requests[d.Credential] += d.Requests
	}
	return requests, err
}

// periodDays returns the first and the last day of a month.
func periodDays(month cola.Period) (first, last cola.Date) {
	return cola.DateOf(month.Start()), cola.DateOf(month.End()).AddDays(-1)
}
