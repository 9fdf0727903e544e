package search

import (
	"github.com/colaregistry/colaregistry/cola"
)

// header opens a snapshot.
type header struct {
	magic string
	order uint32
	store string
}

func (h *header) carry(c carrier) {
	carryText(c, &h.magic)
	carryNumber(c, &h.order)
	carryText(c, &h.store)
}

// carry moves the view. What follows from the rest is not carried: it is worked out again.
func (v *View) carry(c carrier) {
	for _, m := range []*cola.Revision{&v.marks.Labels, &v.marks.Permittees, &v.marks.References} {
		carryNumber(c, m)
	}
	v.carryAliases(c)
	v.holders.carry(c)
	layers := len(v.layers)
	carryNumber(c, &layers)
	for i := 0; i < layers && c.ok(); i++ {
		if i == len(v.layers) {
			v.layers = append(v.layers, layer{segment: &segment{}})
		}
		l := &v.layers[i]
		l.segment.carry(c)
		carry(c, &l.dead)
		carryNumber(c, &l.deaths)
	}
}

func (v *View) carryAliases(c carrier) {
	t := newTexts()
	for _, a := range v.published {
		t.add(a.Alias, a.Path)
	}
	t.carry(c)
	for len(v.published)*2 < t.len() {
		i := uint32(len(v.published) * 2)
		v.published = append(v.published, cola.CategoryAlias{Alias: t.at(i), Path: t.at(i + 1)})
	}
}

// Flags of a permittee.
const (
	flagKnown = 1 << iota
	flagListed
)

func (h *holders) carry(c carrier) {
	const texts = 6 // of each
	t, flags := newTexts(), make([]uint8, 0, len(h.recs))
	for _, p := range h.recs {
		t.add(p.PermitNumber, string(p.CompanyName), string(p.OperatingName), string(p.CompanyState),
			string(p.CompanyZipCode), string(p.PermitteeType))
		var f uint8
		if p.known {
			f |= flagKnown
		}
		if p.Listed {
			f |= flagListed
		}
		flags = append(flags, f)
	}
	t.carry(c)
	carry(c, &flags)
	if !c.ok() || len(h.recs) == len(flags) || t.len() != texts*len(flags) {
		return
	}
	edit := h.edit()
	for i, f := range flags {
		at := func(field uint32) cola.Text { return cola.Text(t.at(uint32(i)*texts + field)) }
		if f&flagKnown != 0 {
			edit.put(&cola.Permittee{
				PermitNumber: string(at(0)), CompanyName: at(1), OperatingName: at(2), CompanyState: at(3),
				CompanyZipCode: at(4), PermitteeType: at(5), Listed: f&flagListed != 0,
			})
		}
	}
	*h = *edit.finish(nil)
}

// textList is strings, distinct or not, as a carrier takes them.
type textList struct {
	dict
	b []byte
}

func newTexts() *textList { return &textList{dict: dict{off: []uint32{0}}} }

func (t *textList) add(texts ...string) {
	for _, s := range texts {
		t.b = append(t.b, s...)
		t.off = append(t.off, uint32(len(t.b)))
	}
	t.blob = textOf(t.b)
}
