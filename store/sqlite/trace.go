package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

var searchWithMark = `SELECT id, mark_at, mark_revision, ` + savedSearchNames + ` FROM saved_searches WHERE account_id = ? AND uuid = ?`

const (
	matchOfLabel = `SELECT ` + matchNames + ` FROM saved_search_matches WHERE search_id = ? AND ttb_id = ?`
	arrivalOf    = `SELECT revision FROM cola_arrivals WHERE ttb_id = ?`
	firstRunFrom = `SELECT ran_at, date_from FROM saved_search_runs WHERE search_id = ? AND upto >= ? ORDER BY id LIMIT 1`
)

// Trace implements store.Runs.
func (s *Store) Trace(ctx context.Context, account cola.AccountID, uuid string, label cola.TTBID) (trace store.Trace, err error) {
	const operation = "trace label"
	if err := s.start(); err != nil {
		return trace, failed(operation, err)
	}
	defer s.done()
	err = s.read.view(ctx, func(q querier) (err error) {
		trace, err = traceLabel(ctx, q, account, uuid, label)
		return err
	})
	if err != nil {
		return store.Trace{}, failed(operation, err)
	}
	return trace, nil
}

func traceLabel(ctx context.Context, q querier, account cola.AccountID, uuid string, label cola.TTBID) (t store.Trace, err error) {
	var id int64
	var row records.SavedSearch
	into := append([]any{&id, target{&t.Mark.At}, &t.Mark.Revision}, targets(row.Columns())...)
	if err = q.row(ctx, searchWithMark, int64(account), uuid).Scan(into...); errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return t, err
	}
	if t.Search, err = row.Search(); err != nil {
		return t, err
	}
	match, err := scanMatch(q.row(ctx, matchOfLabel, id, int64(label)))
	if err == nil {
		t.Match = &match
	} else if !errors.Is(err, sql.ErrNoRows) {
		return t, err
	}
	err = q.row(ctx, arrivalOf, int64(label)).Scan(&t.Arrived)
	if err == nil && t.Arrived > 0 {
		err = q.row(ctx, firstRunFrom, id, int64(t.Arrived)).Scan(target{&t.Seen}, target{&t.SeenFrom})
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return t, err
}
