package search

import (
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Permittees returns one page of the permittees that match: those with most labels first, then by permit number. A name or
// type that holds nothing once folded matches nothing.
func (v *View) Permittees(s cola.PermitteeSearch) PermitteePage {
	h := v.holders
	page := PermitteePage{Rows: []cola.PermitteeSummary{}}
	name := Fold(s.Name)
	if name == "" && s.Name != "" || len(h.recs) == 0 {
		return page
	}
	sc := v.scratches.get()
	defer v.scratches.put(sc)
	w := h.named(name, sc)
	defer sc.release(w)
	v.keepMatching(w, &s)
	page.Total = popcount(w)
	skip, take := offset(s.Page, s.PerPage), max(0, s.PerPage)
	page.HasMore = skip+take < page.Total
	if skip >= page.Total {
		return page
	}
	page.Rows = make([]cola.PermitteeSummary, 0, min(take, page.Total-skip))
	for _, i := range h.ranked {
		if len(page.Rows) == take {
			break
		}
		if !hasBit(w, i) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		page.Rows = append(page.Rows, v.holderSummary(i, s.Today))
	}
	return page
}

// named returns the holders whose company or operating name contains a folded text; all when it is empty.
func (h *holders) named(name string, sc *scratch) []uint64 {
	n := uint32(len(h.recs))
	all := span{0, blockCount(n) - 1}
	w := sc.bitmap(n, all)
	if name == "" {
		fillWords(w)
		keepBits(w, 0, int(n))
		return w
	}
	if h.names != nil {
		sc.lists = h.names.match(name, h.names.docsOf, sc, sc.lists[:0])
		for _, l := range sc.lists {
			l.orInto(w, all)
		}
	}
	for _, i := range h.fresh {
		p := h.recs[i]
		w[i>>6] &^= 1 << (i & 63)
		if strings.Contains(Fold(string(p.CompanyName)), name) || strings.Contains(Fold(string(p.OperatingName)), name) {
			setBit(w, i)
		}
	}
	return w
}

// keepMatching clears the holders that are no permittees or do not match the other filters.
func (v *View) keepMatching(w []uint64, s *cola.PermitteeSearch) {
	h := v.holders
	kinds, states := make([]bool, len(h.types)), make([]bool, len(h.states))
	kind, state := Fold(s.Type), strings.ToUpper(s.State)
	for i, t := range h.types {
		kinds[i] = s.Type == "" || kind != "" && strings.Contains(t, kind)
	}
	for i, t := range h.states {
		states[i] = state == "" || t == state
	}
	for at, x := range w {
		if x == 0 {
			continue
		}
		eachBit(w[at:at+1], uint32(at)<<6, func(i uint32) bool {
			f := &h.facts[i]
			if !f.known || !kinds[f.kind] || !states[f.state] || s.Active.OK && (v.reason(i, s.Today) != "") != s.Active.V {
				w[at] &^= 1 << (i & 63)
			}
			return true
		})
	}
}

// Permittee returns a permittee by its permit number, in any letter case, as of a day, with its most recent labels: at most
// recent of them, in result order. ok is false when there is no such permittee.
func (v *View) Permittee(number string, today cola.Date, recent int) (d cola.PermitteeDetail, ok bool) {
	number = vocabulary.NormalizePermit(number)
	i, ok := v.holders.find(number)
	if !ok || !v.holders.recs[i].known {
		return d, false
	}
	d.PermitteeSummary = v.holderSummary(i, today)
	found := make([][]uint32, len(v.layers))
	for j := range v.layers {
		found[j] = v.layers[j].newest(number, recent)
	}
	d.RecentColas, _ = v.rows(found, 0, recent)
	return d, true
}

// newest returns the first living documents with a permit number, at most n.
func (l *layer) newest(number string, n int) (docs []uint32) {
	lists := l.permit(number, nil)
	for _, of := range lists {
		taken := 0
		of.each(func(doc uint32) bool {
			if l.alive(doc) && taken < n {
				docs = append(docs, doc)
				taken++
			}
			return taken < n
		})
	}
	if len(lists) > 1 { // spellings of one number
		slices.Sort(docs)
	}
	return docs[:min(len(docs), n)]
}
