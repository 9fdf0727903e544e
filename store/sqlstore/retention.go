package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// expiring is a kind of row that nobody looks up once it has aged.
type expiring struct {
	name     string
	query    string        // deletes the oldest rows up to an instant, or before a day, and at most so many
	age      time.Duration // how long a row is kept
	daily    bool          // rows are kept by their day
	perWrite int           // how many rows a write adds at most
}

var (
	expiredSessions      = expiring{name: "sessions", query: deleteSessions, perWrite: 1}
	expiredSignInLinks   = expiring{name: "sign-in links", query: deleteSignInLinks, perWrite: 1}
	expiredCreations     = expiring{name: "creations of saved searches", query: deleteCreations, perWrite: 1}
	expiredConfirmations = expiring{name: "requests to confirm an address", query: deleteConfirmations, age: store.ConfirmationsKept, perWrite: 1}
	expiredAllowances    = expiring{name: "daily allowances", query: deleteAllowances, age: 24 * time.Hour, daily: true, perWrite: 1}
	expiredPreviews      = expiring{name: "previewed labels", query: deletePreviewed, age: 24 * time.Hour, daily: true, perWrite: 8}
)

// deletedPerStatement is how many rows one statement of DeleteExpired deletes.
const deletedPerStatement = 1_000

// DeleteExpired deletes all old rows, some at a time. It is for a database whose writes don't do that:
// see Options.DeleteWithWrites.
func DeleteExpired(ctx context.Context, s *Store) error {
	var errs []error
	for _, o := range []expiring{expiredSessions, expiredSignInLinks, expiredCreations, expiredConfirmations, expiredAllowances, expiredPreviews} {
		errs = append(errs, s.deleteAllExpired(ctx, o))
	}
	return errors.Join(errs...)
}

func (s *Store) deleteAllExpired(ctx context.Context, o expiring) error {
	for {
		var n int
		err := s.db.TransactUnsynced(ctx, "delete old "+o.name, func(ctx context.Context, tx Tx) (err error) {
			n, err = s.deleteExpired(ctx, tx, o, deletedPerStatement)
			return err
		})
		if err != nil || n < deletedPerStatement {
			return err
		}
	}
}

// deleteSomeExpired deletes a few old rows with a write that adds one, if the database is to do so: more
// than it adds, so that they don't pile up.
func (s *Store) deleteSomeExpired(ctx context.Context, tx Tx, o expiring) error {
	if s.opts.DeleteWithWrites == 0 {
		return nil
	}
	_, err := s.deleteExpired(ctx, tx, o, s.opts.DeleteWithWrites*o.perWrite)
	return err
}

func (s *Store) deleteExpired(ctx context.Context, tx Tx, o expiring, limit int) (int, error) {
	now, err := s.instant(ctx, tx)
	if err != nil {
		return 0, err
	}
	now = now.Add(-o.age)
	if o.daily {
		return tx.Exec(ctx, o.query, cola.DateOf(now), limit)
	}
	return tx.Exec(ctx, o.query, now, limit)
}
