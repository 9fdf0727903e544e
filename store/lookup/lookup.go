// Package lookup bounds what wrong secrets cost the database.
//
// Anyone can send keys, cookies and tokens that were never issued, as fast as the network carries them. A Store answers
// for the secrets that this process has found before, and asks the database about all others together: one query at a
// time for each kind of secret, at most one every 10 ms, about at most 256 secrets. A flood therefore costs 100 small
// queries a second for each kind it uses, whatever its rate.
//
//	request ──► found before? ──► the database's own answer, as without this package
//	                │ no
//	                ▼
//	            wait for the next batch ──► no row: ErrNotFound
//	                                   └──► a row: the database's own answer
//
// There is no cache of wrong secrets. A batch starts after the requests in it arrived, so a secret that was made a moment
// ago, in any process, works at once, and knowing that a cached refusal still holds would take as many queries as
// batches do. A secret that is not known waits for its turn: with 10,000 connections, about 0.4 s at worst. It is never
// refused because of others.
package lookup

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/colaregistry/colaregistry/store"
)

// Store is a store in which secrets are looked up in batches. It is safe for concurrent use.
type Store struct {
	store.Store
	gates map[store.SecretKind]*gate
}

// New returns st with its secrets looked up in batches. With a registerer the lookups are counted, for one Store only.
func New(st store.Store, metrics prometheus.Registerer) *Store {
	factory := promauto.With(metrics)
	asked := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_secret_lookups_total", Help: "Secrets that the database was asked about, by kind.",
	}, []string{"kind"})
	queries := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_secret_lookup_queries_total", Help: "Queries that asked the database about secrets, by kind.",
	}, []string{"kind"})
	s := &Store{st, map[store.SecretKind]*gate{}}
	for _, kind := range store.SecretKinds() {
		find := func(ctx context.Context, names []string) ([]string, error) { return st.KnownSecrets(ctx, kind, names) }
		s.gates[kind] = newGate(find, asked.WithLabelValues(string(kind)), queries.WithLabelValues(string(kind)))
	}
	return s
}

// KeyByHash implements store.Keys.
func (s *Store) KeyByHash(ctx context.Context, hash store.KeyHash) (key store.Key, err error) {
	err = s.pass(ctx, store.SecretKey, string(hash[:]), func() error {
		key, err = s.Store.KeyByHash(ctx, hash)
		return err
	})
	return key, err
}

// Session implements store.Sessions.
func (s *Store) Session(ctx context.Context, name string) (data []byte, err error) {
	err = s.pass(ctx, store.SecretSession, name, func() error {
		data, err = s.Store.Session(ctx, name)
		return err
	})
	return data, err
}

// SignInLink implements store.SignInLinks.
func (s *Store) SignInLink(ctx context.Context, hash store.SignInLinkHash) (a store.Account, err error) {
	err = s.pass(ctx, store.SecretSignInLink, string(hash[:]), func() error {
		a, err = s.Store.SignInLink(ctx, hash)
		return err
	})
	return a, err
}

// UseSignInLink implements store.SignInLinks.
func (s *Store) UseSignInLink(ctx context.Context, hash store.SignInLinkHash) (a store.Account, err error) {
	err = s.pass(ctx, store.SecretSignInLink, string(hash[:]), func() error {
		a, err = s.Store.UseSignInLink(ctx, hash)
		return err
	})
	return a, err
}

// Feed implements store.Destinations.
func (s *Store) Feed(ctx context.Context, hash store.FeedHash, runs, labels int) (feed store.Feed, err error) {
	err = s.pass(ctx, store.SecretFeed, string(hash[:]), func() error {
		feed, err = s.Store.Feed(ctx, hash, runs, labels)
		return err
	})
	return feed, err
}

// DestinationByLink implements store.Destinations.
func (s *Store) DestinationByLink(ctx context.Context, hash []byte) (d store.Destination, err error) {
	err = s.pass(ctx, store.SecretDestination, string(hash), func() error {
		d, err = s.Store.DestinationByLink(ctx, hash)
		return err
	})
	return d, err
}

// pass runs use if the named secret exists, and fails with ErrNotFound otherwise.
func (s *Store) pass(ctx context.Context, kind store.SecretKind, name string, use func() error) error {
	g := s.gates[kind]
	if err := g.admit(ctx, name); err != nil {
		return err
	}
	err := use()
	if errors.Is(err, store.ErrNotFound) {
		g.void(name)
	}
	return err
}
