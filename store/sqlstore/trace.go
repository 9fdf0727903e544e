package sqlstore

import (
	"context"
	"errors"

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
func (s *Store) Trace(ctx context.Context, account cola.AccountID, uuid string,
	label cola.TTBID) (trace store.Trace, err error) {
	err = s.db.View(ctx, "trace label", func(q Querier) (err error) {
		trace, err = s.traceLabel(ctx, q, account, uuid, label)
		return err
	})
	if err != nil {
		return store.Trace{}, err
	}
	return trace, nil
}

func (s *Store) traceLabel(ctx context.Context, q Querier, account cola.AccountID, uuid string,
	label cola.TTBID) (t store.Trace, err error) {
	type marked struct {
		id   int64
		mark store.Mark
		row  records.SavedSearch
	}
	found, err := one(ctx, q, func(m *marked) []any {
		return append([]any{&m.id, &m.mark.At, &m.mark.Revision}, savedSearchColumns(&m.row)...)
	}, searchWithMark, int64(account), uuid)
	if err != nil {
		return t, s.noSuchText(err)
	}
	t.Mark = found.mark
	if t.Search, err = found.row.Search(); err != nil {
		return t, err
	}
	match, err := one(ctx, q, matchColumns, matchOfLabel, found.id, int64(label))
	if err == nil {
		t.Match = &match
	} else if !errors.Is(err, store.ErrNotFound) {
		return t, err
	}
	t.Arrived, err = value[cola.Revision](ctx, q, arrivalOf, int64(label))
	if err == nil && t.Arrived > 0 {
		var run store.Trace
		run, err = one(ctx, q, func(t *store.Trace) []any { return []any{&t.Seen, &t.SeenFrom} }, firstRunFrom, found.id, int64(t.Arrived))
		t.Seen, t.SeenFrom = run.Seen, run.SeenFrom
	}
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return t, err
}
