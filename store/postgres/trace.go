package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

var searchWithMark = `SELECT id, mark_at, mark_revision, ` + savedSearchNames + ` FROM saved_searches WHERE account_id = $1 AND uuid = $2`

const (
	matchOfLabel = `SELECT ` + matchNames + ` FROM saved_search_matches WHERE search_id = $1 AND ttb_id = $2`
	arrivalOf    = `SELECT revision FROM cola_arrivals WHERE ttb_id = $1`
	firstRunFrom = `SELECT ran_at, date_from FROM saved_search_runs WHERE search_id = $1 AND upto >= $2 ORDER BY id LIMIT 1`
)

// Trace implements store.Runs.
func (s *Store) Trace(ctx context.Context, account cola.AccountID, uuid string, label cola.TTBID) (trace store.Trace, err error) {
	err = s.read(ctx, "trace label", func() error {
		return s.view(ctx, func(q querier) (err error) {
			trace, err = traceLabel(ctx, q, account, uuid, label)
			return err
		})
	})
	if err != nil {
		return store.Trace{}, err
	}
	return trace, nil
}

func traceLabel(ctx context.Context, q querier, account cola.AccountID, uuid string, label cola.TTBID) (t store.Trace, err error) {
	type marked struct {
		id   int64
		mark store.Mark
		row  records.SavedSearch
	}
	rows, err := q.Query(ctx, searchWithMark, int64(account), uuid)
	found, err := one(rows, err, func(m *marked) fields {
		return append(fields{&m.id, &m.mark.At, &m.mark.Revision}, savedSearchColumns(&m.row)...)
	})
	if err != nil {
		return t, noSuchText(err)
	}
	t.Mark = found.mark
	if t.Search, err = found.row.Search(); err != nil {
		return t, err
	}
	rows, err = q.Query(ctx, matchOfLabel, found.id, int64(label))
	match, err := one(rows, err, matchColumns)
	if err == nil {
		t.Match = &match
	} else if !errors.Is(err, store.ErrNotFound) {
		return t, err
	}
	rows, err = q.Query(ctx, arrivalOf, int64(label))
	t.Arrived, err = one(rows, err, func(rev *cola.Revision) fields { return fields{rev} })
	if err == nil && t.Arrived > 0 {
		err = q.QueryRow(ctx, firstRunFrom, found.id, int64(t.Arrived)).Scan(fields{&t.Seen, &t.SeenFrom})
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return t, err
}
