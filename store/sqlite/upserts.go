package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// To write records, the store first reads, merges and compares them, outside any write transaction
// and under a lock that only other writers of records wait for. The write transactions then only
// insert and update.
//
// A split write uses short transactions, called turns. If another writer is waiting, such as the
// ledger, a turn ends after the current record, and the split write queues again. The database then
// counts as shared for a while. While it is shared:
//
//   - Turns are very short, since a commit cannot be interrupted.
//   - Each turn is synced, so that a commit of the ledger has to sync only its own pages.
//   - A pause follows each turn.
//
// So a busy ledger slows an import down to a fraction of its speed, but is hardly slowed itself.
const (
	// maxTurnAlone is the maximum length of a turn in a split write while no other writer is
	// waiting. It lets readers see progress, and keeps a crash from losing much.
	maxTurnAlone = 4 * time.Millisecond
	// maxTurnShared is the maximum length of a turn while the database is shared.
	maxTurnShared = 500 * time.Microsecond
	// minTurn is the minimum length of a turn. It keeps a busy ledger from stopping the write.
	minTurn = 300 * time.Microsecond
	// sharedFor is how long the database counts as shared after another writer waited.
	sharedFor = time.Second
	// turnPause is the pause between turns while the database is shared. Where files cannot be
	// locked, it always applies, since waiting writers can only poll there.
	turnPause = 4 * time.Millisecond
	// attempts is the maximum number of attempts for a write that conflicts with others. Conflicts
	// occur only where files cannot be locked.
	attempts = 10
)

// errConflict means that records changed between planning and writing.
var errConflict = fmt.Errorf("concurrent changes to the same records: %w", store.ErrUnavailable)

// step changes one record.
type step interface {
	write(ctx context.Context, w *writer, rev cola.Revision) error
}

// plan is a planned write of records.
type plan struct {
	base     cola.Revision   // revision of the state that the plan is based on
	outcomes []store.Outcome // one for each record
	steps    []step          // in a split write, one for each record; nil if the record does not change
}

func (p *plan) add(o store.Outcome, s step) {
	p.outcomes, p.steps = append(p.outcomes, o), append(p.steps, s)
}

// change describes a write of records.
type change struct {
	mode      store.Mode
	split     bool // short transactions of whole records, instead of one transaction
	reference bool // reference data: also advances the reference revision
	// plan computes the plan for the records from index done on.
	plan func(ctx context.Context, q querier, done int) (*plan, error)
}

// upsert implements the Store methods that write records in one transaction. It applies c, then
// runs a checkpoint if due and syncs the journal, and wraps any error with the operation.
func (s *Store) upsert(ctx context.Context, operation string, c change) ([]store.Outcome, error) {
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	outcomes, err := s.apply(ctx, c)
	if err == nil && c.mode.Writes() {
		s.checkpointIfDue(ctx)
		err = s.journal.sync()
	}
	return outcomes, failed(operation, err)
}

// apply plans and writes. It returns the outcomes of all records or, on an error, of the stored
// ones.
func (s *Store) apply(ctx context.Context, c change) (outcomes []store.Outcome, err error) {
	if err := s.recordsLock.Lock(ctx); err != nil {
		return nil, err
	}
	defer s.recordsLock.Unlock()
	for range attempts {
		p := &plan{}
		err = s.read.view(ctx, func(q querier) error {
			if p, err = c.plan(ctx, q, len(outcomes)); err != nil {
				return err
			}
			return q.row(ctx, `SELECT revision FROM meta`).Scan(&p.base)
		})
		if err != nil {
			return outcomes, err
		}
		if !c.mode.Writes() {
			return append(outcomes, p.outcomes...), nil
		}
		done, err := s.write(ctx, p, c)
		switch {
		case err == nil:
			return append(outcomes, p.outcomes...), nil
		case c.split:
			outcomes = append(outcomes, p.outcomes[:done]...)
		}
		if !errors.Is(err, errConflict) {
			return outcomes, err
		}
	}
	return outcomes, errConflict
}

// write executes a plan and returns how many of its records are stored.
func (s *Store) write(ctx context.Context, p *plan, c change) (done int, err error) {
	for done < len(p.steps) {
		if p.steps[done] == nil {
			done++
			continue
		}
		reached := done
		err = s.records.transact(ctx, func(ctx context.Context) error {
			rev, err := s.nextRevision(ctx, p.base, c.reference)
			if err != nil {
				return err
			}
			reached, err = s.writeSome(ctx, p.steps, done, rev, c.split)
			p.base = rev
			return err
		})
		if err != nil {
			return done, err
		}
		done = reached
		if err := s.afterTurn(c.split); err != nil {
			return done, err
		}
	}
	return done, nil
}

// afterTurn syncs and pauses between two turns, if necessary, to let other writers in.
func (s *Store) afterTurn(split bool) error {
	switch {
	case !split:
	case !s.records.gate.Shared():
		time.Sleep(turnPause)
	case s.isShared():
		if err := s.journal.sync(); err != nil {
			return err
		}
		time.Sleep(turnPause)
	}
	return nil
}

