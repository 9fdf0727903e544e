package search

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// The policy of folding: layers of like size are folded into one, so that there are few, and a label is written again only
// about as often as the registry doubles.
const (
	foldLeast = 1000 // layers with fewer labels count as this large
	foldMost  = 12   // layers, beyond which the smallest are folded in any case
)

// folding keeps count of the segments that are being folded, so that two folds never take the same one.
type folding struct {
	mu   sync.Mutex
	done sync.Cond // told when a fold ends
	busy map[*segment]bool
}

func newFolding() *folding {
	f := &folding{busy: map[*segment]bool{}}
	f.done.L = &f.mu
	return f
}

// take chooses among the view's layers that nobody folds, and keeps what was chosen from others until release.
func (f *folding) take(v func() *View, choose func([]layer) []layer) (*View, []layer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	view := v()
	free := slices.DeleteFunc(slices.Clone(view.layers), func(l layer) bool { return f.busy[l.segment] })
	chosen := choose(free)
	for i := range chosen {
		f.busy[chosen[i].segment] = true
	}
	return view, chosen
}

func (f *folding) release(layers []layer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range layers {
		delete(f.busy, layers[i].segment)
	}
	f.done.Broadcast()
}

// wait returns once no fold is under way, or the context has ended.
func (f *folding) wait(ctx context.Context) {
	defer context.AfterFunc(ctx, f.done.Broadcast)()
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.busy) > 0 && ctx.Err() == nil {
		f.done.Wait()
	}
}

// Compact puts all labels into one segment, from the segments' own columns, while the index is searched and updated. It
// changes no result. It ends early with the context's error. Labels that come meanwhile stay in segments of their own.
func (x *Index) Compact(ctx context.Context) error {
	x.folding.wait(ctx)
	_, err := x.fold(ctx, func(layers []layer) []layer {
		if len(layers) == 1 && layers[0].deaths == 0 {
			return nil
		}
		return layers
	})
	return err
}

// foldSoon tells the background folds that there may be work.
func (x *Index) foldSoon() {
	for _, kick := range x.kicks {
		select {
		case kick <- struct{}{}:
		default: // it knows already
		}
	}
}

// foldSmall is the number of labels below which a layer is small. Small layers are folded apart from large ones, which take
// so long that many small ones come meanwhile.
const foldSmall = 1 << 16

// smallLayers chooses among the small layers.
func smallLayers(layers []layer) []layer {
	return worthFolding(slices.DeleteFunc(slices.Clone(layers), func(l layer) bool { return l.t.n >= foldSmall }))
}

// largeLayers chooses among all layers, unless they are all small.
func largeLayers(layers []layer) []layer {
	chosen := worthFolding(layers)
	if slices.ContainsFunc(chosen, func(l layer) bool { return l.t.n >= foldSmall }) {
		return chosen
	}
	return nil
}

// foldInBackground folds whatever choose finds worth it, each time it is kicked, until the context ends.
func (x *Index) foldInBackground(ctx context.Context, kick chan struct{}, choose func([]layer) []layer) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-kick:
		}
		for {
			folded, err := x.fold(ctx, choose)
			if err != nil && ctx.Err() == nil {
				x.log.Error("index segments cannot be folded", "error", err)
			}
			if err != nil || !folded {
				break
			}
			x.foldSoon() // what came of it may be worth folding with others
		}
	}
}

// worthFolding chooses the layers to fold next: the smallest ones, up to the largest that is no larger than all below it
// together. A layer that is half dead is folded on its own.
func worthFolding(layers []layer) []layer {
	bySize := slices.Clone(layers)
	size := func(l *layer) int { return max(foldLeast, l.living()) }
	slices.SortStableFunc(bySize, func(a, b layer) int { return cmp.Compare(size(&a), size(&b)) })
	chosen, below := 0, 0
	for i := range bySize {
		if s := size(&bySize[i]); i > 0 && s <= below {
			chosen = i + 1
		}
		below += size(&bySize[i])
	}
	if len(bySize) > foldMost {
		chosen = max(chosen, len(bySize)-foldMost+1)
	}
	if chosen > 0 {
		return bySize[:chosen]
	}
	for i := range bySize {
		if l := &bySize[i]; l.deaths > l.living() {
			return bySize[i : i+1]
		}
	}
	return nil
}

// fold puts the labels of the layers that choose picks into one segment. It returns false when it picks none.
func (x *Index) fold(ctx context.Context, choose func([]layer) []layer) (folded bool, err error) {
	began := time.Now()
	v, chosen := x.folding.take(x.View, choose)
	if len(chosen) == 0 {
		return false, nil
	}
	defer x.folding.release(chosen)
	s, err := foldLayers(ctx, chosen, v.holders)
	if err != nil {
		return false, fmt.Errorf("fold: %w", err)
	}
	x.replace(chosen, s)
	x.log.Debug("index segments folded", "segments", len(chosen), "labels", s.t.n, "took", time.Since(began))
	releaseMemory(s.t.n)
	return true, nil
}

// releaseMemory gives back what making a large segment took, which is as much as the segment; left to itself the runtime
// would keep it for minutes.
func releaseMemory(labels uint32) {
	if labels >= 8*blockDocs {
		debug.FreeOSMemory()
	}
}

func foldLayers(ctx context.Context, layers []layer, h *holders) (*segment, error) {
	parts := make([]part, 0, len(layers))
	for i := range layers {
		parts = append(parts, part{t: layers[i].t, live: layers[i].livingBits()})
	}
	t, err := merge(ctx, parts)
	if err != nil {
		return nil, err
	}
	return buildSegment(ctx, t, func(number string) (company, operating string) {
		if i, ok := h.find(number); ok {
			company, operating = string(h.recs[i].CompanyName), string(h.recs[i].OperatingName)
		}
		return company, operating
	})
}

// replace publishes a segment in the place of the layers it was folded from. What was replaced since they were read is dead
// in it, too; a label indexed anew because its permittee was renamed is such a one.
func (x *Index) replace(folded []layer, s *segment) {
	x.publishing.Lock()
	defer x.publishing.Unlock()
	v := x.view.Load()
	var gone []uint32
	for i := range folded {
		gone = append(gone, s.buried(&folded[i], v.layer(folded[i].segment))...)
	}
	next := *v
	next.layers = make([]layer, 0, len(v.layers))
	for _, l := range v.layers {
		if !slices.ContainsFunc(folded, func(f layer) bool { return f.segment == l.segment }) {
			next.layers = append(next.layers, l)
		}
	}
	folding := layer{segment: s}
	folding.resolve(v.aliases)
	if folding = folding.bury(gone); folding.living() > 0 {
		next.layers = append(next.layers, folding)
	}
	x.view.Store(&next)
}

// layer returns the view's layer of a segment, or nil when it is gone because all its labels are.
func (v *View) layer(s *segment) *layer {
	for i := range v.layers {
		if v.layers[i].segment == s {
			return &v.layers[i]
		}
	}
	return nil
}

// buried returns the segment's documents that died in a layer between two views.
func (s *segment) buried(then, now *layer) (docs []uint32) {
	if now != nil && now.deaths == then.deaths {
		return nil
	}
	for row := range then.t.n {
		if then.alive(row) && (now == nil || !now.alive(row)) {
			if doc, ok := s.t.doc(then.t.position(row).TTBID); ok {
				docs = append(docs, doc)
			}
		}
	}
	return docs
}
