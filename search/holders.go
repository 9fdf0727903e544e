package search

import (
	"sort"

	"github.com/colaregistry/colaregistry/cola"
)

// holders is the permittees of one view: their records, and what follows from their labels. It never changes.
type holders struct {
	recs     []*holder
	facts    []facts
	byNumber []uint32 // all by permit number
	ranked   []uint32 // known ones as the list shows them: most labels first, then by permit number
	states   []string // upper case, numbered for facts
	types    []string // folded, numbered for facts
	names    *nameIndex
	fresh    []uint32 // holders whose names are not as names has them, ascending
}

// holder is a permittee, or a permit number that so far only labels name. It never changes.
type holder struct {
	cola.Permittee      // PermitNumber is in vocabulary.NormalizePermit's form
	known          bool // a permittee rather than only a number
}

// facts are what a permittee is filtered and ranked by.
type facts struct {
	labels   uint32
	approved uint32    // of them, with the status approved
	applied  cola.Date // latest application
	approval cola.Date // latest approval
	state    uint32
	kind     uint32
	known    bool
	listed   bool
}

// activeDays is how long an approval keeps a permittee active.
const activeDays = 365

// reason returns why a permittee is active on a day, empty when it is not. An approval after that day does not count.
func (v *View) reason(i uint32, today cola.Date) cola.Text {
	f := &v.holders.facts[i]
	if f.listed {
		return cola.ActiveListed
	}
	approval := f.approval
	if approval > today {
		approval = v.approvalBy(v.holders.recs[i].PermitNumber, today)
	}
	if approval != 0 && approval >= today.AddDays(-activeDays) {
		return cola.ActiveRecent
	}
	return ""
}

// approvalBy returns the latest approval of a permit number up to a day, zero for none.
func (v *View) approvalBy(number string, today cola.Date) (latest cola.Date) {
	for i := range v.layers {
		l := &v.layers[i]
		for _, of := range l.permit(number, nil) {
			of.each(func(doc uint32) bool { // newest first
				approved := l.t.num[numApproved].date(doc)
				if !l.alive(doc) || approved > today {
					return true
				}
				latest = max(latest, approved)
				return false
			})
		}
	}
	return latest
}

// find returns the holder of a permit number in vocabulary.NormalizePermit's form.
func (h *holders) find(number string) (uint32, bool) {
	i := sort.Search(len(h.byNumber), func(i int) bool { return h.recs[h.byNumber[i]].PermitNumber >= number })
	if i == len(h.byNumber) || h.recs[h.byNumber[i]].PermitNumber != number {
		return 0, false
	}
	return h.byNumber[i], true
}

// holderSummary returns a permittee as lists show it on a day.
func (v *View) holderSummary(i uint32, today cola.Date) cola.PermitteeSummary {
	p, f := v.holders.recs[i], &v.holders.facts[i]
	reason := v.reason(i, today)
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
		LastColaApplicationDate: f.applied,
	}
}

// ahead reports whether a comes before b in the list.
func (h *holders) ahead(a, b uint32) bool {
	if h.facts[a].labels != h.facts[b].labels {
		return h.facts[a].labels > h.facts[b].labels
	}
	return h.recs[a].PermitNumber < h.recs[b].PermitNumber
}

// nameIndex finds holders by part of a name. Value i is the company name of holder i, and value n+i its operating name,
// for the n holders there were.
type nameIndex struct {
	substrings
	self []uint32 // self[i] is i: what a value's list is cut from
}

func buildNames(recs []*holder) *nameIndex {
	n := uint32(len(recs))
	x := &nameIndex{self: make([]uint32, n)}
	for i := range x.self {
		x.self[i] = uint32(i)
	}
	value := func(i uint32) string {
		if i < n {
			return string(recs[i].CompanyName)
		}
		return string(recs[i-n].OperatingName)
	}
	x.substrings = buildSubstrings(2*len(recs), value, n, x.docsOf, limitFor(n, limitFull))
	return x
}

func (x *nameIndex) docsOf(value uint32) list {
	i := value % uint32(len(x.self))
	return list{docs: x.self[i : i+1], n: 1}
}
