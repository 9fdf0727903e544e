// Package search is the in-memory index of the registry. It serves every search, filter, count and
// list, with exact totals.
//
// # Views and updates
//
// An [Index] holds an immutable [View] behind an atomic pointer. Readers load the view and take no
// lock. A writer collects changes in an [Update] and publishes them atomically with Commit.
//
// # Segments
//
// A view consists of segments. A segment holds labels in result order: latest effective date first,
// then by descending TTB ID, undated labels last. Therefore, posting lists are sorted, a date
// window is a range of documents, and a page is a run of set bits in a bitmap. A changed label is
// written to a new segment and gets a tombstone in the old one. Compaction merges segments in the
// background, using their own columns rather than the store.
//
// A segment consists of columns, dictionaries and posting lists. Their slices contain no pointers,
// so the garbage collector does not scan them.
package search

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// Index is the search index of a registry. Any number of goroutines may read it while one at a time
// updates it. Close it after use.
type Index struct {
	log     *slog.Logger
	view    atomic.Pointer[View]
	scratch postings.ScratchPool

	updating    sync.Mutex // held from Begin to Commit or Abort
	publishing  sync.Mutex // held while the next view is being derived from the last one
	compactions *compactions

	wake    []chan struct{} // signal the background compactions; empty if compaction is manual
	stop    context.CancelFunc
	workers sync.WaitGroup
}

// New returns an empty index.
func New(opts Options) *Index {
	x := &Index{log: opts.Logger, compactions: newCompactions()}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	x.publish(x.emptyView())
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	if opts.ManualCompaction {
		return x
	}
	for _, choose := range []func([]segmentView) []segmentView{pickSmall, pickLarge} {
		wake := make(chan struct{}, 1)
		x.wake = append(x.wake, wake)
		x.workers.Go(func() { x.compactInBackground(ctx, wake, choose) })
	}
	return x
}

// emptyView returns a view without labels.
func (x *Index) emptyView() *View { return &View{permittees: &permittees{}, scratch: &x.scratch} }

// publish makes a view the current one. The view must be new.
func (x *Index) publish(v *View) {
	v.coverage, v.suggestions, v.firstSeen = &coverageCache{}, &suggestionCache{}, &firstSeenCache{}
	x.view.Store(v)
}

// View returns the published view.
func (x *Index) View() *View { return x.view.Load() }

// Reset empties the index. It waits for a running update to end.
func (x *Index) Reset() {
	x.updating.Lock()
	defer x.updating.Unlock()
	x.publishing.Lock()
	defer x.publishing.Unlock()
	x.publish(x.emptyView())
}

// Close stops background compaction and waits until it has stopped. Views and updates keep working,
// but segments are no longer compacted automatically.
func (x *Index) Close() {
	x.stop()
	x.workers.Wait()
}

// Options configures an Index. The zero value is valid.
type Options struct {
	Logger *slog.Logger // logs compactions; default: discard
	// ManualCompaction means that segments are compacted only by calls to Compact. Otherwise the
	// index compacts itself in the background.
	ManualCompaction bool
}

// Marks are the store revisions that an index is up to date with.
type Marks struct {
	Labels, Permittees, References cola.Revision
}
