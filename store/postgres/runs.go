package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	lockClaimed = `SELECT u.n, s.id, s.account_id FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS u (uuid, hold, n)
		JOIN saved_searches s ON s.uuid = u.uuid COLLATE "C" AND s.hold = u.hold ORDER BY s.id FOR NO KEY UPDATE OF s`
	// countAllowances adds to accounts' daily use of an allowance. It locks the rows in the order
	// of the arrays.
	countAllowances = `INSERT INTO daily_allowances (account_id, day, allowance, used) SELECT u.account, u.day, $3, u.units
			FROM unnest($1::bigint[], $2::date[], $4::integer[]) WITH ORDINALITY AS u (account, day, units, n) ORDER BY n
		ON CONFLICT (account_id, day, allowance) DO UPDATE SET used = daily_allowances.used + excluded.used RETURNING account_id, day, used`
	// knownRevisions selects the revisions in this database's history. Marks at other revisions are
	// rejected, because the next revisions might be below them.
	knownRevisions = `SELECT revision FROM revisions WHERE revision = ANY($1)`
	nextRuns       = `SELECT nextval(pg_get_serial_sequence('saved_search_runs', 'id')) FROM generate_series(1, $1)`
	insertMatches  = `WITH new AS (INSERT INTO saved_search_matches (search_id, run_id, ttb_id, late, met)
			SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::bigint[])
			ON CONFLICT (search_id, ttb_id) DO NOTHING RETURNING run_id, late)
		SELECT run_id, count(*), count(*) FILTER (WHERE late) FROM new GROUP BY run_id`
	insertRuns = `INSERT INTO saved_search_runs (id, search_id, ran_at, date_from, date_to, match_count, late_count, upto, manual, named_labels)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::date[], $5::date[], $6::integer[], $7::integer[], $8::bigint[],
			$9::boolean[], $10::integer[])`
	updateMarks = `UPDATE saved_searches s SET mark_at = u.ran_at, mark_revision = u.revision, last_run_at = u.ran_at, next_run_at = u.next_run_at,
			hold = s.hold + 1, held_until = NULL
		FROM unnest($1::bigint[], $2::timestamptz[], $3::bigint[], $4::timestamptz[]) AS u (id, ran_at, revision, next_run_at) WHERE s.id = u.id`
)

// matchesPerStatement is the number of matches per INSERT statement.
const matchesPerStatement = 10_000

