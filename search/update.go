package search

import (
	"context"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// Update collects changes to publish together. It is not safe for concurrent use. End it with
// Commit or Abort.
type Update struct {
	index      *Index // nil once the update has ended
	rows       *tableBuilder
	tables     []*table // flushed rows, oldest first
	permittees map[string]cola.Permittee
	aliases    []vocabulary.CategoryAlias
	hasAliases bool

	appellations cola.Appellations // nil if unchanged
}

// maxBufferedRows is the number of labels that are collected before they are converted to a table,
// which is more compact.
const maxBufferedRows = 1 << 18

// Begin starts an update. It waits until no other update is running.
func (x *Index) Begin() *Update {
	x.updating.Lock()
	return &Update{index: x, rows: newTableBuilder(), permittees: map[string]cola.Permittee{}}
}

// Label adds or replaces a label. It copies the record.
func (u *Update) Label(r *cola.IndexRecord) {
	u.rows.add(r)
	if u.rows.table.n == maxBufferedRows {
		u.flush()
	}
}

// flush converts the collected labels to a table.
func (u *Update) flush() {
	if u.rows.table.n > 0 {
		u.tables = append(u.tables, u.rows.build())
		u.rows = newTableBuilder()
	}
}

// Permittee adds or replaces a permittee. It copies the record.
func (u *Update) Permittee(p *cola.Permittee) {
	number := vocabulary.NormalizePermit(p.PermitNumber)
	u.permittees[number] = copyPermittee(p, number)
}

// Aliases replaces the category aliases.
func (u *Update) Aliases(a []vocabulary.CategoryAlias) {
	u.aliases, u.hasAliases = append([]vocabulary.CategoryAlias(nil), a...), true
}

// Appellations replaces the table of appellations.
func (u *Update) Appellations(a cola.Appellations) { u.appellations = a }

// Abort ends the update without publishing anything. It is a no-op after Commit.
func (u *Update) Abort() {
	if u.index != nil {
		x := u.index
		*u = Update{}
		x.updating.Unlock()
	}
}

// Commit publishes all changes atomically and ends the update. An error leaves the index unchanged.
func (u *Update) Commit(m Marks) error {
	if u.index == nil {
		return fmt.Errorf("search: update already ended")
	}
	x := u.index
	defer u.Abort()
	u.flush()
	var collected uint32
	for _, t := range u.tables {
		collected += t.n
	}
	x.publishing.Lock()
	defer x.publishing.Unlock()
	next, err := u.apply(x.view.Load())
	if err != nil {
		return fmt.Errorf("index changes: %w", err)
	}
	next.marks = m
	x.publish(next)
	x.wakeCompactors()
	releaseMemory(collected)
	return nil
}

// apply returns the view that results from applying the update to v.
func (u *Update) apply(v *View) (*View, error) {
	next := *v
	if u.hasAliases {
		next.publishedAliases, next.aliases = u.aliases, vocabulary.AliasTable(u.aliases)
		next.segments = withAliases(v.segments, next.aliases)
	}
	if u.appellations != nil {
		next.appellations = u.appellations
	}
	if len(u.tables) == 0 && len(u.permittees) == 0 {
		return &next, nil
	}
	pb := v.permittees.builder()
	for number := range u.permittees {
		p := u.permittees[number]
		pb.put(&p)
	}
	inputs := renamedLabels(next.segments, pb)
	for _, t := range u.tables {
		inputs = append(inputs, mergeInput{table: t})
	}
	u.tables = nil
	if len(inputs) > 0 {
		if err := next.addSegment(inputs, pb); err != nil {
			return nil, err
		}
	}
	next.permittees = pb.build(next.segments)
	return &next, nil
}

// renamedLabels returns the live labels of renamed permittees. They must be indexed again, because
// full-text queries search the names of a label's permittee.
func renamedLabels(segments []segmentView, pb *permitteesBuilder) (inputs []mergeInput) {
	for i := range segments {
		seg := &segments[i]
		var live []uint64
		for h := range pb.renamed {
			for _, of := range seg.docsWithPermit(pb.next.records[h].PermitNumber, nil) {
				if live == nil {
					live = make([]uint64, postings.BlockCount(seg.t.n)*postings.BlockWords)
				}
				of.OrInto(live, postings.AllBlocks(seg.t.n))
			}
		}
		if live != nil {
			if seg.tombstones != nil {
				postings.AndNotWords(live, seg.tombstones)
			}
			inputs = append(inputs, mergeInput{table: seg.t, live: live})
		}
	}
	return inputs
}

// addSegment adds a segment with the inputs' labels, and tombstones for their older versions.
func (v *View) addSegment(inputs []mergeInput, pb *permitteesBuilder) error {
	ctx := context.Background()
	t, err := mergeTables(ctx, inputs)
	if err != nil || t.n == 0 {
		return err
	}
	clear(inputs)
	s, err := buildSegment(ctx, t, pb.companyNames)
	if err != nil {
		return err
	}
	s.findPermittees(func(number string) (uint32, bool) { return pb.number(number), true })
	v.segments = addTombstones(v.segments, t.ids, func(seg *segmentView, docs []uint32) {
		pb.countLabels(seg.segment, func(yield func(uint32)) {
			for _, doc := range docs {
				yield(doc)
			}
		}, -1)
	})
	pb.countLabels(s, mergeInput{table: t}.each, +1)
	added := segmentView{segment: s}
	added.applyAliases(v.aliases)
	v.segments = append(v.segments, added)
	return nil
}

// addTombstones adds tombstones for the labels with the given IDs. It returns the segments that
// still have live labels, and calls onDelete with the new tombstones of each segment.
func addTombstones(segments []segmentView, ids []uint64, onDelete func(seg *segmentView, docs []uint32)) []segmentView {
	left := make([]segmentView, 0, len(segments)+1)
	for i := range segments {
		seg := &segments[i]
		var docs []uint32
		for _, id := range ids {
			if doc, ok := seg.t.doc(cola.TTBID(id)); ok && seg.isLive(doc) {
				docs = append(docs, doc)
			}
		}
		onDelete(seg, docs)
		if b := seg.withTombstones(docs); b.liveCount() > 0 {
			left = append(left, b)
		}
	}
	return left
}

// withAliases returns the segments with the given category aliases applied.
func withAliases(segments []segmentView, aliases map[string]string) []segmentView {
	next := append([]segmentView(nil), segments...)
	for i := range next {
		next[i].applyAliases(aliases)
	}
	return next
}
