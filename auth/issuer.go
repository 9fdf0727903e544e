package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/colaregistry/colaregistry/cola"
)

// issuer verifies tokens from one issuer with the keys that it publishes.
//
// go-oidc parses and verifies the tokens, but its RemoteKeySet is not used, because it:
//
//   - fetches keys for every token that no cached key verifies, so anyone could flood an issuer;
//   - never fetches them otherwise, so a withdrawn key would stay valid;
//   - does not bind keys to their use and algorithm.
type issuer struct {
	url  string // exactly as in its tokens
	keys cachedDocument[keySet]
}

func newIssuer(url string, client *http.Client, now cola.Clock, log *slog.Logger, m *tokenMetrics) *issuer {
	return &issuer{url: url, keys: cachedDocument[keySet]{
		name: "keys", issuer: url, now: now, log: log,
		load: func(ctx context.Context) (keySet, error) {
			keys, err := fetchKeys(ctx, client, url)
			m.fetched(err)
			if err == nil && len(keys) == 0 {
				log.Warn("issuer publishes no usable signing key", "issuer", url)
			}
			return keys, err
		},
	}}
}

// verify calls read with the payload of a token that the issuer has signed. It fails with read's
// error, with CodeUnauthorized, with CodeUnavailable if the keys have to be fetched and can't be,
// or with the context's error. Unknown keys cause at most one fetch every 30 seconds.
func (i *issuer) verify(ctx context.Context, t accessToken, read func(payload []byte) error) error {
	keys := &singleTokenKeySet{issuer: i, token: t, read: read}
	_, err := oidc.NewVerifier(i.url, keys, &oidc.Config{
		SupportedSigningAlgs: []string{string(t.alg)},
		SkipClientIDCheck:    true, SkipExpiryCheck: true, // readTokenClaims checks audience and times by exact claim names
	}).Verify(ctx, t.raw)
	switch {
	case keys.err != nil:
		return keys.err
	case err != nil: // its message may contain parts of the token
		return unauthorized("The access token's header or payload cannot be read.")
	}
	return nil
}

// singleTokenKeySet verifies one token. It passes the verified payload to read, and keeps the
// original error, which the verifier would convert to a string.
type singleTokenKeySet struct {
	issuer *issuer
	token  accessToken
	read   func(payload []byte) error
	err    error
}

// VerifySignature implements oidc.KeySet.
func (s *singleTokenKeySet) VerifySignature(ctx context.Context, _ string) ([]byte, error) {
	payload, err := s.issuer.verifySignature(ctx, s.token)
	if err == nil {
		err = s.read(payload)
	}
	s.err = err
	return payload, err
}

func (i *issuer) verifySignature(ctx context.Context, t accessToken) ([]byte, error) {
	set, err := i.keys.get(ctx)
	if err != nil {
		return nil, i.unavailable(ctx)
	}
	payload, err := set.value.verify(ctx, t)
	if errors.Is(err, errNoKey) {
		newer, failed := i.keys.fetchNewer(ctx, set)
		if failed != nil {
			return nil, i.unavailable(ctx)
		}
		if newer != set {
			payload, err = newer.value.verify(ctx, t)
		}
	}
	switch {
	case errors.Is(err, errNoKey):
		return nil, unauthorized("The access token is not signed with a key that its issuer currently publishes.")
	case errors.Is(err, errAlgorithm):
		return nil, unauthorized("The access token's algorithm (alg) does not match its key (kid).")
	case err != nil:
		return nil, unauthorized("The access token's signature is invalid: the token was truncated or modified, or " +
			"is not from its issuer.")
	}
	return payload, nil
}

// check fetches the keys now.
func (i *issuer) check(ctx context.Context) error {
	set, err := i.keys.refresh(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("issuer %s: %w", i.url, err)
	case len(set.value) == 0:
		return fmt.Errorf("issuer %s: it publishes no usable signing key", i.url)
	}
	return nil
}

// unavailable returns the error for a token that can't be verified now, or the context's error.
func (i *issuer) unavailable(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &cola.Error{
		Code: cola.CodeUnavailable,
		Message: "The issuer of the access token is unavailable right now. You were not charged. Try again in a " +
			"few seconds.",
		RetryAfter: i.keys.retryAfter(),
	}
}
