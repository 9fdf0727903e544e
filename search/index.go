// Package search is the in-memory index of the registry: it answers every search, filter, count and list with an exact
// total, from one process's memory.
//
// An Index holds an immutable View behind an atomic pointer. Readers take the view and no lock. A writer collects changes in
// an Update and publishes them all at once with Commit. A view is made of segments: each holds some labels in result order
// (approval date newest first, then TTB id descending, undated last), so that postings come out sorted, a date window is a
// range of document numbers, and a page is the first bits of a bitmap. A label that changes is written again into a new
// segment and marked dead in its old one. Segments are folded together in the background from their own columns.
//
// Within a segment everything is a column of numbers, a dictionary or a posting list, none of which holds pointers, so the
// garbage collector has nothing to walk.
package search

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// Index is the search index of one registry. Any number of goroutines may read it while one at a time updates it. It must
// be closed.
type Index struct {
	log     *slog.Logger
	view    atomic.Pointer[View]
	scratch postings.ScratchPool

	updating    sync.Mutex // held from Begin to Commit or Abort
	publishing  sync.Mutex // held while the next view is worked out from the last one
	compactions *compactions

	wake    []chan struct{} // tell the background folds that there may be work; none when folding is manual
	stop    context.CancelFunc
	stopped sync.WaitGroup
}

// New returns an index with an empty view.
func New(opts Options) *Index {
	x := &Index{log: opts.Logger, compactions: newCompactions()}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	x.view.Store(x.emptyView())
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	if opts.ManualCompaction {
		return x
	}
	for _, choose := range []func([]segmentView) []segmentView{pickSmall, pickLarge} {
		kick := make(chan struct{}, 1)
		x.wake = append(x.wake, kick)
		x.stopped.Go(func() { x.compactInBackground(ctx, kick, choose) })
	}
	return x
}

func (x *Index) emptyView() *View { return &View{permittees: &permittees{}, scratch: &x.scratch} }

// View returns the registry as it was last published. It stays as it is for as long as it is held.
func (x *Index) View() *View { return x.view.Load() }

// Reset empties the index, as if it were new. It waits for an update to end.
func (x *Index) Reset() {
	x.updating.Lock()
	defer x.updating.Unlock()
	x.publishing.Lock()
	defer x.publishing.Unlock()
	x.view.Store(x.emptyView())
}

// Close ends background folding and waits for it. Views stay good, and so do updates, which are no longer folded.
func (x *Index) Close() {
	x.stop()
	x.stopped.Wait()
}

// Options configures an Index. The zero Options are good.
type Options struct {
	Logger *slog.Logger // where compactions are logged; nil discards
	// ManualCompaction leaves compaction to calls of Compact. Otherwise the index compacts itself in the background.
	ManualCompaction bool
}

// Marks are the revisions of a store that an index has been brought up to.
type Marks struct {
	Labels, Permittees, References cola.Revision
}
