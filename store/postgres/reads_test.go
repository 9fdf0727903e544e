package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

var knownIdentity = store.Identity{Issuer: "https://id.example.com", Subject: "1"}

// readMethods returns the read methods that take no callback, including those that sometimes write.
func readMethods(s *Store, account cola.AccountID, label cola.TTBID) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Ping": s.Ping,
		"Cola": func(ctx context.Context) error {
			c, err := s.Cola(ctx, label)
			if err == nil && c.TTBID != label {
				err = errors.New("wrong label")
			}
			return err
		},
		"KeyByHash":    func(ctx context.Context) error { _, err := s.KeyByHash(ctx, store.KeyHash{1}); return err },
		"AccountUsage": func(ctx context.Context) error { _, err := s.AccountUsage(ctx, account); return err },
		"DailyUsage":   func(ctx context.Context) error { _, err := s.DailyUsage(ctx, account, 1, 2); return err },
		"Revision":     func(ctx context.Context) error { _, err := s.Revision(ctx); return err },
		"Reference":    func(ctx context.Context) error { _, err := s.ReferenceRevision(ctx); return err },
		"AllReferences": func(ctx context.Context) error {
			_, err := s.AllReferences(ctx)
			return err
		},
		"AccountByEmail": func(ctx context.Context) error {
			_, err := s.AccountByEmail(ctx, "a@example.com")
			return err
		},
		"Accounts": func(ctx context.Context) error { _, err := s.Accounts(ctx); return err },
		"Keys":     func(ctx context.Context) error { _, err := s.Keys(ctx, account); return err },
		"AccountOf": func(ctx context.Context) error {
			_, err := s.AccountOf(ctx, knownIdentity, "a@example.com")
			return err
		},
		"EnsureApp": func(ctx context.Context) error {
			_, err := s.EnsureApp(ctx, store.App{Issuer: knownIdentity.Issuer, ClientID: "app"})
			return err
		},
		"Apps":    func(ctx context.Context) error { _, err := s.Apps(ctx); return err },
		"Connect": func(ctx context.Context) error { _, err := s.Connect(ctx, account, 1, nil); return err },
		"Links":   func(ctx context.Context) error { _, err := s.Links(ctx, account); return err },
		"DeliveriesOf": func(ctx context.Context) error {
			_, _, err := s.DeliveriesOf(ctx, account, store.DeliveryFilter{}, store.Slice{Limit: 1})
			return err
		},
		"OldestPending": func(ctx context.Context) error {
			_, err := s.OldestPending(ctx, []string{cola.KindEmail})
			return err
		},
	}
}

// TestReadRetry checks that a read succeeds on another connection, wherever the first is cut.
func TestReadRetry(t *testing.T) {
	p, proxied, direct, account := openWithProxy(t, nil)
	samples := storetest.Samples(0, 1)
	if _, err := direct.UpsertColas(t.Context(), samples, store.Commit); err != nil {
		t.Fatal(err)
	}
	if _, err := direct.CreateKey(t.Context(), store.Key{AccountID: account}, store.KeyHash{1}, 0); err != nil {
		t.Fatal(err)
	}
	_, err := direct.AccountOf(t.Context(), knownIdentity, "a@example.com")
	if err == nil {
		_, err = direct.RegisterApp(t.Context(), store.App{Issuer: knownIdentity.Issuer, ClientID: "app"})
	}
	if err == nil {
		_, err = direct.Connect(t.Context(), account, 1, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	cutAtEveryMessage(t, p, func(when string) {
		for name, read := range readMethods(proxied, account, samples[0].Record.TTBID) {
			if err := read(t.Context()); err != nil {
				t.Errorf("%s, %s: error = %v, want nil", when, name, err)
			}
		}
	})
}

// TestReadRetryLimit checks that a read is retried once, and not at all after its context has
// ended.
func TestReadRetryLimit(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	lose := func() error {
		return s.general.AcquireFunc(t.Context(), func(c *pgxpool.Conn) error {
			c.Conn().PgConn().Conn().Close()
			return c.Ping(t.Context())
		})
	}
	tried := 0
	err := s.read(t.Context(), "read", func() error { tried++; return lose() })
	if tried != 2 || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("lost connection: %d attempts, error %v; want 2, ErrUnavailable", tried, err)
	}
	tried = 0
	ctx, cancel := context.WithCancel(t.Context())
	err = s.read(ctx, "read", func() error { tried++; cancel(); return lose() })
	if tried != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %d attempts, error %v; want 1, context.Canceled", tried, err)
	}
	tried = 0
	if err := s.read(t.Context(), "read", func() error { tried++; return store.ErrNotFound }); tried != 1 ||
		!errors.Is(err, store.ErrNotFound) {
		t.Errorf("not found: %d attempts, error %v; want 1, ErrNotFound", tried, err)
	}
}
