package search

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// The policy of folding: layers of like size are folded into one, so that there are few, and a label is written again only
// about as often as the registry doubles.
const (
	minTierLabels = 1000 // layers with fewer labels count as this large
	maxSegments   = 12   // layers, beyond which the smallest are folded in any case
)

// compactions keeps count of the segments that are being folded, so that two folds never take the same one.
type compactions struct {
	mu   sync.Mutex
	done sync.Cond // told when a fold ends
	busy map[*segment]bool
}

func newCompactions() *compactions {
	f := &compactions{busy: map[*segment]bool{}}
	f.done.L = &f.mu
	return f
}

// take chooses among the view's layers that nobody folds, and keeps what was chosen from others until release.
func (f *compactions) take(v func() *View, choose func([]segmentView) []segmentView) (*View, []segmentView) {
	f.mu.Lock()
	defer f.mu.Unlock()
	view := v()
	free := slices.DeleteFunc(slices.Clone(view.segments), func(seg segmentView) bool { return f.busy[seg.segment] })
	chosen := choose(free)
	for i := range chosen {
		f.busy[chosen[i].segment] = true
	}
	return view, chosen
}

func (f *compactions) release(layers []segmentView) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range layers {
		delete(f.busy, layers[i].segment)
	}
	f.done.Broadcast()
}

// wait returns once no fold is under way, or the context has ended.
func (f *compactions) wait(ctx context.Context) {
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
	x.compactions.wait(ctx)
	_, err := x.compact(ctx, func(layers []segmentView) []segmentView {
		if len(layers) == 1 && layers[0].deleted == 0 {
			return nil
		}
		return layers
	})
	return err
}

// wakeCompactors tells the background folds that there may be work.
func (x *Index) wakeCompactors() {
	for _, kick := range x.wake {
		select {
		case kick <- struct{}{}:
		default: // it knows already
		}
	}
}

// smallSegment is the number of labels below which a layer is small. Small layers are folded apart from large ones, which take
// so long that many small ones come meanwhile.
const smallSegment = 1 << 16

// pickSmall chooses among the small layers.
func pickSmall(layers []segmentView) []segmentView {
	return pickCompaction(slices.DeleteFunc(slices.Clone(layers), func(seg segmentView) bool { return seg.t.n >= smallSegment }))
}

// pickLarge chooses among all layers, unless they are all small.
func pickLarge(layers []segmentView) []segmentView {
	chosen := pickCompaction(layers)
	if slices.ContainsFunc(chosen, func(seg segmentView) bool { return seg.t.n >= smallSegment }) {
		return chosen
	}
	return nil
}

// compactInBackground folds whatever choose finds worth it, each time it is kicked, until the context ends.
func (x *Index) compactInBackground(ctx context.Context, kick chan struct{}, choose func([]segmentView) []segmentView) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-kick:
		}
		for {
			folded, err := x.compact(ctx, choose)
			if err != nil && ctx.Err() == nil {
				x.log.Error("index segments cannot be folded", "error", err)
			}
			if err != nil || !folded {
				break
			}
			x.wakeCompactors() // what came of it may be worth folding with others
		}
	}
}

// pickCompaction chooses the layers to fold next: the smallest ones, up to the largest that is no larger than all below it
// together. A layer that is half dead is folded on its own.
func pickCompaction(layers []segmentView) []segmentView {
	bySize := slices.Clone(layers)
	size := func(seg *segmentView) int { return max(minTierLabels, seg.liveCount()) }
	slices.SortStableFunc(bySize, func(a, b segmentView) int { return cmp.Compare(size(&a), size(&b)) })
	chosen, below := 0, 0
	for i := range bySize {
		if s := size(&bySize[i]); i > 0 && s <= below {
			chosen = i + 1
		}
		below += size(&bySize[i])
	}
	if len(bySize) > maxSegments {
		chosen = max(chosen, len(bySize)-maxSegments+1)
	}
	if chosen > 0 {
		return bySize[:chosen]
	}
	for i := range bySize {
		if seg := &bySize[i]; seg.deleted > seg.liveCount() {
			return bySize[i : i+1]
		}
	}
	return nil
}

// compact puts the labels of the layers that choose picks into one segment. It returns false when it picks none.
func (x *Index) compact(ctx context.Context, choose func([]segmentView) []segmentView) (folded bool, err error) {
	began := time.Now()
	v, chosen := x.compactions.take(x.View, choose)
	if len(chosen) == 0 {
		return false, nil
	}
	defer x.compactions.release(chosen)
	s, err := compactSegments(ctx, chosen, v.permittees)
	if err != nil {
		return false, fmt.Errorf("fold: %w", err)
	}
	x.replaceSegments(chosen, s)
	x.log.Debug("index segments folded", "segments", len(chosen), "labels", s.t.n, "took", time.Since(began))
	releaseMemory(s.t.n)
	return true, nil
}

// releaseMemory gives back what making a large segment took, which is as much as the segment; left to itself the runtime
// would keep it for minutes.
func releaseMemory(labels uint32) {
	if labels >= 8*postings.BlockDocs {
		debug.FreeOSMemory()
	}
}

func compactSegments(ctx context.Context, layers []segmentView, ps *permittees) (*segment, error) {
	parts := make([]mergeInput, 0, len(layers))
	for i := range layers {
		parts = append(parts, mergeInput{table: layers[i].t, live: layers[i].liveBits()})
	}
	t, err := mergeTables(ctx, parts)
	if err != nil {
		return nil, err
	}
	return buildSegment(ctx, t, func(number string) (company, operating string) {
		if i, ok := ps.find(number); ok {
			company, operating = string(ps.records[i].CompanyName), string(ps.records[i].OperatingName)
		}
		return company, operating
	})
}

// replaceSegments publishes a segment in the place of the layers it was folded from. What was replaced since they were read is dead
// in it, too; a label indexed anew because its permittee was renamed is such a one.
func (x *Index) replaceSegments(folded []segmentView, s *segment) {
	x.publishing.Lock()
	defer x.publishing.Unlock()
	v := x.view.Load()
	var gone []uint32
	for i := range folded {
		gone = append(gone, s.deletedBetween(&folded[i], v.segment(folded[i].segment))...)
	}
	next := *v
	next.segments = make([]segmentView, 0, len(v.segments))
	for _, seg := range v.segments {
		if !slices.ContainsFunc(folded, func(f segmentView) bool { return f.segment == seg.segment }) {
			next.segments = append(next.segments, seg)
		}
	}
	folding := segmentView{segment: s}
	folding.applyAliases(v.aliases)
	if folding = folding.withTombstones(gone); folding.liveCount() > 0 {
		next.segments = append(next.segments, folding)
	}
	x.view.Store(&next)
}

// segment returns the view's layer of a segment, or nil when it is gone because all its labels are.
func (v *View) segment(s *segment) *segmentView {
	for i := range v.segments {
		if v.segments[i].segment == s {
			return &v.segments[i]
		}
	}
	return nil
}

// deletedBetween returns the segment's documents that died in a layer between two views.
func (s *segment) deletedBetween(then, now *segmentView) (docs []uint32) {
	if now != nil && now.deleted == then.deleted {
		return nil
	}
	for row := range then.t.n {
		if then.isLive(row) && (now == nil || !now.isLive(row)) {
			if doc, ok := s.t.doc(then.t.position(row).TTBID); ok {
				docs = append(docs, doc)
			}
		}
	}
	return docs
}
