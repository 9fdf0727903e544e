package auth

import (
	"context"
	"slices"
)

// catchUp brings a session up to what other requests of its browser have kept since this one read it, such as an attempt to sign in of another tab; gone
// tells that they have ended it, by signing in or out: what this request changed is then of nobody. Another request can
// still come between this and the write, which is as good as at once, but not while an issuer takes seconds to answer.
func (b *Browsers) catchUp(ctx context.Context, s *session) (gone bool, err error) {
	token := b.sessions.Token(ctx)
	if token == "" || token != s.token {
		return false, nil // nobody else knows it
	}
	data, found, err := sessionStore{b.store, b.now}.FindCtx(ctx, token)
	if err != nil || !found {
		return err == nil, err
	}
	_, values, err := sessionCodec{}.Decode(data)
	if err != nil {
		return false, err
	}
	stored, _ := values[keptName].(kept)
	stored.current(b.now())
	s.kept = merged(s.read, s.kept, stored)
	return false, nil
}

// merged returns what is kept when one request has made ours of was, and others theirs: what either has added, without what either has taken. Who is signed
// in does not change under one token.
func merged(was, ours, theirs kept) kept {
	m := kept{SignIn: ours.SignIn, Seen: ours.Seen}
	m.Attempts = mergedList(was.Attempts, ours.Attempts, theirs.Attempts, func(a, b attempt) bool { return a.State == b.State })
	m.Attempts = m.Attempts[max(0, len(m.Attempts)-mostAttempts):]
	for _, n := range mergedList(was.Notices, ours.Notices, theirs.Notices, func(a, b notice) bool { return a == b }) {
		m.put(n.Key, n.Value)
	}
	return m
}

func mergedList[T any](was, ours, theirs []T, same func(a, b T) bool) (m []T) {
	in := func(list []T, one T) bool {
		return slices.ContainsFunc(list, func(other T) bool { return same(one, other) })
	}
	for _, one := range theirs {
		if in(ours, one) || !in(was, one) {
			m = append(m, one)
		}
	}
	for _, one := range ours {
		if !in(was, one) && !in(m, one) {
			m = append(m, one)
		}
	}
	return m
}

// clone returns a copy that shares nothing that changes.
func (k *kept) clone() kept {
	c := *k
	c.Attempts, c.Notices = slices.Clone(k.Attempts), slices.Clone(k.Notices)
	return c
}
