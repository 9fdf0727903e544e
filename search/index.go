package search

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Index is the search index of one registry. Any number of goroutines may read it while one at a time updates it. It must
// be closed.
type Index struct {
	log       *slog.Logger
	view      atomic.Pointer[View]
	scratches scratches

	updating   sync.Mutex // held from Begin to Commit or Abort
	publishing sync.Mutex // held while the next view is worked out from the last one
	folding    *folding

	kicks   []chan struct{} // tell the background folds that there may be work; none when folding is manual
	stop    context.CancelFunc
	stopped sync.WaitGroup
}

// New returns an index with an empty view.
func New(opts Options) *Index {
	x := &Index{log: opts.Logger, folding: newFolding()}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	x.view.Store(x.emptyView())
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	if opts.ManualFold {
		return x
	}
	for _, choose := range []func([]layer) []layer{smallLayers, largeLayers} {
		kick := make(chan struct{}, 1)
		x.kicks = append(x.kicks, kick)
		x.stopped.Go(func() { x.foldInBackground(ctx, kick, choose) })
	}
	return x
}

func (x *Index) emptyView() *View { return &View{holders: &holders{}, scratches: &x.scratches} }

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
