package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
)

// errOtherPast: what the index shows, or was about to, is not in the store's past.
var errOtherPast = errors.New("the database was set back while it was read")

// checkPast fails with errOtherPast unless all that the index was brought up to, and is about to be, is in the store's past.
// After a backup was restored over it, or a standby took over that lacked the latest commits, it is not, although the numbers
// may be higher than ever. It is asked after everything was read, so that the store is not set back in between.
func (f *Follower) checkPast(ctx context.Context, marks ...search.Marks) error {
	var revisions []cola.Revision
	for _, m := range marks {
		revisions = append(revisions, m.Labels, m.Permittees, m.References)
	}
	slices.Sort(revisions)
	ctx, cancel := context.WithTimeout(ctx, revisionWait)
	defer cancel()
	for _, rev := range slices.Compact(revisions) {
		has, err := f.service.store.HasRevision(ctx, rev)
		if err != nil {
			return fmt.Errorf("look up revision: %w", err)
		}
		if !has {
			return errOtherPast
		}
	}
	return nil
}

// rebuild starts over. Until it is done the service is not ready: to answer from an index that lacks almost everything would
// be worse.
func (f *Follower) rebuild(ctx context.Context) (labels int, err error) {
	f.service.log.Warn("the database is not the one, or not in the state, that the index was built from; building the index anew")
	f.service.ready.Store(false)
	f.restored, f.complete = false, false
	f.service.index.Reset()
	latest, err := f.revision(ctx)
	if err != nil {
		return 0, err
	}
	return f.update(ctx, search.Marks{}, latest)
}
