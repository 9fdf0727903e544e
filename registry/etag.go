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
	NotModified bool   // the caller already has this version; Value is zero
}

// lookup serves a single-record operation: it finds the record, compares the caller's entity tag,
// and charges one unit to the meter. A missing or unmodified record is free. If-None-Match: * does
// not prove that the caller has the record, so it is ignored for metered records.
func lookup[T any](ctx context.Context, s *Service, c cola.Caller, m cola.Meter, ifNoneMatch string, find func() (T,
	error)) (Tagged[T], cola.QuotaState, error) {
	var none Tagged[T]
	if state, err := s.precheck(c); err != nil {
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
	found, err := tagged(s, c, value, ifNoneMatch, m == cola.MeterNone)
	if err != nil {
		return none, cola.QuotaState{}, err
	}
	units := 1
	if found.NotModified {
		m, units = cola.MeterNone, 0
	}
	state, err := s.charge(ctx, c, m, units)
	if err != nil {
		return none, state, err
	}
	return found, state, nil
}

// tagged returns a record with its entity tag, or only the tag if If-None-Match contains it; *
// matches only if anyTag is true.
func tagged[T any](s *Service, c cola.Caller, value T, ifNoneMatch string, anyTag bool) (Tagged[T], error) {
	tag, err := s.entityTag(c, value)
	if err != nil {
		return Tagged[T]{}, err
	}
	if etagMatches(ifNoneMatch, tag, anyTag) {
		return Tagged[T]{ETag: tag, NotModified: true}, nil
	}
	return Tagged[T]{Value: value, ETag: tag}, nil
}

// entityTag returns the entity tag of a record for an account. Sending it proves that the account
// has read the record. Most of the record is public, so the tag is a MAC keyed with the database's
// random ID, which is secret and shared by all processes. It is weak because a record has several
// encodings.
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

// etagMatches reports whether If-None-Match contains a tag, by weak comparison (RFC 9110, section
// 13.1.2). * matches only if anyTag is true.
func etagMatches(ifNoneMatch, tag string, anyTag bool) bool {
	for t := range strings.SplitSeq(ifNoneMatch, ",") {
		t = strings.TrimSpace(t)
		if t == "*" && anyTag || t != "" && strings.TrimPrefix(t, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
