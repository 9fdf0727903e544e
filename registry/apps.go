package registry

import (
	"context"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Connection is a connected app as the account holder sees it.
type Connection struct {
	ID         int64
	App        string // name of the app
	ClientID   string
	Issuer     string
	Scopes     []cola.Scope // scopes in its latest token, minus those not allowed for the app; reading needs none
	CreatedAt  time.Time    // when it was first used
	LastUsedAt time.Time    // zero if never used; may lag by a minute
	RevokedAt  time.Time    // zero if not revoked
	Disabled   bool         // the operator has disabled the app
	Requests   int          // requests this month
}

// IsActive reports whether the app's requests are accepted.
func (n Connection) IsActive() bool { return n.RevokedAt.IsZero() && !n.Disabled }

// Connections returns the connected apps of the caller's account, including revoked ones, newest
// first.
func (s *Service) Connections(ctx context.Context, c cola.Caller) ([]Connection, cola.QuotaState, error) {
	return readManaged(ctx, s, c, "list connected apps",
		func(ctx context.Context, state cola.QuotaState) ([]Connection, error) {
			links, err := s.store.Links(ctx, c.Account)
			if err != nil {
				return nil, err
			}
			requests, err := s.requestsByCredential(ctx, c.Account, state.Period)
			if err != nil {
				return nil, err
			}
			list := make([]Connection, len(links))
			for i, l := range links {
				list[i] = connectionOf(l)
				list[i].Requests = requests[cola.Credential{Kind: cola.CredentialLink, ID: l.ID}]
			}
			slices.Reverse(list) // the store sorts by ID
			return list, nil
		})
}

func connectionOf(l store.Link) Connection {
	return Connection{
		ID: l.ID, App: l.App.Name, ClientID: l.App.ClientID, Issuer: l.App.Issuer, Scopes: l.Effective(),
		CreatedAt: l.CreatedAt, LastUsedAt: l.LastUsedAt, RevokedAt: l.RevokedAt, Disabled: !l.App.DisabledAt.IsZero(),
	}
}

// RevokeConnection revokes an app's access to the caller's account, effective from the app's next
// request. Revoking twice is not an error. RevokeConnection fails with CodeNotFound if the
// connection is missing or belongs to another account. After CodeUnavailable the outcome may be
// unknown.
func (s *Service) RevokeConnection(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		return state, err
	}
	return state, s.changeManaged(ctx, "revoke connection", revokeAppUnconfirmed, connectionNotFound(id),
		func(ctx context.Context) error {
			return s.store.RevokeLink(ctx, c.Account, id)
		})
}

// RestoreConnection restores a revoked app's access. It fails with CodeNotActive if the operator
// has disabled the app, and with CodeNotFound if the connection is missing or belongs to another
// account. After CodeUnavailable the outcome may be unknown.
func (s *Service) RestoreConnection(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error) {
	state, err := s.authorizeHolder(ctx, c)
	if err != nil {
		return state, err
	}
	return state, s.changeManaged(ctx, "restore connection", restoreUnconfirmed, connectionNotFound(id),
		func(ctx context.Context) error {
			links, err := s.store.Links(ctx, c.Account)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(links, func(l store.Link) bool { return l.ID == id && !l.App.DisabledAt.IsZero() }) {
				return cola.Errorf(cola.CodeNotActive,
					"The operator has disabled this app for all accounts. Contact the operator.")
			}
			return s.store.RestoreLink(ctx, c.Account, id)
		})
}

func connectionNotFound(id int64) error {
	return cola.Errorf(cola.CodeNotFound, "Your account has no connected app with the ID %d.", id)
}
