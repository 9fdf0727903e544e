package auth

import (
	"context"
	"slices"
)

// catchUp merges the notices that other requests of the browser stored since this one read the
// session. gone is true if one of them ended the session by signing in or out; the changes of this
// request are then void. Another request can still intervene between catchUp and the write, but no
// longer during the seconds that an issuer takes to answer.
func (b *Browsers) catchUp(ctx context.Context, s *session) (gone bool, err error) {
	token := b.sessions.Token(ctx)
	if token == "" || token != s.token {
		return false, nil // the token is new
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

// merged is a three-way merge of a session that one request changed from was to ours, and others to
// theirs. It has the notices that either added, without those that either removed. The sign-in of a
// token never changes.
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

// clone returns a deep copy.
func (k *kept) clone() kept {
	c := *k
	c.Notices = slices.Clone(k.Notices)
	return c
}
