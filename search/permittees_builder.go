package search

import (
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// permitteesBuilder builds the next view's permittees from the last view's.
type permitteesBuilder struct {
	next    *permittees
	added   map[string]uint32 // by permit number
	rerank  map[uint32]bool   // permittees whose rank may have changed
	renamed map[uint32]bool
	stale   map[uint32]bool // permittees whose latest dates must be recomputed
}

// builder returns a builder that starts with a copy of ps.
func (ps *permittees) builder() *permitteesBuilder {
	next := *ps
	next.records, next.stats = slices.Clone(ps.records), slices.Clone(ps.stats)
	if len(next.states) == 0 {
		next.states, next.types = []string{""}, []string{""}
	}
	return &permitteesBuilder{
		next:    &next,
		added:   map[string]uint32{},
		rerank:  map[uint32]bool{},
		renamed: map[uint32]bool{},
		stale:   map[uint32]bool{},
	}
}

// number returns the index of the permittee with the given permit number, adding a permittee if
// there is none.
func (b *permitteesBuilder) number(number string) uint32 {
	if i, ok := b.next.find(number); ok {
		return i
	}
	i, ok := b.added[number]
	if !ok {
		i = uint32(len(b.next.records))
		number = strings.Clone(number)
		b.added[number] = i
		b.next.records = append(b.next.records, &permittee{Permittee: cola.Permittee{PermitNumber: number}})
		b.next.stats = append(b.next.stats, permitteeStats{})
		b.renamed[i] = true
	}
	return i
}

// put sets a permittee's record.
func (b *permitteesBuilder) put(p *cola.Permittee) {
	i := b.number(vocabulary.NormalizePermit(p.PermitNumber))
	prev := b.next.records[i]
	now := &permittee{known: true, Permittee: copyPermittee(p, prev.PermitNumber)}
	b.next.records[i] = now
	if prev.CompanyName != now.CompanyName || prev.OperatingName != now.OperatingName {
		b.renamed[i] = true
	}
	f := &b.next.stats[i]
	f.known, f.listed = true, p.Listed
	f.state = valueNumber(&b.next.states, strings.ToUpper(strings.TrimSpace(string(p.CompanyState))))
	f.kind = valueNumber(&b.next.types, text.Fold(string(p.PermitteeType)))
	b.rerank[i] = true
}

// copyPermittee returns a copy with all strings in one allocation.
func copyPermittee(p *cola.Permittee, number string) cola.Permittee {
	parts := []string{
		string(p.CompanyName), string(p.OperatingName), string(p.CompanyState), string(p.CompanyZipCode),
		string(p.PermitteeType),
	}
	all := strings.Join(parts, "")
	next := func(n int) (s cola.Text) { s, all = cola.Text(all[:n]), all[n:]; return s }
	return cola.Permittee{
		PermitNumber:   number,
		CompanyName:    next(len(parts[0])),
		OperatingName:  next(len(parts[1])),
		CompanyState:   next(len(parts[2])),
		CompanyZipCode: next(len(parts[3])),
		PermitteeType:  next(len(parts[4])),
		Listed:         p.Listed,
	}
}

// valueNumber returns the index of a value in a short list, adding it if it is new. Older views may
// share the list, so it is copied before a value is appended.
func valueNumber(values *[]string, v string) uint32 {
	if i := slices.Index(*values, v); i >= 0 {
		return uint32(i)
	}
	*values = append(slices.Clip(*values), strings.Clone(v))
	return uint32(len(*values) - 1)
}

// companyNames returns a permittee's names in the next view. It is a companyNames function.
func (b *permitteesBuilder) companyNames(number string) (company, operating string) {
	p := b.next.records[b.number(number)]
	return string(p.CompanyName), string(p.OperatingName)
}

// countLabels adds labels of a segment to the statistics on their permittees, or subtracts them if
// sign is negative.
func (b *permitteesBuilder) countLabels(s *segment, each func(yield func(doc uint32)), sign int) {
	t := s.t
	of := make([]uint32, t.text[colPermit].Len()) // permittee + 1 of each value, or 0 if not looked up yet
	status := &t.text[colStatus]
	each(func(doc uint32) {
		v := t.text[colPermit].IDs.At(doc)
		if of[v] == 0 {
			i := b.number(s.permitKey(v))
			of[v] = i + 1
			b.rerank[i] = true
		}
		f := &b.next.stats[of[v]-1]
		applied, approval := t.date(numApplied, doc), t.date(numEffective, doc)
		f.labels += uint32(sign)
		if status.Value(doc) == vocabulary.StatusApproved {
			f.approved += uint32(sign)
		}
		if sign > 0 {
			f.lastApplied, f.lastApproval = max(f.lastApplied, applied), max(f.lastApproval, approval)
		} else if applied == f.lastApplied || approval == f.lastApproval {
			b.stale[of[v]-1] = true
		}
	})
}

// build returns the permittees. segments is the list of the next view's segments.
func (b *permitteesBuilder) build(segments []segmentView) *permittees {
	for i := range b.stale {
		f, number := &b.next.stats[i], b.next.records[i].PermitNumber
		f.lastApplied, f.lastApproval = 0, 0
		for j := range segments {
			applied, approval := segments[j].latestDates(number)
			f.lastApplied, f.lastApproval = max(f.lastApplied, applied), max(f.lastApproval, approval)
		}
	}
	b.sortNumbers()
	b.rank()
	b.indexNames()
	return b.next
}

// latestDates returns the latest dates of the live labels with the given permit number.
func (seg *segmentView) latestDates(number string) (applied, approval cola.Date) {
	for _, of := range seg.docsWithPermit(number, nil) {
		of.Each(func(doc uint32) bool {
			if seg.isLive(doc) {
				applied = max(applied, seg.t.date(numApplied, doc))
				approval = max(approval, seg.t.date(numEffective, doc))
			}
			return true
		})
	}
	return applied, approval
}

// sortNumbers adds new permit numbers to the sorted list.
func (b *permitteesBuilder) sortNumbers() {
	if len(b.added) == 0 {
		return
	}
	added := make([]uint32, 0, len(b.added))
	for _, i := range b.added {
		added = append(added, i)
	}
	b.next.byNumber = mergeInto(b.next.byNumber, added, func(i, j uint32) bool {
		return b.next.records[i].PermitNumber < b.next.records[j].PermitNumber
	})
}

// rank moves permittees to their new places in the ranked list.
func (b *permitteesBuilder) rank() {
	moved := make([]uint32, 0, len(b.rerank))
	for i := range b.rerank {
		if b.next.stats[i].known {
			moved = append(moved, i)
		}
	}
	if len(moved) == 0 {
		return
	}
	rest := make([]uint32, 0, len(b.next.ranked))
	for _, i := range b.next.ranked {
		if !b.rerank[i] {
			rest = append(rest, i)
		}
	}
	b.next.ranked = mergeInto(rest, moved, b.next.ranksBefore)
}

// mergeInto returns a new slice with the elements of sorted and more, in order. It sorts more in
// place.
func mergeInto(sorted, more []uint32, less func(a, b uint32) bool) []uint32 {
	slices.SortFunc(more, func(a, b uint32) int {
		if less(a, b) {
			return -1
		}
		return 1
	})
	out := make([]uint32, 0, len(sorted)+len(more))
	for _, m := range more {
		k, _ := slices.BinarySearchFunc(sorted, m, func(s, m uint32) int {
			if less(s, m) {
				return -1
			}
			return 1
		})
		out = append(append(out, sorted[:k]...), m)
		sorted = sorted[k:]
	}
	return append(out, sorted...)
}

// Limits on the number of permittees without indexed names. Each search by name compares them
// one by one.
const (
	minUnindexed   = 512
	unindexedShare = 32 // at most one in 32 permittees
)

// indexNames rebuilds the index of names if too many have changed since it was built.
func (b *permitteesBuilder) indexNames() {
	if len(b.renamed) == 0 {
		return
	}
	fresh := slices.Clone(b.next.unindexed)
	for i := range b.renamed {
		fresh = append(fresh, i)
	}
	slices.Sort(fresh)
	fresh = slices.Compact(fresh)
	if len(fresh) > max(minUnindexed, len(b.next.records)/unindexedShare) {
		b.next.names, fresh = buildNameIndex(b.next.records), nil
	}
	b.next.unindexed = fresh
}
