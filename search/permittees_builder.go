package search

import (
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// holdersEdit makes the holders of the next view from those of the last.
type holdersEdit struct {
	next    *holders
	added   map[string]uint32 // by permit number
	moved   map[uint32]bool   // holders whose rank may have changed
	renamed map[uint32]bool
	recheck map[uint32]bool // holders that may have lost their latest date
}

func (h *holders) edit() *holdersEdit {
	next := *h
	next.recs, next.facts = slices.Clone(h.recs), slices.Clone(h.facts)
	if len(next.states) == 0 {
		next.states, next.types = []string{""}, []string{""}
	}
	return &holdersEdit{
		next: &next, added: map[string]uint32{},
		moved: map[uint32]bool{}, renamed: map[uint32]bool{}, recheck: map[uint32]bool{},
	}
}

// holder returns the number of a permit number's holder, a new one when there is none.
func (e *holdersEdit) holder(number string) uint32 {
	if i, ok := e.next.find(number); ok {
		return i
	}
	i, ok := e.added[number]
	if !ok {
		i = uint32(len(e.next.recs))
		number = strings.Clone(number)
		e.added[number] = i
		e.next.recs = append(e.next.recs, &holder{Permittee: cola.Permittee{PermitNumber: number}})
		e.next.facts = append(e.next.facts, facts{})
		e.renamed[i] = true
	}
	return i
}

// put sets a permittee's record.
func (e *holdersEdit) put(p *cola.Permittee) {
	i := e.holder(vocabulary.NormalizePermit(p.PermitNumber))
	was := e.next.recs[i]
	now := &holder{known: true, Permittee: copyPermittee(p, was.PermitNumber)}
	e.next.recs[i] = now
	if was.CompanyName != now.CompanyName || was.OperatingName != now.OperatingName {
		e.renamed[i] = true
	}
	f := &e.next.facts[i]
	f.known, f.listed = true, p.Listed
	f.state = numbered(&e.next.states, strings.ToUpper(strings.TrimSpace(string(p.CompanyState))))
	f.kind = numbered(&e.next.types, Fold(string(p.PermitteeType)))
	e.moved[i] = true
}

// copyPermittee copies a record into memory of its own, in one piece.
func copyPermittee(p *cola.Permittee, number string) cola.Permittee {
	parts := []string{string(p.CompanyName), string(p.OperatingName), string(p.CompanyState), string(p.CompanyZipCode), string(p.PermitteeType)}
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

// numbered returns the number of a value in a short list, which gets it when it lacks it. The list may be shared with older
// views, which do not look beyond what they know of it.
func numbered(values *[]string, v string) uint32 {
	if i := slices.Index(*values, v); i >= 0 {
		return uint32(i)
	}
	*values = append(slices.Clip(*values), strings.Clone(v))
	return uint32(len(*values) - 1)
}

// names is a naming by the permittees as they will be.
func (e *holdersEdit) names(number string) (company, operating string) {
	p := e.next.recs[e.holder(number)]
	return string(p.CompanyName), string(p.OperatingName)
}

// count adds labels of a segment to their holders' counts, or takes them away.
func (e *holdersEdit) count(s *segment, each func(yield func(doc uint32)), sign int) {
	t := s.t
	of := make([]uint32, t.text[colPermit].len()) // holder + 1 of each value, once it is asked for
	status := &t.text[colStatus]
	each(func(doc uint32) {
		v := t.text[colPermit].ids.at(doc)
		if of[v] == 0 {
			i := e.holder(s.permitKey(v))
			of[v] = i + 1
			e.moved[i] = true
		}
		f := &e.next.facts[of[v]-1]
		applied, approval := t.num[numApplied].date(doc), t.num[numApproved].date(doc)
		f.labels += uint32(sign)
		if status.value(doc) == vocabulary.StatusApproved {
			f.approved += uint32(sign)
		}
		if sign > 0 {
			f.applied, f.approval = max(f.applied, applied), max(f.approval, approval)
		} else if applied == f.applied || approval == f.approval {
			e.recheck[of[v]-1] = true
		}
	})
}

// finish settles what depends on all labels, which are in the layers, and returns the holders.
func (e *holdersEdit) finish(layers []layer) *holders {
	for i := range e.recheck {
		f, number := &e.next.facts[i], e.next.recs[i].PermitNumber
		f.applied, f.approval = 0, 0
		for j := range layers {
			applied, approval := layers[j].latest(number)
			f.applied, f.approval = max(f.applied, applied), max(f.approval, approval)
		}
	}
	e.sortNumbers()
	e.rank()
	e.indexNames()
	return e.next
}

// latest returns the latest dates of the living labels with a permit number.
func (l *layer) latest(number string) (applied, approval cola.Date) {
	for _, of := range l.permit(number, nil) {
		of.each(func(doc uint32) bool {
			if l.alive(doc) {
				applied = max(applied, l.t.num[numApplied].date(doc))
				approval = max(approval, l.t.num[numApproved].date(doc))
			}
			return true
		})
	}
	return applied, approval
}

func (e *holdersEdit) sortNumbers() {
	if len(e.added) == 0 {
		return
	}
	added := make([]uint32, 0, len(e.added))
	for _, i := range e.added {
		added = append(added, i)
	}
	e.next.byNumber = mergeInto(e.next.byNumber, added, func(a, b uint32) bool {
		return e.next.recs[a].PermitNumber < e.next.recs[b].PermitNumber
	})
}

func (e *holdersEdit) rank() {
	moved := make([]uint32, 0, len(e.moved))
	for i := range e.moved {
		if e.next.facts[i].known {
			moved = append(moved, i)
		}
	}
	if len(moved) == 0 {
		return
	}
	rest := make([]uint32, 0, len(e.next.ranked))
	for _, i := range e.next.ranked {
		if !e.moved[i] {
			rest = append(rest, i)
		}
	}
	e.next.ranked = mergeInto(rest, moved, e.next.ahead)
}

// mergeInto returns a new sorted slice of a sorted one and some more.
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

// Names that are not indexed are looked at one by one, so few may be left like that.
const (
	freshLeast = 512
	freshShare = 32 // of all
)

func (e *holdersEdit) indexNames() {
	if len(e.renamed) == 0 {
		return
	}
	fresh := slices.Clone(e.next.fresh)
	for i := range e.renamed {
		fresh = append(fresh, i)
	}
	slices.Sort(fresh)
	fresh = slices.Compact(fresh)
	if len(fresh) > max(freshLeast, len(e.next.recs)/freshShare) {
		e.next.names, fresh = buildNames(e.next.recs), nil
	}
	e.next.fresh = fresh
}
