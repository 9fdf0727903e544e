package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	refreshAfter = 15 * time.Minute // keys older than this are asked for again, while they go on to be used
	keepFor      = 24 * time.Hour   // keys older than this are used no more
	// askEvery is the least time between two attempts to get keys, so that tokens of made-up keys make no flood of requests;
	// askEveryWithout is the same while there are no keys, so nobody can be let in.
	askEvery        = 30 * time.Second
	askEveryWithout = 5 * time.Second
)

// issuer proves tokens of one issuer with the keys it publishes. It keeps them, and asks for them by itself when it is used;
// nothing runs while it is not.
type issuer struct {
	url     string // as its tokens name it
	fetch   func(context.Context) ([]signingKey, error)
	now     cola.Clock
	log     *slog.Logger
	metrics *tokenMetrics

	mu      sync.Mutex
	set     *keySet   // nil: none yet
	tried   time.Time // when keys were last asked for
	failing bool      // that attempt failed
	running *fetching // nil: keys are not being asked for
}

// fetching is an attempt to get keys that all wait for who need it.
type fetching struct {
	done chan struct{} // closed when the others are set
	set  *keySet
	err  error
}

// verify has the payload of a token read that the issuer has signed, and that of no other. It fails with what read fails with, with
// an unauthorized error, with an unavailable one when the issuer would have to be asked and cannot be, and with the context's. A
// key that is not known is asked for, at most once in 30 seconds.
func (i *issuer) verify(ctx context.Context, t accessToken, read func(payload []byte) error) error {
	proof := &proof{issuer: i, token: t, read: read}
	_, err := oidc.NewVerifier(i.url, proof, &oidc.Config{
		SupportedSigningAlgs: []string{string(t.alg)},
		SkipClientIDCheck:    true, SkipExpiryCheck: true, // readClaims checks the audience and the times, with names in their exact case
	}).Verify(ctx, t.raw)
	switch {
	case proof.err != nil:
		return proof.err
	case err != nil: // what it says may hold parts of the token
		return unauthorized("The access token's header or claims cannot be read.")
	}
	return nil
}

// proof is the key set for one token. It reads what is proven, and keeps the error, which the verifier would turn into text.
type proof struct {
	issuer *issuer
	token  accessToken
	read   func(payload []byte) error
	err    error
}

// VerifySignature implements oidc.KeySet.
func (p *proof) VerifySignature(ctx context.Context, _ string) ([]byte, error) {
	payload, err := p.issuer.prove(ctx, p.token)
	if err == nil {
		err = p.read(payload)
	}
	p.err = err
	return payload, err
}

func (i *issuer) prove(ctx context.Context, t accessToken) ([]byte, error) {
	set, err := i.keys(ctx)
	if err != nil {
		return nil, err
	}
	payload, err := set.verify(t)
	if errors.Is(err, errNoKey) {
		newer, failed := i.newer(ctx, set)
		if failed != nil {
			return nil, failed
		}
		if newer != set {
			payload, err = newer.verify(t)
		}
	}
	switch {
	case errors.Is(err, errNoKey):
		return nil, unauthorized("The access token is not signed with a key that its issuer publishes for signatures now.")
	case errors.Is(err, errAlgorithm):
		return nil, unauthorized("The access token's algorithm (alg) is not that of the key it names (kid).")
	case err != nil:
		return nil, unauthorized("The access token's signature is wrong: it was cut, changed or not made by its issuer.")
	}
	return payload, nil
}

// keys returns the keys there are. It waits only when there are none.
func (i *issuer) keys(ctx context.Context) (*keySet, error) {
	i.mu.Lock()
	set := i.current()
	if set != nil && i.now().Sub(set.at) < refreshAfter {
		i.mu.Unlock()
		return set, nil
	}
	f := i.ask()
	i.mu.Unlock()
	if set != nil {
		return set, nil
	}
	return i.wait(ctx, f)
}

// newer returns keys that were got after those of a set or, when the issuer was asked too lately to be asked again, the same.
func (i *issuer) newer(ctx context.Context, than *keySet) (*keySet, error) {
	i.mu.Lock()
	set, failing := i.current(), i.failing
	if set != nil && set != than {
		i.mu.Unlock()
		return set, nil
	}
	f := i.ask()
	i.mu.Unlock()
	if f == nil && !failing {
		return than, nil
	}
	return i.wait(ctx, f)
}

// check asks for the keys now.
func (i *issuer) check(ctx context.Context) error {
	i.mu.Lock()
	f := i.start()
	i.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
		return fmt.Errorf("ask issuer %s: %w", i.url, ctx.Err())
	}
	switch {
	case f.err != nil:
		return fmt.Errorf("ask issuer %s: %w", i.url, f.err)
	case len(f.set.keys) == 0:
		return fmt.Errorf("ask issuer %s: it publishes no key for signatures that can be used", i.url)
	}
	return nil
}

// wait returns what an attempt gets; nil stands for one that must not be made yet.
func (i *issuer) wait(ctx context.Context, f *fetching) (*keySet, error) {
	if f == nil {
		return nil, i.unavailable()
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.err != nil {
		return nil, i.unavailable()
	}
	return f.set, nil
}

// unavailable returns the refusal of a token that may be good.
func (i *issuer) unavailable() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return &cola.Error{
		Code:       cola.CodeUnavailable,
		Message:    "The sign-in service that issued the access token cannot be asked right now; nothing was charged. Try again in a few seconds.",
		RetryAfter: max(i.pause()-i.now().Sub(i.tried), time.Second),
	}
}

// current returns the keys that may be used now, or nil. The caller holds the lock, as for all that follow.
func (i *issuer) current() *keySet {
	if i.set == nil || i.now().Sub(i.set.at) >= keepFor {
		return nil
	}
	return i.set
}

func (i *issuer) pause() time.Duration {
	if i.current() == nil {
		return askEveryWithout
	}
	return askEvery
}

// ask returns the attempt under way or, when the last one is long enough ago, a new one; nil otherwise.
func (i *issuer) ask() *fetching {
	if i.running == nil && !i.tried.IsZero() && i.now().Sub(i.tried) < i.pause() {
		return nil
	}
	return i.start()
}

// start returns the attempt under way or a new one. It goes on when whoever wanted it has gone, for askWithin at most.
func (i *issuer) start() *fetching {
	if i.running != nil {
		return i.running
	}
	f := &fetching{done: make(chan struct{})}
	i.running, i.tried = f, i.now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), askWithin)
		defer cancel()
		keys, err := i.fetch(ctx)
		i.finish(f, keys, err)
	}()
	return f
}

// finish takes over what an attempt got. Keys that cannot be got again are kept; those that the issuer has taken back are not,
// even if none is left.
func (i *issuer) finish(f *fetching, keys []signingKey, err error) {
	i.metrics.fetched(err)
	i.mu.Lock()
	defer i.mu.Unlock()
	defer close(f.done)
	if f.err = err; err != nil {
		i.log.Warn("the issuer of access tokens cannot be asked for its keys", "issuer", i.url, "error", err, "known", i.current() != nil)
	} else {
		if i.failing || len(keys) == 0 {
			i.log.Info("the issuer of access tokens has told its keys", "issuer", i.url, "keys", len(keys))
		}
		f.set = &keySet{keys: keys, at: i.tried}
		i.set = f.set
	}
	i.failing, i.running = err != nil, nil
}
