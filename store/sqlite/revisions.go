package sqlite

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// revisionsKept is how long a revision is known after the next one was taken.
const revisionsKept = 30 * 24 * time.Hour

const (
	setRevision = `UPDATE meta SET revision = ?1 WHERE revision = ?2`
	setBoth     = `UPDATE meta SET revision = ?1, reference_revision = ?1 WHERE revision = ?2`
	// forgetRevisions looks at the oldest few only. It spares the one that was the latest at the given time.
	forgetRevisions = `DELETE FROM revisions WHERE revision IN (SELECT revision FROM revisions ORDER BY revision LIMIT 8)
		AND revision < (SELECT max(revision) FROM revisions WHERE revision <= ?)`
)

// nextRevision takes the revision of a write transaction, which all records changed by it carry. It is taken under the
// write lock, which is held to the commit, so revisions become visible in order and whoever follows them skips nothing.
func (s *Store) nextRevision(ctx context.Context, base cola.Revision, reference bool) (cola.Revision, error) {
	now := s.instant()
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
		return 0, errOvertaken
	}
	return next, s.records.exec(ctx, forgetRevisions, now.Add(-revisionsKept).UnixMicro())
}

// firstRevision takes the revision of a store that was filled, above one that what it was filled with tells of.
func (s *Store) firstRevision(ctx context.Context, above cola.Revision) error {
	return s.records.exec(ctx, setBoth, max(int64(above)+1, s.instant().UnixMicro()), 0)
}
