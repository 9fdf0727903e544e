package registry

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Tagged is a single record with its entity tag.
type Tagged[T any] struct {
	Value       T
	ETag        string // weak, with its quotes
	NotModified bool   // the caller has this version of the record; Value is zero
}

// lookup answers a single-record operation: it finds the record, checks whether the caller has it
// already, and charges one unit of the meter. A record that is missing, or that the caller has, is
// free. Anyone may send * as If-None-Match, which is no proof of having the record, so it is
// ignored where the record is metered.
func lookup[T any](ctx context.Context, s *Service, c cola.Caller, m cola.Meter, ifNoneMatch string, find func() (T,
	error)) (Tagged[T], cola.QuotaState, error) {
	var none Tagged[T]
	if state, err := s.begin(c); err != nil {
		return none, state, err
	}
	value, err := find()
	if cola.CodeOf(err) == cola.CodeNotFound {
		state, err := s.Refuse(ctx, c, err)
		return none, state, err
	}
	if err != nil {
		return none, cola.QuotaState{}, err
	}
	tag, err := s.entityTag(c, value)
	if err != nil {
		return none, cola.QuotaState{}, err
	}
	if matches(ifNoneMatch, tag, m == cola.MeterNone) {
		state, err := s.Admit(ctx, c)
		return Tagged[T]{ETag: tag, NotModified: true}, state, err
	}
	state, err := s.charge(ctx, c, m, 1)
	if err != nil {
		return none, state, err
	}
	return Tagged[T]{Value: value, ETag: tag}, state, nil
}

// entityTag returns the entity tag of a record for an account. It proves that the account has read
// the record, so it cannot be computed from the record, most of which is public: it is a MAC with
// the database's random ID, which no response shows and all processes share. It is weak because one
// record is sent in several encodings.
func (s *Service) entityTag(c cola.Caller, value any) (string, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("entity tag: %w", err)
	}
	mac := hmac.New(sha256.New, []byte("entity tag "+s.store.ID()))
	fmt.Fprintf(mac, "%d ", c.Account)
	mac.Write(b)
	return `W/"` + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:12]) + `"`, nil
}

// matches reports whether If-None-Match holds a tag, compared weakly (RFC 9110, section 13.1.2). *
// matches only if anyTag is true.
func matches(ifNoneMatch, tag string, anyTag bool) bool {
	for t := range strings.SplitSeq(ifNoneMatch, ",") {
		t = strings.TrimSpace(t)
		if t == "*" && anyTag || t != "" && strings.TrimPrefix(t, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
