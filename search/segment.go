package search

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// segment is an immutable set of labels in result order with their indexes. A document's number is
// its position in that order.
type segment struct {
	t           *table
	texts       text.Index
	parts       [textColumns]text.Substrings // for columns with contains
	values      [textColumns]valueIndex      // for columns with anyOf
	listValues  [listColumns]valueIndex      // for columns with anyOf
	categories  categoryIndex
	ranges      [numColumns]rangeIndex // for columns with between
	barcodes    barcodeIndex
	brands      brandIndex
	brandWords  brandWords
	knownDates  postings.Lists // see findKnownDates
	permitOrder []uint32       // values of the permit column, sorted by permitKey
	permittees  []uint32       // see findPermittees; not in snapshots
	bytes       int64

	// Computed when first needed; not included in bytes.
	appellations atomic.Pointer[column.Packed]    // see appellationOf
	keyWords     keyWords                         // words of the brand keys
	brandsSeen   atomic.Pointer[segmentFirstSeen] // see firstSeenBy
	permitsSeen  atomic.Pointer[segmentFirstSeen]
}

// The maximum estimated time, in nanoseconds, that a search over at least fullCostLabels labels
// spends computing the union of the lists of one condition. The limit is lower for fewer labels.
// Costlier unions are precomputed.
const (
	maxUnionCost       = 200_000
	maxPermitUnionCost = 400_000 // saved searches use parts of permit numbers with short date windows
	fullCostLabels     = 2_000_000
	minUnionCost       = 15_000
)

// unionLimit returns the limit for n labels.
func unionLimit(n uint32, full int) int {
	return max(minUnionCost, int(int64(full)*int64(min(n, fullCostLabels))/fullCostLabels))
}

// buildSegment indexes a table in result order.
func buildSegment(ctx context.Context, t *table, names companyNames) (*segment, error) {
	s := &segment{t: t}
	steps := []func(){
		func() {
			s.texts = text.BuildIndex(t.n, searchedFields(t, names), t.idsWithPrefix, unionLimit(t.n, maxUnionCost))
		},
		func() { s.categories = buildCategoryIndex(t) },
		func() { s.barcodes = buildBarcodeIndex(t) },
		func() { s.brands = buildBrandIndex(t) },
		func() { s.brandWords = buildBrandWords(&s.brands, &s.t.text[colBrand].Dict) },
		func() { s.knownDates = findKnownDates(t) },
		s.sortPermits,
	}
	for i, f := range textFields {
		if f.contains != nil {
			steps = append(steps, func() { s.parts[i] = s.buildSubstrings(i, f.unionCost) })
		}
		if f.anyOf != nil {
			steps = append(steps, func() { s.values[i] = buildTextIndex(t, i) })
		}
	}
	for i, f := range numFields {
		if f.between != nil {
			steps = append(steps, func() { s.ranges[i] = buildRangeIndex(t, i) })
		}
	}
	for i, f := range listFields {
		if f.anyOf != nil {
			steps = append(steps, func() { s.listValues[i] = buildListIndex(t, i) })
		}
	}
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		step()
	}
	s.measure()
	return s, nil
}

// findKnownDates returns one list: the documents whose date is not an estimate. It returns no list
// if no date is an estimate.
func findKnownDates(t *table) postings.Lists {
	docs := make([]uint32, 0, t.n)
	for doc := range t.n {
		if !t.isEstimated(doc) {
			docs = append(docs, doc)
		}
	}
	if len(docs) == int(t.n) {
		return postings.Lists{}
	}
	b := postings.NewBuilder(t.n, 1)
	b.Add(docs)
	return b.Lists()
}

// companyNames returns the names of the permittee with a permit number, which must be normalized by
// vocabulary.NormalizePermit. The names are empty if there is no such permittee.
type companyNames func(permit string) (company, operating string)

