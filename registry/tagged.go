package registry

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Tagged is a single record with the entity tag of its JSON form.
type Tagged[T any] struct {
	Value       T
	ETag        string // weak, with its quotes
	NotModified bool   // the caller has this very record; Value is not to be sent
}

// lookup answers a single-record operation: find the record, see whether the caller has it already, charge one unit of the
// meter. A record that is not found, or that the caller has, is free.
func lookup[T any](ctx context.Context, s *Service, c cola.Caller, m cola.Meter, ifNoneMatch string, find func() (T, error)) (Tagged[T], cola.QuotaState, error) {
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
	tag, err := entityTag(value)
	if err != nil {
		return none, cola.QuotaState{}, err
	}
	if matches(ifNoneMatch, tag) {
		state, err := s.Admit(ctx, c)
		return Tagged[T]{ETag: tag, NotModified: true}, state, err
	}
	state, err := s.charge(ctx, c, m, 1)
	if err != nil {
		return none, state, err
	}
	return Tagged[T]{Value: value, ETag: tag}, state, nil
}

// entityTag is weak: the same record may be sent in several encodings.
func entityTag(value any) (string, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("entity tag: %w", err)
	}
	sum := sha256.Sum256(b)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`, nil
}

// matches compares as If-None-Match does (RFC 9110, 13.1.2): weakly, any of a list, or *.
func matches(ifNoneMatch, tag string) bool {
	for _, t := range strings.Split(ifNoneMatch, ",") {
		t = strings.TrimSpace(t)
		if t == "*" || (t != "" && strings.TrimPrefix(t, "W/") == strings.TrimPrefix(tag, "W/")) {
			return true
		}
	}
	return false
}