// writeSome executes steps from the given one on: all of them or, if split, until the turn is over.
// It returns the index of the next step.
func (s *Store) writeSome(ctx context.Context, steps []step, from int, rev cola.Revision, split bool) (int, error) {
	start := time.Now() // real time, since it bounds how long others wait
	for i := from; i < len(steps); i++ {
		if steps[i] == nil {
			continue
		}
		if i > from && split && s.turnOver(time.Since(start)) {
			return i, nil
		}
		if err := steps[i].write(ctx, s.records, rev); err != nil {
			return from, err
		}
	}
	return len(steps), nil
}

func (s *Store) turnOver(elapsed time.Duration) bool {
	if elapsed < minTurn {
		return false
	}
	if s.records.gate.Contended() {
		s.lastWaiter = time.Now()
		return true
	}
	return elapsed >= maxTurnAlone || elapsed >= maxTurnShared && s.isShared()
}

// isShared reports whether another writer has recently waited for a split write.
func (s *Store) isShared() bool { return time.Since(s.lastWaiter) < sharedFor }

// revisionRetention is how long a revision is kept after a newer one replaces it.
const revisionRetention = 30 * 24 * time.Hour

const (
	setRevision = `UPDATE meta SET revision = ?1 WHERE revision = ?2`
	setBoth     = `UPDATE meta SET revision = ?1, reference_revision = ?1 WHERE revision = ?2`
	// deleteRevisions looks only at the oldest few revisions. It keeps the one that was the latest
	// at the given time.
	deleteRevisions = `DELETE FROM revisions WHERE revision IN (SELECT revision FROM revisions ORDER BY revision LIMIT 8)
		AND revision < (SELECT max(revision) FROM revisions WHERE revision <= ?)`
)

// nextRevision assigns the revision of a write transaction, for all records that it changes. It
// requires the write lock, which is held until the commit, so revisions become visible in order and
// followers miss none.
func (s *Store) nextRevision(ctx context.Context, base cola.Revision, reference bool) (cola.Revision, error) {
	now := s.currentTime()
	next := max(base+1, cola.Revision(now.UnixMicro()))
	query := setRevision
	if reference {
		query = setBoth
	}
	n, err := s.records.affect(ctx, query, int64(next), int64(base))
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		return 0, errConflict
	}
	return next, s.records.exec(ctx, deleteRevisions, now.Add(-revisionRetention).UnixMicro())
}

// firstRevision assigns the first revision of a filled store, above the given one.
func (s *Store) firstRevision(ctx context.Context, above cola.Revision) error {
	return s.records.exec(ctx, setBoth, max(int64(above)+1, s.currentTime().UnixMicro()), 0)
}

// UpsertPermittees implements store.Permittees in one transaction. Callers split large imports into
// several calls.
func (s *Store) UpsertPermittees(
	ctx context.Context, patches []cola.Patch[cola.Permittee], mode store.Mode,
) ([]store.Outcome, error) {
	return s.upsert(ctx, "upsert permittees", change{
		mode: mode,
		plan: func(ctx context.Context, q querier, _ int) (*plan, error) {
			var known records.Permittees
			numbers := make([]string, len(patches))
			for i := range patches {
				numbers[i] = patches[i].Record.PermitNumber
			}
			if err := known.Load(ctx, stored{q}, numbers); err != nil {
				return nil, err
			}
			p := &plan{}
			for i := range patches {
				outcome, changed := known.Merge(&patches[i])
				if changed == nil {
					p.add(outcome, nil)
					continue
				}
				p.add(outcome, permitteeStep(*changed))
			}
			return p, nil
		},
	})
}

var (
	permitteeNames   = strings.Join(records.Names(records.PermitteeColumns(new(cola.Permittee))), ", ")
	selectPermittees = `SELECT permit_number, from_labels, ` + permitteeNames + `
		FROM permittees WHERE permit_number IN (SELECT value FROM json_each(?))`
	selectChangedPermittees = `SELECT permit_number, ` + permitteeNames + ` FROM permittees WHERE revision > ?`
	replacePermittee        = `INSERT OR REPLACE INTO permittees (permit_number, revision, from_labels, ` + permitteeNames + `)
		VALUES (?, ?, ?, ` + placeholders(len(records.PermitteeColumns(new(cola.Permittee)))) + `)`
)

// Permittees implements records.Reader.
func (s stored) Permittees(ctx context.Context, numbers []string, found func(records.Permittee)) error {
	rows, err := s.q.query(ctx, selectPermittees, argument(numbers))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		p := records.Permittee{Exists: true}
		into := append([]any{&p.PermitNumber, target{&p.FromLabels}},
			targets(records.PermitteeColumns(&p.Permittee))...)
		if err := rows.Scan(into...); err != nil {
			return err
		}
		found(p)
	}
	return rows.Err()
}

// permitteeStep writes one permittee.
type permitteeStep records.Permittee

// write implements step.
func (p permitteeStep) write(ctx context.Context, w *writer, rev cola.Revision) error {
	args := slices.Concat([]any{p.PermitNumber, int64(rev), bit(p.FromLabels)},
		values(records.PermitteeColumns(&p.Permittee)))
	return w.exec(ctx, replacePermittee, args...)
}
