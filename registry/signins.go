package registry

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// SignIn is a browser that the account holder has signed in with.
type SignIn struct {
	ID         int64
	Via        string // URL of the issuer; empty: a link
	Browser    string // what the browser says it is; may be empty
	CreatedAt  time.Time
	LastUsedAt time.Time // zero when never; may lag by a minute
	ExpiresAt  time.Time
	Current    bool // the request came by it
}

// SignIns returns the sign-ins of the caller's account that hold, newest first.
func (s *Service) SignIns(ctx context.Context, c cola.Caller) ([]SignIn, cola.QuotaState, error) {
	return held(ctx, s, c, "list sign-ins", func(ctx context.Context, _ cola.QuotaState) ([]SignIn, error) {
		signIns, err := s.store.SignIns(ctx, c.Account)
		shown := make([]SignIn, len(signIns))
		for i, n := range signIns {
			shown[i] = SignIn{
				ID: n.ID, Via: n.Via, Browser: n.Browser, CreatedAt: n.CreatedAt, LastUsedAt: n.LastUsedAt, ExpiresAt: n.ExpiresAt,
				Current: c.Credential == cola.Credential{Kind: cola.CredentialSignIn, ID: n.ID},
			}
		}
		return shown, err
	})
}

// EndSignIn signs a browser of the caller's account out, from its next request on; to end the one that asks is to sign out. Ending twice is no
// error. It fails with CodeNotFound also for another account's. CodeUnavailable may leave unknown whether it was done.
func (s *Service) EndSignIn(ctx context.Context, c cola.Caller, id int64) (cola.QuotaState, error) {
	state, err := s.manage(ctx, c)
	if err != nil {
		return state, err
	}
	missing := cola.Errorf(cola.CodeNotFound, "Your account has no sign-in with the id %d. The list of sign-ins shows those that hold.", id)
	return state, s.change(ctx, "end sign-in", maybeSignedOut, missing, func(ctx context.Context) error {
		return s.store.EndSignIn(ctx, c.Account, id)
	})
}

// EndOtherSignIns signs every browser of the caller's account out but the one that asks, and returns how many those were. CodeUnavailable may
// leave unknown whether it was done.
func (s *Service) EndOtherSignIns(ctx context.Context, c cola.Caller) (int, cola.QuotaState, error) {
	state, err := s.manage(ctx, c)
	if err != nil {
		return 0, state, err
	}
	ended := 0
	err = s.change(ctx, "end other sign-ins", maybeSignedOut, nil, func(ctx context.Context) (err error) {
		ended, err = s.store.EndOtherSignIns(ctx, c.Account, c.Credential.ID)
		return err
	})
	return ended, state, err
}
