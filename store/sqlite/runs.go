package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const (
	// recordRun rejects a mark that is not in this database's history: the next revisions might be
	// below it.
	recordRun = `UPDATE saved_searches SET mark_at = ?3, mark_revision = ?4, last_run_at = ?3, next_run_at = ?5, hold = hold + 1, held_until = NULL
		WHERE uuid = ?1 AND hold = ?2 AND (?4 = 0 OR EXISTS (SELECT 1 FROM revisions WHERE revision = ?4)) RETURNING id, account_id`
	insertRun = `INSERT INTO saved_search_runs (search_id, ran_at, date_from, date_to, upto, manual, match_count, late_count, named_labels)
		VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0) RETURNING id`
	insertMatches = `INSERT INTO saved_search_matches (search_id, run_id, late, met, ttb_id) SELECT ?, ?, ?, ?, value FROM json_each(?) WHERE TRUE
		ON CONFLICT (search_id, ttb_id) DO NOTHING`
	countMatches = `UPDATE saved_search_runs SET match_count = ?, late_count = ?, named_labels = ? WHERE id = ?`
)

// RecordRuns implements store.Runs.
func (s *Store) RecordRuns(ctx context.Context, runs []store.RunRecord) ([]store.RunOutcome, error) {
	const operation = "record runs"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	defer s.upkeep.markWritten()
	outcomes := make([]store.RunOutcome, 0, len(runs))
	for len(outcomes) < len(runs) {
		var some []store.RunOutcome
		err := s.ledger.transact(ctx, func(ctx context.Context) (err error) {
			some, err = s.recordSome(ctx, runs[len(outcomes):])
			return err
		})
		if err != nil {
			return outcomes, failed(operation, err)
		}
		outcomes = append(outcomes, some...)
	}
	return outcomes, nil
}

// recordSome records as many runs as fit into one turn (see upserts.go), at least one.
func (s *Store) recordSome(ctx context.Context, runs []store.RunRecord) (outcomes []store.RunOutcome, err error) {
	start := time.Now() // real time, since it bounds how long others wait
	for i := range runs {
		elapsed := time.Since(start)
		if i > 0 && (elapsed >= maxTurnAlone || elapsed >= minTurn && s.ledger.gate.Contended()) {
			break
		}
		o, err := s.record(ctx, &runs[i])
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// record records one run, if its claim is still valid.
func (s *Store) record(ctx context.Context, r *store.RunRecord) (store.RunOutcome, error) {
	var rejected store.RunOutcome
	at := r.Mark.At.UnixMicro()
	var next any
	if r.Next != 0 {
		next = int64(r.Next)
	}
	var search int64
	var account cola.AccountID
	err := s.ledger.row(ctx, recordRun, r.Due.Search.UUID, r.Due.Hold, at, int64(r.Mark.Revision), next).Scan(&search,
		&account)
	if errors.Is(err, sql.ErrNoRows) {
		return rejected, nil
	}
	if err != nil {
		return rejected, err
	}
	o := store.RunOutcome{Recorded: true}
	err = s.ledger.row(ctx, insertRun, search, at, encode(&r.From),
		encode(&r.To), int64(r.Mark.Revision), bit(r.Manual)).Scan(&o.Run)
	if err != nil {
		return rejected, err
	}
	for _, group := range groupMatches(r.Matches) {
		n, err := s.ledger.affect(ctx, insertMatches, search, o.Run,
			bit(group.late), int64(group.met), idList(group.ids))
		if err != nil {
			return rejected, err
		}
		if o.New += int(n); group.late {
			o.Late += int(n)
		}
	}
	if o.New == 0 {
		return o, nil
	}
	named, err := s.grantNames(ctx, account, r, o.New)
	if err != nil {
		return rejected, err
	}
	return o, s.ledger.exec(ctx, countMatches, o.New, o.Late, named, o.Run)
}

// grantNames returns how many labels the messages about a run may name.
func (s *Store) grantNames(ctx context.Context, account cola.AccountID, r *store.RunRecord, found int) (int, error) {
	requested := min(found, r.MaxNamed)
	if requested <= 0 {
		return 0, nil
	}
	used, err := sqlstore.UseAllowance(ctx, s.control, tx{reader{s.ledger}, s.ledger},
		account, cola.DateOf(r.Mark.At.UTC()), store.AllowMessageLabels, requested)
	return records.Granted(requested, used, r.MaxNamedPerAccount), err
}

// matchKind holds the values shared by all matches of one INSERT statement.
type matchKind struct {
	late bool
	met  cola.FilterSet
}

type matchGroup struct {
	matchKind
	ids []cola.TTBID
}

// groupMatches groups matches by kind, in order of first occurrence. A run has few kinds.
func groupMatches(matches []store.RunMatch) (groups []matchGroup) {
	index := map[matchKind]int{}
	for _, m := range matches {
		kind := matchKind{m.Late, m.Met}
		i, known := index[kind]
		if !known {
			i = len(groups)
			index[kind], groups = i, append(groups, matchGroup{matchKind: kind})
		}
		groups[i].ids = append(groups[i].ids, m.TTBID)
	}
	return groups
}
