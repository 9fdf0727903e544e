package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// old is a kind of row that nobody looks up once it has aged.
type old struct {
	name  string
	query string        // deletes the oldest rows up to an instant, or before a day, and at most so many
	age   time.Duration // how long a row is kept
	daily bool          // rows are kept by their day
	each  int           // how many rows a write adds at most
}

var (
	sessionsOver    = old{name: "sessions", query: forgetSessions, each: 1}
	signInLinksOver = old{name: "sign-in links", query: forgetSignInLinks, each: 1}
	creationsOver   = old{name: "creations of saved searches", query: forgetCreations, each: 1}
	asksOver        = old{name: "requests to confirm an address", query: forgetAsked, age: store.ConfirmationsKept, each: 1}
	allowancesOver  = old{name: "daily allowances", query: forgetAllowances, age: 24 * time.Hour, daily: true, each: 1}
	previewsOver    = old{name: "previewed labels", query: forgetPreviewed, age: 24 * time.Hour, daily: true, each: 8}
)

// forgottenAtOnce is how many rows one statement of ForgetOld deletes.
const forgottenAtOnce = 1_000

// ForgetOld deletes all old rows, some at a time. It is for a database whose writes don't do that:
// see Options.ForgetWithWrites.
func ForgetOld(ctx context.Context, s *Store) error {
	var errs []error
	for _, o := range []old{sessionsOver, signInLinksOver, creationsOver, asksOver, allowancesOver, previewsOver} {
		errs = append(errs, s.forgetAll(ctx, o))
	}
	return errors.Join(errs...)
}

func (s *Store) forgetAll(ctx context.Context, o old) error {
	for {
		var n int
		err := s.db.TransactUnsynced(ctx, "delete old "+o.name, func(ctx context.Context, tx Tx) (err error) {
			n, err = s.forget(ctx, tx, o, forgottenAtOnce)
			return err
		})
		if err != nil || n < forgottenAtOnce {
			return err
		}
	}
}

// forgetSome deletes a few old rows with a write that adds one, if the database is to do so: more
// than it adds, so that they don't pile up.
func (s *Store) forgetSome(ctx context.Context, tx Tx, o old) error {
	if s.opts.ForgetWithWrites == 0 {
		return nil
	}
	_, err := s.forget(ctx, tx, o, s.opts.ForgetWithWrites*o.each)
	return err
}

func (s *Store) forget(ctx context.Context, tx Tx, o old, limit int) (int, error) {
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
