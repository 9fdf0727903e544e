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

// The compaction policy merges segments of similar size, which keeps their number small and
// rewrites each label only about once each time the registry doubles in size.
const (
	minTierLabels = 1000 // smaller segments are treated as this size
	maxSegments   = 12   // above this, the smallest segments are compacted regardless of size
)

// compactions tracks the segments that are being compacted, so that no segment is in two
// compactions at once.
type compactions struct {
	mu   sync.Mutex
	done sync.Cond // signaled when a compaction ends
	busy map[*segment]bool
}

func newCompactions() *compactions {
	f := &compactions{busy: map[*segment]bool{}}
	f.done.L = &f.mu
	return f
}

// take chooses among the view's segments that are not being compacted, and reserves the chosen ones
// until release.
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

// release ends the reservation of segments.
func (f *compactions) release(segments []segmentView) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range segments {
		delete(f.busy, segments[i].segment)
	}
	f.done.Broadcast()
}

// wait waits until no compaction is running or ctx is done. It returns the context's error, if any.
func (f *compactions) wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		f.mu.Lock() // otherwise the signal may be sent just before Wait and be lost
		defer f.mu.Unlock()
		f.done.Broadcast()
	})()
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.busy) > 0 && ctx.Err() == nil {
		f.done.Wait()
	}
	return ctx.Err()
}

// Compact merges all segments into one without blocking searches or updates. Search results do not
// change. Labels added during compaction stay in separate segments. If ctx is canceled, Compact
// stops and returns the context's error.
func (x *Index) Compact(ctx context.Context) error {
	if err := x.compactions.wait(ctx); err != nil {
		return fmt.Errorf("wait for compactions: %w", err)
	}
	_, err := x.compact(ctx, func(segments []segmentView) []segmentView {
		if len(segments) == 1 && segments[0].deleted == 0 {
			return nil
		}
		return segments
	})
	return err
}

// wakeCompactors signals the background compactions that there may be work.
func (x *Index) wakeCompactors() {
	for _, wake := range x.wake {
		select {
		case wake <- struct{}{}:
		default: // already signaled
		}
	}
}

// smallSegment is the number of labels below which a segment is small. Small segments are compacted
// separately, because many of them arrive while large ones are being compacted.
const smallSegment = 1 << 16

// pickSmall is pickCompaction for the small segments.
func pickSmall(segments []segmentView) []segmentView {
	isLarge := func(seg segmentView) bool { return seg.t.n >= smallSegment }
	return pickCompaction(slices.DeleteFunc(slices.Clone(segments), isLarge))
}

// pickLarge is pickCompaction for all segments, but returns nil if only small ones are chosen.
func pickLarge(segments []segmentView) []segmentView {
	chosen := pickCompaction(segments)
	if slices.ContainsFunc(chosen, func(seg segmentView) bool { return seg.t.n >= smallSegment }) {
		return chosen
	}
	return nil
}

// compactInBackground compacts the segments that choose returns, each time wake is signaled, until
// ctx is done.
func (x *Index) compactInBackground(ctx context.Context, wake chan struct{}, choose func([]segmentView) []segmentView) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
		for {
			compacted, err := x.compact(ctx, choose)
			if err != nil && ctx.Err() == nil {
				x.log.Error("compaction failed", "error", err)
			}
			if err != nil || !compacted {
				break
			}
			x.wakeCompactors() // the result may be worth compacting with others
		}
	}
}

// pickCompaction returns the segments to compact next: the smallest ones, up to the largest that is
// no larger than all smaller ones together. If there are none, it returns a single segment with
// more tombstones than live labels, or nil.
func pickCompaction(segments []segmentView) []segmentView {
	bySize := slices.Clone(segments)
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

// compact merges the segments that choose returns. It returns false if choose returns none.
func (x *Index) compact(ctx context.Context, choose func([]segmentView) []segmentView) (compacted bool, err error) {
	began := time.Now()
	v, chosen := x.compactions.take(x.View, choose)
	if len(chosen) == 0 {
		return false, nil
	}
	defer x.compactions.release(chosen)
	s, err := compactSegments(ctx, chosen, v.permittees)
	if err != nil {
		return false, fmt.Errorf("compact: %w", err)
	}
	x.replaceSegments(chosen, s)
	x.log.Debug("index segments compacted", "segments", len(chosen), "labels", s.t.n, "took", time.Since(began))
	releaseMemory(s.t.n)
	return true, nil
}

// releaseMemory returns memory to the operating system after a large segment is built. Building one
// temporarily takes as much memory as the segment itself, which the runtime would keep for minutes.
func releaseMemory(labels uint32) {
	if labels >= 8*postings.BlockDocs {
		debug.FreeOSMemory()
	}
}

// compactSegments builds one segment from the live labels of several.
func compactSegments(ctx context.Context, segments []segmentView, ps *permittees) (*segment, error) {
	inputs := make([]mergeInput, 0, len(segments))
	for i := range segments {
		inputs = append(inputs, mergeInput{table: segments[i].t, live: segments[i].liveBits()})
	}
	t, err := mergeTables(ctx, inputs)
	if err != nil {
		return nil, err
	}
	s, err := buildSegment(ctx, t, func(number string) (company, operating string) {
		if i, ok := ps.find(number); ok {
			company, operating = string(ps.records[i].CompanyName), string(ps.records[i].OperatingName)
		}
		return company, operating
	})
	if err != nil {
		return nil, err
	}
	s.findPermittees(ps.find)
	return s, nil
}

// replaceSegments publishes s in place of the segments it was compacted from. Labels that were
// replaced after the compaction began get tombstones in s, as do labels that were indexed again
// because their permittee was renamed.
func (x *Index) replaceSegments(old []segmentView, s *segment) {
	x.publishing.Lock()
	defer x.publishing.Unlock()
	v := x.view.Load()
	var deleted []uint32
	for i := range old {
		deleted = append(deleted, s.deletedBetween(&old[i], v.segment(old[i].segment))...)
	}
	next := *v
	next.segments = make([]segmentView, 0, len(v.segments))
	for _, seg := range v.segments {
		if !slices.ContainsFunc(old, func(f segmentView) bool { return f.segment == seg.segment }) {
			next.segments = append(next.segments, seg)
		}
	}
	compacted := segmentView{segment: s}
	compacted.applyAliases(v.aliases)
	if compacted = compacted.withTombstones(deleted); compacted.liveCount() > 0 {
		next.segments = append(next.segments, compacted)
	}
	x.publish(&next)
}

// segment returns the view's segment for s, or nil if it is gone because it has no live labels.
func (v *View) segment(s *segment) *segmentView {
	for i := range v.segments {
		if v.segments[i].segment == s {
			return &v.segments[i]
		}
	}
	return nil
}

// deletedBetween returns the documents of s whose labels got a tombstone in an input segment
// between its old and its current view, which is nil if the segment has no live labels.
func (s *segment) deletedBetween(old, current *segmentView) (docs []uint32) {
	if current != nil && current.deleted == old.deleted {
		return nil
	}
	for row := range old.t.n {
		if old.isLive(row) && (current == nil || !current.isLive(row)) {
			if doc, ok := s.t.doc(old.t.position(row).TTBID); ok {
				docs = append(docs, doc)
			}
		}
	}
	return docs
}
