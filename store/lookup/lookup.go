// Package lookup bounds the database load caused by wrong secrets.
//
// Anyone can send keys, cookies and tokens that were never issued, at network speed. For a secret
// that this process has found before, a Store queries the database directly. It looks up all other
// secrets in batches of at most 256, with one query at a time for each kind of secret. After a
// batch with an unknown secret starts, the next one starts at least 10 ms later. However fast wrong
// secrets arrive, they therefore cost at most 100 small queries a second for each kind.
//
//	request ──► found before? ──► the database's own result, as without this package
//	                │ no
//	                ▼
//	            wait for the next batch ──► no row: ErrNotFound
//	                                   └──► a row: the database's own result
//
// Wrong secrets are not cached. A batch starts after its requests arrive, so a secret that any
// process just created works immediately; verifying cached rejections would take as many queries as
// the batches do. An unknown secret waits its turn, at worst for about 0.4 s with 10,000
// connections. It is never rejected because of other requests.
package lookup

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/colaregistry/colaregistry/store"
)

// Store is a store that looks up secrets in batches. It is safe for concurrent use.
type Store struct {
	store.Store
	gates map[store.SecretKind]*gate
}

// New wraps st so that secrets are looked up in batches. If metrics is not nil, New registers the
// Store's metrics with it; a registerer can serve only one Store.
func New(st store.Store, metrics prometheus.Registerer) *Store {
	factory := promauto.With(metrics)
	lookups := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_secret_lookups_total",
		Help: "Secrets looked up in the database, by kind.",
	}, []string{"kind"})
	queries := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_secret_lookup_queries_total",
		Help: "Database queries for secrets, by kind.",
	}, []string{"kind"})
	s := &Store{st, map[store.SecretKind]*gate{}}
	for _, kind := range store.SecretKinds() {
		find := func(ctx context.Context, names []string) ([]string, error) { return st.KnownSecrets(ctx, kind, names) }
		s.gates[kind] = newGate(find, lookups.WithLabelValues(string(kind)), queries.WithLabelValues(string(kind)))
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
func (s *Store) UseSignInLink(
	ctx context.Context, hash store.SignInLinkHash, signUp bool,
) (a store.Account, err error) {
	err = s.pass(ctx, store.SecretSignInLink, string(hash[:]), func() error {
		a, err = s.Store.UseSignInLink(ctx, hash, signUp)
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

// pass calls use if the named secret exists; otherwise it fails with ErrNotFound.
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
