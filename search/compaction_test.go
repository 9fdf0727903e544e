package search

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestChangesDuringCompaction replaces a label and renames a permittee during a compaction.
func TestChangesDuringCompaction(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	for id := range cola.TTBID(4) {
		u := x.Begin()
		u.Label(labelWith(id+1, func(c *cola.Cola) { c.PermitNumber = []string{"NJ-I-721", "CA-I-1"}[id%2] }))
		u.Permittee(&cola.Permittee{PermitNumber: "NJ-I-721", CompanyName: "OLD NAME"})
		u.Permittee(&cola.Permittee{PermitNumber: "CA-I-1"})
		mustCommit(t, u, Marks{})
	}
	v := x.View()
	compacted, err := compactSegments(context.Background(), v.segments, v.permittees)
	if err != nil {
		t.Fatal(err)
	}
	u := x.Begin()
	u.Label(labelWith(2, func(c *cola.Cola) { c.BrandName, c.PermitNumber = "OTHER", "CA-I-1" }))
	u.Permittee(&cola.Permittee{PermitNumber: "NJ-I-721", CompanyName: "NEW NAME"})
	mustCommit(t, u, Marks{Labels: 9})
	x.replaceSegments(v.segments, compacted)
	now := x.View()
	want(t, "lenz", find(now, "lenz"), []cola.TTBID{4, 3, 1})
	want(t, "other", find(now, "other"), []cola.TTBID{2})
	want(t, "the old name", find(now, `"old name"`), nil)
	want(t, "the new name", find(now, `"new name"`), []cola.TTBID{3, 1})
	if s := now.Stats(); s.Labels != 4 || s.Segments != 2 || s.Tombstones != 3 || now.Marks() != (Marks{Labels: 9}) {
		t.Errorf("Stats = %+v, Marks = %+v; want 4 labels, 2 segments, 3 tombstones, labels at revision 9", s, now.Marks())
	}
}

func TestCanceledCompaction(t *testing.T) {
	x := someIndex(t)
	before := x.View()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := x.Compact(ctx); err == nil {
		t.Error("Compact(canceled) error = nil, want non-nil")
	}
	if x.View() != before {
		t.Error("canceled Compact changed the view")
	}
}

func TestPickCompaction(t *testing.T) {
	for _, c := range []struct {
		sizes  []int // number of labels; negative if most of them have tombstones
		chosen int
	}{
		{nil, 0},
		{[]int{5000}, 0},
		{[]int{-5000}, 1},
		{[]int{5000, 5}, 0},
		{[]int{5000, 5, 5}, 2},
		{[]int{5000, 4000}, 0},
		{[]int{4000, 2000, 2000}, 3},
		{[]int{50_000, 4000, 2000, 2000}, 3},
		{[]int{1 << 20, 1 << 19, 1 << 18, 1 << 17, 1 << 16, 1 << 15, 1 << 14, 1 << 13, 1 << 12, 1 << 11, 1000}, 0},
		{
			[]int{1 << 21, 1 << 20, 1 << 19, 1 << 18, 1 << 17, 1 << 16, 1 << 15, 1 << 14, 1 << 13, 1 << 12, 1 << 11, 1001, 1000},
			2,
		},
	} {
		var segments []segmentView
		for _, size := range c.sizes {
			seg := segmentView{segment: &segment{t: &table{n: uint32(max(size, -size))}}}
			if size < 0 {
				seg.deleted = -size * 3 / 4
			}
			segments = append(segments, seg)
		}
		if got := pickCompaction(segments); len(got) != c.chosen {
			t.Errorf("pickCompaction(sizes %v) = %d segments, want %d", c.sizes, len(got), c.chosen)
		}
	}
}

// TestRepeatedCompaction compacts like the background worker after many small updates.
func TestRepeatedCompaction(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	const labels = 50
	for id := range cola.TTBID(labels) {
		u := x.Begin()
		u.Label(labelWith(id+1, nil))
		mustCommit(t, u, Marks{})
	}
	if compacted, err := x.compact(context.Background(), pickLarge); compacted || err != nil {
		t.Errorf("compact(pickLarge) = %v, %v with only small segments; want false, nil", compacted, err)
	}
	for {
		compacted, err := x.compact(context.Background(), pickSmall)
		if err != nil {
			t.Fatal(err)
		}
		if !compacted {
			break
		}
	}
	if s := x.View().Stats(); s.Segments != 1 || s.Labels != labels {
		t.Errorf("Stats = %+v, want 1 segment with %d labels", s, labels)
	}
}

// TestConcurrentCompactions checks that a reserved segment is not compacted again.
func TestConcurrentCompactions(t *testing.T) {
	x := someIndex(t)
	all := func(segments []segmentView) []segmentView { return segments }
	_, picked := x.compactions.take(x.View, all)
	if _, more := x.compactions.take(x.View, all); len(picked) != 2 || len(more) != 0 {
		t.Errorf("take reserved %d segments, then %d; want 2, 0", len(picked), len(more))
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := x.Compact(canceled); !errors.Is(err, context.Canceled) || x.View().Stats().Segments != 2 {
		t.Errorf("Compact(canceled) with all segments reserved: error = %v, %d segments; want canceled, 2",
			err, x.View().Stats().Segments)
	}
	x.compactions.release(picked)
	if err := x.Compact(context.Background()); err != nil || x.View().Stats().Segments != 1 {
		t.Errorf("Compact after release: error = %v, Stats = %+v; want nil, 1 segment", err, x.View().Stats())
	}
}

// lateContext is canceled during the first call to Err, which still returns nil.
type lateContext struct {
	context.Context
	cancel context.CancelFunc
}

func (c lateContext) Err() error {
	err := c.Context.Err()
	if c.cancel(); err == nil {
		time.Sleep(50 * time.Millisecond) // let context.AfterFunc run
	}
	return err
}

// TestCompactionCanceledWhileWaiting checks that wait notices a cancellation that happens just
// before it blocks.
func TestCompactionCanceledWhileWaiting(t *testing.T) {
	x := someIndex(t)
	_, picked := x.compactions.take(x.View, func(segments []segmentView) []segmentView { return segments })
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { waited <- x.compactions.wait(lateContext{ctx, cancel}) }()
	select {
	case err := <-waited:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("wait error = %v, want canceled", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("wait missed the cancellation")
	}
	x.compactions.release(picked)
}
