package search

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// The columns that are filtered by exact value.
const (
	facetType = iota
	facetOrigin
	facetStatus
	facetDomestic
	facetContainer
	facetState
	facetCount
)

var facetColumns = [facetCount]int{colType, colOrigin, colStatus, colDomestic, colContainer, colState}

// The columns that are filtered by bounds.
const (
	rangeABV = iota
	rangeVolume
	rangeCount
)

var rangeColumns = [rangeCount]int{numABV, numVolume}

// segment is an immutable set of labels in result order with everything that finds them. A label's number within it is its
// place in the order.
type segment struct {
	t          *table
	texts      texts
	brands     substrings
	permits    substrings
	facets     [facetCount]facet
	categories categories
	ranges     [rangeCount]ranges
	codes      codes
	byPermit   []uint32 // values of the permit column by vocabulary.NormalizePermit of them
	bytes      int64
}

// Limits of what a search may spend uniting the lists of one condition, in estimated nanoseconds over two million labels
// and more; fewer labels have less. What takes longer is kept ready.
const (
	limitFull    = 200_000
	limitPermits = 400_000 // parts of permit numbers are for saved searches, which look at days
	limitLabels  = 2_000_000
	limitLeast   = 15_000
)

func limitFor(n uint32, full int) int {
	return max(limitLeast, int(int64(full)*int64(min(n, limitLabels))/limitLabels))
}

// buildSegment indexes a table in result order.
func buildSegment(ctx context.Context, t *table, names naming) (*segment, error) {
	s := &segment{t: t}
	steps := []func(){
		func() { s.texts = buildTexts(t.n, searchedFields(t, names), t.idsWithPrefix, limitFor(t.n, limitFull)) },
		func() { s.brands = s.buildSubstrings(colBrand, limitFull) },
		func() { s.permits = s.buildSubstrings(colPermit, limitPermits) },
		func() { s.categories = buildCategories(t) },
		func() { s.codes = buildCodes(t) },
		s.sortPermits,
	}
	for r, column := range rangeColumns {
		steps = append(steps, func() { s.ranges[r] = buildRanges(t, column) })
	}
	for f, column := range facetColumns {
		var together []string
		if f == facetOrigin {
			together = vocabulary.OriginNames("american") // the one word that stands for many values, most labels among them
		}
		steps = append(steps, func() { s.facets[f] = buildFacet(t, column, together) })
	}
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		step()
	}
	s.weigh()
	return s, nil
}

// naming returns the names of the permittee with a permit number in vocabulary.NormalizePermit's form; empty if it has none.
type naming func(permit string) (company, operating string)

// searchedFields returns the fields that full-text queries search, numbered as the columns are. The field of recipients
// also has the current names of the label's permittee.
func searchedFields(t *table, names naming) []field {
	fields := make([]field, lastSearched+1)
	for f := range lastSearched {
		c := &t.text[f]
		fields[f] = field{len: c.len(), at: c.at, each: func(doc uint32, put func(uint32)) {
			if v := c.ids.at(doc); v != 0 {
				put(v)
			}
		}}
	}
	recipients, permits := &t.text[colRecipient], &t.text[colPermit]
	companies := newInterner() // recipients under their own numbers, then the names of permittees
	for i := range recipients.len() {
		companies.id(recipients.at(uint32(i)))
	}
	named := make([][2]uint32, permits.len()) // names of each permit number's permittee
	for p := range named {
		company, operating := names(vocabulary.NormalizePermit(permits.at(uint32(p))))
		named[p] = [2]uint32{companies.id(company), companies.id(operating)}
	}
	fields[colRecipient] = field{len: companies.len(), at: companies.at, each: func(doc uint32, put func(uint32)) {
		r, n := recipients.ids.at(doc), named[permits.ids.at(doc)]
		if r != 0 {
			put(r)
		}
		if n[0] != 0 && n[0] != r {
			put(n[0])
		}
		if n[1] != 0 && n[1] != r && n[1] != n[0] {
			put(n[1])
		}
	}}
	return fields
}

func (s *segment) buildSubstrings(column, limit int) substrings {
	c := &s.t.text[column]
	docsOf := func(v uint32) list { return s.texts.docsOf(column, v) }
	return buildSubstrings(c.len(), c.at, s.t.n, docsOf, limitFor(s.t.n, limit))
}

func (s *segment) permitKey(value uint32) string {
	return vocabulary.NormalizePermit(s.t.text[colPermit].at(value))
}

func (s *segment) sortPermits() {
	s.byPermit = make([]uint32, s.t.text[colPermit].len())
	for i := range s.byPermit {
		s.byPermit[i] = uint32(i)
	}
	slices.SortFunc(s.byPermit, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(s.permitKey(a), s.permitKey(b)), cmp.Compare(a, b))
	})
}

// permit appends the documents with a permit number, which is in vocabulary.NormalizePermit's form.
func (s *segment) permit(number string, dst []list) []list {
	i := sort.Search(len(s.byPermit), func(i int) bool { return s.permitKey(s.byPermit[i]) >= number })
	for ; i < len(s.byPermit) && s.permitKey(s.byPermit[i]) == number; i++ {
		dst = append(dst, s.texts.docsOf(colPermit, s.byPermit[i]))
	}
	return dst
}

// weigh notes how many bytes the segment holds.
func (s *segment) weigh() {
	var sc scales
	s.carry(&sc)
	s.bytes = int64(sc)
}

func (s *segment) carry(c carrier) {
	if s.t == nil {
		s.t = &table{}
	}
	s.t.carry(c)
	s.texts.carry(c)
	s.brands.carry(c)
	s.permits.carry(c)
	for i := range s.facets {
		s.facets[i].carry(c)
	}
	s.categories.carry(c)
	for i := range s.ranges {
		s.ranges[i].carry(c)
	}
	s.codes.carry(c)
	carry(c, &s.byPermit)
}
