package auth

import (
	"context"
	"slices"
)

// catchUp merges the notices that other requests of the browser have stored since this one read the
// session. gone is true when one of them has ended the session, by signing in or out: what this
// request changed belongs to nobody then. Another request can still come between this and the
// write, but not during the seconds that an issuer may take to answer.
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

// merged returns the session after one request has changed was to ours, and others have changed it
// to theirs: with the notices that either has added, without those that either has taken. The
// sign-in of a token never changes.
func merged(was, ours, theirs kept) kept {
	m := kept{SignIn: ours.SignIn, Seen: ours.Seen}
	for _, n := range theirs.Notices {
		if slices.Contains(ours.Notices, n) || !slices.Contains(was.Notices, n) {
			m.put(n.Key, n.Value)
		}
	}
	for _, n := range ours.Notices {
		if !slices.Contains(was.Notices, n) {
			m.put(n.Key, n.Value)
		}
	}
	return m
}

// clone returns a copy that shares no notices.
func (k *kept) clone() kept {
	c := *k
	c.Notices = slices.Clone(k.Notices)
	return c
}