// searchedFields returns the fields of full-text queries, in the order of their columns. The
// recipient field also contains the current names of the label's permittee.
func searchedFields(t *table, names companyNames) []text.Field {
	fields := make([]text.Field, lastSearched+1)
	for f := range lastSearched {
		c := &t.text[f]
		fields[f] = text.Field{Len: c.Len(), At: c.At, Each: func(doc uint32, put func(uint32)) {
			if v := c.IDs.At(doc); v != 0 {
				put(v)
			}
		}}
	}
	recipients, permits := &t.text[colRecipient], &t.text[colPermit]
	companies := column.NewInterner() // recipients with their existing numbers, then the names of permittees
	for i := range recipients.Len() {
		companies.ID(recipients.At(uint32(i)))
	}
	named := make([][2]uint32, permits.Len()) // names of each permit number's permittee
	for p := range named {
		company, operating := names(vocabulary.NormalizePermit(permits.At(uint32(p))))
		named[p] = [2]uint32{companies.ID(company), companies.ID(operating)}
	}
	fields[colRecipient] = text.Field{Len: companies.Len(), At: companies.At, Each: func(doc uint32, put func(uint32)) {
		r, n := recipients.IDs.At(doc), named[permits.IDs.At(doc)]
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

// buildSubstrings indexes a searched column for substring search.
func (s *segment) buildSubstrings(column, limit int) text.Substrings {
	c := &s.t.text[column]
	docsOf := func(v uint32) postings.List { return s.texts.DocsOf(column, v) }
	return text.BuildSubstrings(c.Len(), c.At, textFields[column].fold, s.t.n, docsOf, unionLimit(s.t.n, limit))
}

// permitKey returns a value of the permit column, normalized by vocabulary.NormalizePermit.
func (s *segment) permitKey(value uint32) string {
	return vocabulary.NormalizePermit(s.t.text[colPermit].At(value))
}

// sortPermits builds permitOrder.
func (s *segment) sortPermits() {
	s.permitOrder = make([]uint32, s.t.text[colPermit].Len())
	for i := range s.permitOrder {
		s.permitOrder[i] = uint32(i)
	}
	slices.SortFunc(s.permitOrder, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(s.permitKey(a), s.permitKey(b)), cmp.Compare(a, b))
	})
}

// findPermittees sets permittees: for each value of the permit column, the index of the permittee
// plus 1, or 0 if there is none. find returns the index of the permittee with a permit number. The
// indexes stay valid in later views.
func (s *segment) findPermittees(find func(number string) (uint32, bool)) {
	s.permittees = make([]uint32, s.t.text[colPermit].Len())
	for value := range s.permittees {
		number := s.permitKey(uint32(value))
		if i, ok := find(number); ok && number != "" {
			s.permittees[value] = i + 1
		}
	}
	s.bytes += int64(len(s.permittees) * 4)
}

// docsWithPermit appends the documents with the given permit number, which must be normalized by
// vocabulary.NormalizePermit.
func (s *segment) docsWithPermit(number string, dst []postings.List) []postings.List {
	i := sort.Search(len(s.permitOrder), func(i int) bool { return s.permitKey(s.permitOrder[i]) >= number })
	for ; i < len(s.permitOrder) && s.permitKey(s.permitOrder[i]) == number; i++ {
		dst = append(dst, s.texts.DocsOf(colPermit, s.permitOrder[i]))
	}
	return dst
}

// measure computes the memory size of the segment.
func (s *segment) measure() {
	var sc codec.Sizer
	s.serialize(&sc)
	s.bytes = int64(sc)
}

// serialize writes, reads or measures the segment, depending on the codec.
func (s *segment) serialize(c codec.Codec) {
	if s.t == nil {
		s.t = &table{}
	}
	s.t.serialize(c)
	s.texts.Serialize(c)
	for i, f := range textFields {
		if f.contains != nil {
			s.parts[i].Serialize(c)
		}
	}
	for i, f := range textFields {
		if f.anyOf != nil {
			s.values[i].serialize(c)
		}
	}
	s.categories.serialize(c)
	for i, f := range numFields {
		if f.between != nil {
			s.ranges[i].serialize(c)
		}
	}
	for i, f := range listFields {
		if f.anyOf != nil {
			s.listValues[i].serialize(c)
		}
	}
	s.barcodes.serialize(c)
	s.brands.serialize(c)
	s.brandWords.serialize(c)
	s.knownDates.Serialize(c)
	codec.Slice(c, &s.permitOrder)
}
