package registry

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// KeyRotationParams are the parameters of RotateKey.
type KeyRotationParams struct {
	cola.Decoded
	Overlap string // how long the old key stays valid: one of KeyOverlaps
}

// keyOverlap is an option for how long an old key stays valid.
type keyOverlap struct {
	words    string
	duration time.Duration
}

func keyOverlaps() []keyOverlap {
	const day = 24 * time.Hour
	return []keyOverlap{{"none", 0}, {"1 hour", time.Hour}, {"1 day", day}, {"7 days", 7 * day}, {"30 days", 30 * day}}
}

// KeyOverlaps lists the options for how long an old key stays valid.
func KeyOverlaps() []string {
	var words []string
	for _, o := range keyOverlaps() {
		words = append(words, o.words)
	}
	return words
}

// normalize returns how long the old key stays valid, or a validation error.
func (p KeyRotationParams) normalize() (overlap time.Duration, err error) {
	var problems cola.Problems
	problems.Merge(p.Problems)
	word := problems.Choice("overlap", p.Overlap, KeyOverlaps())
	if word == "" && len(problems["overlap"]) == 0 {
		problems.Add("overlap", "Choose how long the old key stays valid: %s.",
			strings.Join(KeyOverlaps(), ", "))
	}
	for _, o := range keyOverlaps() {
		if o.words == word {
			overlap = o.duration
		}
	}
	return overlap, problems.Err()
}

// RotateKey replaces one of the caller's keys with a new one. The old key stays valid for the
// overlap, but not beyond its own expiry. The new key has the same name and access rights and, if
// the old one expires, the same lifetime, starting now. RotateKey fails with CodeNotFound if the
// key is missing or belongs to another account, with CodeNotActive for an invalid key, and with
// CodeKeyLimit if the account has MaxKeys other valid keys or has created too many in the last 24
// hours. Of two concurrent rotations without an overlap, one fails with CodeNotActive; with an
// overlap, both create a key, and the old one expires at the earlier time. After CodeUnavailable
// the outcome may be unknown.
func (s *Service) RotateKey(
	ctx context.Context, c cola.Caller, id int64, p KeyRotationParams,
) (NewKey, cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		return NewKey{}, state, err
	}
	overlap, err := p.normalize()
	if err != nil {
		return NewKey{}, state, err
	}
	created, err := s.newKey(ctx, "rotate key", keyNotFound(id),
		func(ctx context.Context, key store.Key, hash store.KeyHash) (store.Key, error) {
			keys, err := s.checkDailyKeyLimit(ctx, c.Account)
			if err != nil {
				return store.Key{}, err
			}
			i := slices.IndexFunc(keys, func(k store.Key) bool { return k.ID == id })
			if i < 0 {
				return store.Key{}, store.ErrNotFound
			}
			now := s.now()
			until := now.Add(overlap)
			if overlap == 0 {
				until = keys[i].CreatedAt // in the past even by the database's clock
			}
			key.ExpiresAt = renewedExpiry(keyWithLifetime(keys, i), now)
			return s.store.ReplaceKey(ctx, c.Account, id, key, hash, until, MaxKeys)
		})
	s.recordKeyEvent(ctx, security.NewKey, c, created.ID, err,
		append(accessAttrs(created.KeyAccess), slog.Int64("replaces", id))...)
	return created, state, err
}

// keyWithLifetime returns the key whose lifetime a rotation of keys[i] copies: keys[i] itself or,
// if that is only valid for the overlap of an earlier rotation, a later key with the same name.
// Keys are ordered by age. Keys are created to expire at the end of a day or never, so any other
// expiry is the end of an overlap.
func keyWithLifetime(keys []store.Key, i int) store.Key {
	hasOriginalExpiry := func(k store.Key) bool {
		return k.Name == keys[i].Name && (k.ExpiresAt.IsZero() || k.ExpiresAt.Equal(cola.DateOf(k.ExpiresAt).Time()))
	}
	if at := slices.IndexFunc(keys[i:], hasOriginalExpiry); at >= 0 {
		return keys[i+at]
	}
	return keys[i]
}

// renewedExpiry returns the expiry of a key created now with the lifetime of an old key; zero if it
// never expires. Lifetimes in whole days stay whole days.
func renewedExpiry(old store.Key, now time.Time) time.Time {
	if old.ExpiresAt.IsZero() {
		return time.Time{}
	}
	end := cola.DateOf(old.ExpiresAt)
	if old.ExpiresAt.Equal(end.Time()) {
		return cola.DateOf(now).AddDays(int(end - cola.DateOf(old.CreatedAt))).Time()
	}
	return now.Add(old.ExpiresAt.Sub(old.CreatedAt))
}
