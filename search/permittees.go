package search

import (
	"slices"
	"sort"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// PermitteePage is one page of permittees.
type PermitteePage struct {
	Rows    []cola.PermitteeSummary
	Total   int  // matching permittees on all pages; exact
	HasMore bool // whether permittees follow this page
}

// permittees is the immutable list of permittees of one view with statistics on their labels.
type permittees struct {
	records   []*permittee
	stats     []permitteeStats
	byNumber  []uint32 // all, sorted by permit number
	ranked    []uint32 // known ones in list order: most labels first, then by permit number
	states    []string // distinct states in upper case
	types     []string // distinct types, folded
	names     *nameIndex
	unindexed []uint32 // permittees renamed since names was built, ascending
}

// permittee is an immutable record of a permittee, or of a permit number that appears only on
// labels.
type permittee struct {
	cola.Permittee      // PermitNumber is normalized by vocabulary.NormalizePermit
	known          bool // false for a permit number without a permittee
}

// permitteeStats contains the statistics for filtering and ranking permittees.
type permitteeStats struct {
	labels       uint32
	approved     uint32    // labels whose status is approved
	lastApplied  cola.Date // latest application
	lastApproval cola.Date // latest effective date
	state        uint32
	kind         uint32
	known        bool
	listed       bool
}

// activeDays is the number of days for which an approval keeps a permittee active.
const activeDays = 365

// activeReason returns why a permittee is active on the given day; empty if it is not. Approvals
// after that day don't count.
func (v *View) activeReason(i uint32, today cola.Date) cola.Text {
	f := &v.permittees.stats[i]
	if f.listed {
		return cola.ActiveListed
	}
	approval := f.lastApproval
	if approval > today {
		approval = v.latestApproval(v.permittees.records[i].PermitNumber, today)
	}
	if approval != 0 && approval >= today.AddDays(-activeDays) {
		return cola.ActiveRecent
	}
	return ""
}

// latestApproval returns the latest effective date, up to today, of the labels with the permit
// number, or zero.
func (v *View) latestApproval(number string, today cola.Date) (latest cola.Date) {
	for i := range v.segments {
		seg := &v.segments[i]
		for _, of := range seg.docsWithPermit(number, nil) {
			of.Each(func(doc uint32) bool { // newest first
				approved := seg.t.date(numEffective, doc)
				if !seg.isLive(doc) || approved > today {
					return true
				}
				latest = max(latest, approved)
				return false
			})
		}
	}
	return latest
}

// find returns the index of the permittee with the given permit number, which must be normalized by
// vocabulary.NormalizePermit.
func (ps *permittees) find(number string) (uint32, bool) {
	i := sort.Search(len(ps.byNumber), func(i int) bool { return ps.records[ps.byNumber[i]].PermitNumber >= number })
	if i == len(ps.byNumber) || ps.records[ps.byNumber[i]].PermitNumber != number {
		return 0, false
	}
	return ps.byNumber[i], true
}

// permitteeSummary returns permittee i as a list record, as of the given day.
func (v *View) permitteeSummary(i uint32, today cola.Date) cola.PermitteeSummary {
	p, f := v.permittees.records[i], &v.permittees.stats[i]
	reason := v.activeReason(i, today)
	return cola.PermitteeSummary{
		PermitNumber:            p.PermitNumber,
		CompanyName:             p.CompanyName,
		OperatingName:           p.OperatingName,
		CompanyState:            p.CompanyState,
		CompanyZipCode:          p.CompanyZipCode,
		PermitteeType:           p.PermitteeType,
		IsActive:                reason != "",
		ActiveReason:            reason,
		Colas:                   int(f.labels),
		ColasApproved:           int(f.approved),
		LastColaApplicationDate: f.lastApplied,
	}
}

// ranksBefore reports whether a comes before b in lists.
func (ps *permittees) ranksBefore(a, b uint32) bool {
	if ps.stats[a].labels != ps.stats[b].labels {
		return ps.stats[a].labels > ps.stats[b].labels
	}
	return ps.records[a].PermitNumber < ps.records[b].PermitNumber
}

// nameIndex finds permittees by part of a name. For n permittees, value i is the company name of
// permittee i, and value n+i its operating name.
type nameIndex struct {
	names    text.Substrings // as text.FoldName returns them
	keys     text.Substrings // as text.KeyName returns them
	identity []uint32        // identity[i] is i: lists are slices of it
	byKey    keyGroups       // values by text.BrandKey
	keyWords keyWords
}

// buildNameIndex indexes the names of permittees.
func buildNameIndex(recs []*permittee) *nameIndex {
	n := uint32(len(recs))
	x := &nameIndex{identity: make([]uint32, n)}
	for i := range x.identity {
		x.identity[i] = uint32(i)
	}
	value := func(i uint32) string {
		if i < n {
			return string(recs[i].CompanyName)
		}
		return string(recs[i-n].OperatingName)
	}
	limit := unionLimit(n, maxUnionCost)
	x.names = text.BuildSubstrings(2*len(recs), value, text.FoldName, n, x.docsOf, limit)
	x.keys = text.BuildSubstrings(2*len(recs), value, text.KeyName, n, x.docsOf, limit)
	all := column.NewDictBuilder()
	for i := range 2 * n {
		all.Add(value(i))
	}
	names := all.Dict()
	x.byKey = groupByKey(&names, text.BrandKey)
	return x
}

// namePart is part of a name to search for.
type namePart struct {
	folded string
	keys   []string
}

func newNamePart(s string) namePart { return namePart{text.FoldName(s), text.KeyParts(s)} }

// in reports whether a name contains the part.
func (p namePart) in(name cola.Text) bool {
	keys := text.KeyName(string(name))
	return strings.Contains(text.FoldName(string(name)), p.folded) ||
		slices.ContainsFunc(p.keys, func(part string) bool { return strings.Contains(keys, part) })
}

// match appends lists of the permittees with the part in a name.
func (x *nameIndex) match(p namePart, sc *postings.Scratch, dst []postings.List) []postings.List {
	dst = x.names.Match(p.folded, x.docsOf, sc, dst)
	for _, keys := range p.keys {
		if word := strings.Trim(keys, "|"); !strings.Contains(word, "|") {
			dst = x.keys.MatchWord(word, dst)
		} else {
			dst = x.keys.Match(keys, x.docsOf, sc, dst)
		}
	}
	return dst
}

// docsOf returns the permittee with the given value.
func (x *nameIndex) docsOf(value uint32) postings.List {
	i := value % uint32(len(x.identity))
	return postings.Of(x.identity[i : i+1])
}

// Permittees returns one page of the permittees that match: those with the most labels first, then
// by permit number. A non-empty name or type that folds to the empty string matches no permittees.
func (v *View) Permittees(s cola.PermitteeSearch) PermitteePage {
	ps := v.permittees
	page := PermitteePage{Rows: []cola.PermitteeSummary{}}
	name := newNamePart(s.Name)
	if name.folded == "" && s.Name != "" || len(ps.records) == 0 {
		return page
	}
	sc := v.scratch.Get()
	defer v.scratch.Put(sc)
	w := ps.named(name, sc)
	defer sc.Release(w)
	v.keepMatching(w, &s)
	page.Total = postings.PopCount(w)
	skip, take := pageOffset(s.Page, s.PerPage), max(0, s.PerPage)
	page.HasMore = skip+take < page.Total
	if skip >= page.Total {
		return page
	}
	page.Rows = make([]cola.PermitteeSummary, 0, min(take, page.Total-skip))
	for _, i := range ps.ranked {
		if len(page.Rows) == take {
			break
		}
		if !postings.HasBit(w, i) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		page.Rows = append(page.Rows, v.permitteeSummary(i, s.Today))
	}
	return page
}

// named returns the permittees whose company or operating name contains a part, or all permittees
// if the part is empty.
func (ps *permittees) named(name namePart, sc *postings.Scratch) []uint64 {
	n := uint32(len(ps.records))
	all := postings.AllBlocks(n)
	w := sc.Bitmap(n, all)
	if name.folded == "" {
		postings.Fill(w)
		postings.KeepRange(w, 0, int(n))
		return w
	}
	if ps.names != nil {
		sc.Lists = ps.names.match(name, sc, sc.Lists[:0])
		for _, l := range sc.Lists {
			l.OrInto(w, all)
		}
	}
	for _, i := range ps.unindexed {
		p := ps.records[i]
		w[i>>6] &^= 1 << (i & 63)
		if name.in(p.CompanyName) || name.in(p.OperatingName) {
			postings.SetBit(w, i)
		}
	}
	return w
}

// keepMatching clears the bits of permit numbers without a permittee and of permittees that do not
// match the filters other than the name.
func (v *View) keepMatching(w []uint64, s *cola.PermitteeSearch) {
	ps := v.permittees
	kinds, states := make([]bool, len(ps.types)), make([]bool, len(ps.states))
	kind, state := text.Fold(s.Type), strings.ToUpper(s.State)
	for i, t := range ps.types {
		kinds[i] = s.Type == "" || kind != "" && strings.Contains(t, kind)
	}
	for i, t := range ps.states {
		states[i] = state == "" || t == state
	}
	for at, x := range w {
		if x == 0 {
			continue
		}
		postings.EachBit(w[at:at+1], uint32(at)<<6, func(i uint32) bool {
			f := &ps.stats[i]
			if !f.known || !kinds[f.kind] || !states[f.state] ||
				s.Active.OK && (v.activeReason(i, s.Today) != "") != s.Active.V {
				w[at] &^= 1 << (i & 63)
			}
			return true
		})
	}
}

// Permittee returns a permittee by permit number, in any letter case, as of the given day. The
// result includes the permittee's newest labels; recent is the maximum number. ok is false if there
// is no such permittee.
func (v *View) Permittee(number string, today cola.Date, recent int) (d cola.PermitteeDetail, ok bool) {
	number = vocabulary.NormalizePermit(number)
	i, ok := v.permittees.find(number)
	if !ok || !v.permittees.records[i].known {
		return d, false
	}
	d.PermitteeSummary = v.permitteeSummary(i, today)
	found := make([][]uint32, len(v.segments))
	for j := range v.segments {
		found[j] = v.segments[j].newest(number, recent)
	}
	d.RecentColas, _ = v.rows(found, cola.SortNewest, 0, recent)
	return d, true
}

// newest returns the first n live documents with the given permit number, or all if there are
// fewer.
func (seg *segmentView) newest(number string, n int) (docs []uint32) {
	lists := seg.docsWithPermit(number, nil)
	for _, of := range lists {
		copied := 0
		of.Each(func(doc uint32) bool {
			if seg.isLive(doc) && copied < n {
				docs = append(docs, doc)
				copied++
			}
			return copied < n
		})
	}
	if len(lists) > 1 { // several spellings of the number
		slices.Sort(docs)
	}
	return docs[:min(len(docs), n)]
}
