package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
)

// revisionsKept is how long a revision is known after the next one was taken.
const revisionsKept = 30 * 24 * time.Hour

const (
	lockRevision = `SELECT revision, coalesce($1, clock_timestamp()) FROM meta FOR UPDATE`
	setRevision  = `UPDATE meta SET revision = $1`
	setBoth      = `UPDATE meta SET revision = $1, reference_revision = $1`
	// forgetRevisions spares the one that was the latest at the given time.
	forgetRevisions = `DELETE FROM revisions WHERE revision < (SELECT max(revision) FROM revisions
		WHERE revision <= (extract(epoch FROM coalesce($1, clock_timestamp()) - make_interval(secs => $2)) * 1000000)::bigint)`
)

// nextRevision keeps other writers of records out until the transaction ends, and returns the latest revision and the one to
// take next.
func (s *Store) nextRevision(ctx context.Context, tx pgx.Tx) (latest, next cola.Revision, err error) {
	var now time.Time
	err = tx.QueryRow(ctx, lockRevision, s.clock()).Scan(fields{&latest, &now})
	return latest, max(latest+1, cola.Revision(now.UnixMicro())), err
}

// forgetRevisions forgets revisions that are old enough.
func (s *Store) forgetRevisions(ctx context.Context) error {
	_, err := s.general.Exec(ctx, forgetRevisions, s.clock(), revisionsKept.Seconds())
	return err
}
