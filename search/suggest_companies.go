package search

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// suggestCompanies returns the permittees whose company or operating name completes a query, each
// under the name that matches better.
func (v *View) suggestCompanies(c *completion, limit int) []cola.Suggestion {
	if c.isEmpty() {
		return suggestions()
	}
	begin := v.topCompanies(c, nameBegins, limit)
	if len(begin.first) == limit {
		return suggestions(begin)
	}
	return suggestions(begin, v.topCompanies(c, wordBegins, limit-len(begin.first)))
}

// topCompanies returns the permittees with the most labels among those whose best match is of the
// given kind.
func (v *View) topCompanies(c *completion, match, limit int) *ranking[namedValue] {
	ps, top := v.permittees, &ranking[namedValue]{limit: limit, compare: byLabels}
	canRank := func(i uint32) bool {
		labels := int(ps.stats[i].labels)
		return labels > 0 && (len(top.first) < limit || labels >= top.first[limit-1].Count)
	}
	// add adds a permittee under one of its names. If both match, it is added only under its
	// company name.
	add := func(i uint32, company, operating string, byCompany bool) {
		p := ps.records[i]
		ofCompany, ofOperating := c.match(company, string(p.CompanyName)), c.match(operating, string(p.OperatingName))
		if min(ofCompany, ofOperating) != match || byCompany != (ofCompany == match) {
			return
		}
		name, spelling := company, p.CompanyName
		if !byCompany {
			name, spelling = operating, p.OperatingName
		}
		top.add(namedValue{name, cola.Suggestion{
			Value: string(spelling), Count: int(ps.stats[i].labels), PermitNumber: p.PermitNumber,
		}})
	}
	if ps.names != nil {
		ps.names.eachNamed(c, match, func(i uint32, byCompany bool) {
			if !canRank(i) {
				return
			}
			if _, renamed := slices.BinarySearch(ps.unindexed, i); !renamed {
				company, operating := ps.names.keysOf(i)
				add(i, company, operating, byCompany)
			}
		})
	}
	for _, i := range ps.unindexed {
		if p := ps.records[i]; canRank(i) {
			company, operating := text.BrandKey(string(p.CompanyName)), text.BrandKey(string(p.OperatingName))
			add(i, company, operating, true)
			add(i, company, operating, false)
		}
	}
	return top
}

// eachNamed calls yield with each name that may match in the given way: the index of its permittee,
// and whether it is the company name.
func (x *nameIndex) eachNamed(c *completion, match int, yield func(i uint32, byCompany bool)) {
	n := uint32(len(x.identity))
	c.eachCandidate(&x.byKey.keys, match, func(name uint32) {
		for _, value := range x.byKey.spellings(name) {
			yield(value%n, value < n)
		}
	})
}

// keysOf returns the keys of the names of permittee i.
func (x *nameIndex) keysOf(i uint32) (company, operating string) {
	k, n := &x.byKey, uint32(len(x.identity))
	return k.keys.At(k.keyOf[i]), k.keys.At(k.keyOf[n+i])
}
