package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// credentialNames are the names of an account's keys and apps.
type credentialNames struct {
	keys  []store.Key
	links []store.Link
	names map[cola.Credential]string
}

func (s *Service) credentialNames(ctx context.Context, account cola.AccountID) (n credentialNames, err error) {
	if n.keys, err = s.store.Keys(ctx, account); err != nil {
		return n, err
	}
	n.links, err = s.store.Links(ctx, account)
	n.names = make(map[cola.Credential]string, len(n.keys)+len(n.links))
	for _, k := range n.keys {
		n.names[keyCredential(k)] = k.Name
	}
	for _, l := range n.links {
		n.names[linkCredential(l)] = l.App.Name
	}
	return n, err
}

func keyCredential(k store.Key) cola.Credential {
	return cola.Credential{Kind: cola.CredentialKey, ID: k.ID}
}

func linkCredential(l store.Link) cola.Credential {
	return cola.Credential{Kind: cola.CredentialLink, ID: l.ID}
}

// name returns the name of a key or app, or a placeholder if it was deleted. The name is empty for
// browsers.
func (n credentialNames) name(c cola.Credential) string {
	name, ok := n.names[c]
	switch {
	case ok || c.Kind == cola.CredentialSignIn:
		return name
	case c.Kind == cola.CredentialLink:
		return fmt.Sprintf("removed app (%d)", c.ID)
	}
	return fmt.Sprintf("removed key (%d)", c.ID)
}

// since returns the keys and apps that were used after t.
func (n credentialNames) since(t time.Time) (sources []RequestSource) {
	for _, k := range n.keys {
		if k.LastUsedAt.After(t) {
			sources = append(sources, RequestSource{keyCredential(k), k.Name})
		}
	}
	for _, l := range n.links {
		if l.LastUsedAt.After(t) {
			sources = append(sources, RequestSource{linkCredential(l), l.App.Name})
		}
	}
	return sources
}