// RecordRuns implements store.Runs in one transaction.
func (s *Store) RecordRuns(ctx context.Context, runs []store.RunRecord) ([]store.RunOutcome, error) {
	var outcomes []store.RunOutcome
	err := s.transact(ctx, "record runs", func(tx pgx.Tx) (err error) {
		outcomes, err = recordRuns(ctx, tx, runs)
		return err
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// runRecorder records several runs in one transaction.
type runRecorder struct {
	runs     []store.RunRecord
	outcomes []store.RunOutcome
	held     []heldSearch  // searches of the recorded runs
	named    []int         // for each held search, the number of labels that messages about the run may name
	index    map[int64]int // outcome index by run ID
}

// recordRuns records runs within a transaction.
func recordRuns(ctx context.Context, tx pgx.Tx, runs []store.RunRecord) ([]store.RunOutcome, error) {
	claimed := make([]store.DueSearch, len(runs))
	for i := range runs {
		claimed[i] = runs[i].Due
	}
	held, err := lockClaims(ctx, tx, claimed)
	if err != nil {
		return nil, err
	}
	r := &runRecorder{runs: runs, outcomes: make([]store.RunOutcome, len(runs)), held: held, index: map[int64]int{}}
	if err := r.begin(ctx, tx); err != nil || len(r.held) == 0 {
		return r.outcomes, err
	}
	if err := r.recordMatches(ctx, tx); err != nil {
		return nil, err
	}
	if err := r.grantNames(ctx, tx); err != nil {
		return nil, err
	}
	b := &pgx.Batch{}
	r.queueRuns(b)
	r.queueMarks(b)
	return r.outcomes, closeBatch(tx.SendBatch(ctx, b), nil)
}

// begin drops the runs whose marks are not in this database's history, and assigns IDs to the
// remaining ones.
func (r *runRecorder) begin(ctx context.Context, tx pgx.Tx) error {
	marks := map[cola.Revision]bool{}
	for _, h := range r.held {
		marks[r.runs[h.n].Mark.Revision] = false
	}
	revisions := make([]int64, 0, len(marks))
	for rev := range marks {
		revisions = append(revisions, int64(rev))
	}
	rows, err := tx.Query(ctx, knownRevisions, revisions)
	known, err := collect(rows, err, func(rev *cola.Revision) fields { return fields{rev} })
	if err != nil {
		return err
	}
	for _, rev := range append(known, 0) {
		marks[rev] = true
	}
	r.held = slices.DeleteFunc(r.held, func(h heldSearch) bool { return !marks[r.runs[h.n].Mark.Revision] })
	rows, err = tx.Query(ctx, nextRuns, len(r.held))
	numbers, err := collect(rows, err, func(n *int64) fields { return fields{n} })
	if err != nil {
		return err
	}
	for i, h := range r.held {
		r.outcomes[h.n] = store.RunOutcome{Recorded: true, Run: numbers[i]}
		r.index[numbers[i]] = h.n
	}
	return nil
}

// recordMatches inserts the new matches and counts them.
func (r *runRecorder) recordMatches(ctx context.Context, tx pgx.Tx) error {
	var searches, runs, ids, met []int64
	var late []bool
	flush := func() error {
		if len(ids) == 0 {
			return nil
		}
		type count struct {
			run         int64
			found, late int
		}
		rows, err := tx.Query(ctx, insertMatches, searches, runs, ids, late, met)
		list, err := collect(rows, err, func(c *count) fields { return fields{&c.run, &c.found, &c.late} })
		for _, c := range list {
			o := &r.outcomes[r.index[c.run]]
			o.New, o.Late = o.New+c.found, o.Late+c.late
		}
		searches, runs, ids, late, met = searches[:0], runs[:0], ids[:0], late[:0], met[:0]
		return err
	}
	for _, h := range r.held {
		for _, m := range r.runs[h.n].Matches {
			searches, runs = append(searches, h.search), append(runs, r.outcomes[h.n].Run)
			ids, late, met = append(ids, int64(m.TTBID)), append(late, m.Late), append(met, int64(m.Met))
			if len(ids) == matchesPerStatement {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// grantNames decides how many labels the messages about each run may name.
func (r *runRecorder) grantNames(ctx context.Context, tx pgx.Tx) error {
	r.named = make([]int, len(r.held))
	requested := map[accountDate]int{}
	dateOf := func(h heldSearch) accountDate { return accountDate{h.account, cola.DateOf(r.runs[h.n].Mark.At.UTC())} }
	for i, h := range r.held {
		if r.named[i] = min(r.outcomes[h.n].New, r.runs[h.n].MaxNamed); r.named[i] > 0 {
			requested[dateOf(h)] += r.named[i]
		}
	}
	if len(requested) == 0 {
		return nil
	}
	days := slices.SortedFunc(maps.Keys(requested), func(a, b accountDate) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.day, b.day))
	})
	units := make([]int, len(days))
	for i, d := range days {
		units[i] = requested[d]
	}
	used, err := useAllowances(ctx, tx, store.AllowMessageLabels, days, units)
	for d := range used {
		used[d] -= requested[d]
	}
	for i, h := range r.held {
		if r.named[i] > 0 {
			used[dateOf(h)] += r.named[i]
			r.named[i] = records.Granted(r.named[i], used[dateOf(h)], r.runs[h.n].MaxNamedPerAccount)
		}
	}
	return err
}

func (r *runRecorder) queueRuns(b *pgx.Batch) {
	n := len(r.held)
	manual := make([]bool, n)
	runs, searches, upto := make([]int64, n), make([]int64, n), make([]int64, n)
	found, late := make([]int64, n), make([]int64, n)
	at, from, to := make([]time.Time, n), make([]time.Time, n), make([]time.Time, n)
	for i, h := range r.held {
		record, o := &r.runs[h.n], r.outcomes[h.n]
		runs[i], searches[i], found[i], late[i] = o.Run, h.search, int64(o.New), int64(o.Late)
		at[i] = record.Mark.At
		from[i] = record.From.Time()
		to[i] = record.To.Time()
		upto[i] = int64(record.Mark.Revision)
		manual[i] = record.Manual
	}
	b.Queue(insertRuns, runs, searches, at, from, to, found, late, upto, manual, r.named)
}

// queueMarks queues the new marks, which also ends the claims.
func (r *runRecorder) queueMarks(b *pgx.Batch) {
	n := len(r.held)
	searches, revisions := make([]int64, n), make([]int64, n)
	at, next := make([]time.Time, n), make([]*time.Time, n)
	for i, h := range r.held {
		record := &r.runs[h.n]
		searches[i], revisions[i], at[i] = h.search, int64(record.Mark.Revision), record.Mark.At
		if record.Next != 0 {
			due := record.Next.Time()
			next[i] = &due
		}
	}
	b.Queue(updateMarks, searches, at, revisions, next)
}

// heldSearch is a search whose claim is still valid.
type heldSearch struct {
	n       int // index in the list of claims
	search  int64
	account cola.AccountID
}

// lockClaims locks the searches with claims that are still valid, and returns them in ascending
// order of ID, without duplicates.
func lockClaims(ctx context.Context, tx pgx.Tx, claimed []store.DueSearch) ([]heldSearch, error) {
	uuids, holds := make([]string, len(claimed)), make([]int64, len(claimed))
	for i := range claimed {
		uuids[i], holds[i] = claimed[i].Search.UUID, claimed[i].Hold
	}
	rows, err := tx.Query(ctx, lockClaimed, uuids, holds)
	held, err := collect(rows, err, func(h *heldSearch) fields { return fields{&h.n, &h.search, &h.account} })
	for i := range held {
		held[i].n--
	}
	slices.SortFunc(held,
		func(a, b heldSearch) int { return cmp.Or(cmp.Compare(a.search, b.search), cmp.Compare(a.n, b.n)) })
	return slices.CompactFunc(held, func(a, b heldSearch) bool { return a.search == b.search }), err
}

// accountDate is an account and a UTC day.
type accountDate struct {
	account cola.AccountID
	day     cola.Date
}

// useAllowances adds units to the use of an allowance, for distinct accounts and days, and returns
// the new totals. Pass the days in ascending order of account and day, so that concurrent calls do
// not deadlock.
func useAllowances(
	ctx context.Context, tx pgx.Tx, a store.Allowance, days []accountDate, units []int,
) (map[accountDate]int, error) {
	type used struct {
		accountDate
		used int
	}
	accounts, dates, counts := make([]int64, len(days)), make([]time.Time, len(days)), make([]int32, len(days))
	for i, d := range days {
		accounts[i], dates[i], counts[i] = int64(d.account), d.day.Time(), int32(units[i])
	}
	rows, err := tx.Query(ctx, countAllowances, accounts, dates, string(a), counts)
	list, err := collect(rows, err, func(u *used) fields { return fields{&u.account, &u.day, &u.used} })
	sums := make(map[accountDate]int, len(list))
	for _, u := range list {
		sums[u.accountDate] = u.used
	}
	return sums, err
}
