package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/postings"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// View is an immutable state of the registry. Any number of goroutines may search it without a
// lock.
type View struct {
	segments         []segmentView
	permittees       *permittees
	publishedAliases []vocabulary.CategoryAlias
	aliases          map[string]string // publishedAliases as vocabulary.AliasTable returns them
	appellations     cola.Appellations
	marks            Marks
	scratch          *postings.ScratchPool
	coverage         *coverageCache
	suggestions      *suggestionCache
	firstSeen        *firstSeenCache
}

// Marks returns the store revisions of the view.
func (v *View) Marks() Marks { return v.marks }

// Stats describes a view.
type Stats struct {
	Labels     int // live labels
	Undated    int // live labels without an effective date
	Permittees int // permittees with a record
	Segments   int
	Tombstones int   // replaced labels that remain until compaction
	Bytes      int64 // memory used by the segments
}

// Stats returns statistics on the view.
func (v *View) Stats() Stats {
	s := Stats{Permittees: len(v.permittees.ranked), Segments: len(v.segments)}
	for i := range v.segments {
		seg := &v.segments[i]
		s.Labels += seg.liveCount()
		s.Tombstones += seg.deleted
		s.Bytes += seg.bytes + int64(len(seg.tombstones)*8)
		lo, hi := seg.t.undated()
		for doc := lo; doc < hi; doc++ {
			if seg.isLive(doc) {
				s.Undated++
			}
		}
	}
	return s
}

// find returns the segment and document of a live label.
func (v *View) find(id cola.TTBID) (i int, doc uint32, ok bool) {
	for i := range v.segments {
		if doc, ok := v.segments[i].t.doc(id); ok && v.segments[i].isLive(doc) {
			return i, doc, true
		}
	}
	return 0, 0, false
}

// Label returns a label by ID; ok is false if there is none.
func (v *View) Label(id cola.TTBID) (label cola.ColaSummary, ok bool) {
	i, doc, ok := v.find(id)
	if !ok {
		return label, false
	}
	return v.segments[i].t.summary(doc), true
}

// Rows returns the list rows of labels: their summaries plus other indexed data. For a label
// missing from the view, the row has only its summary and company name.
func (v *View) Rows(labels []cola.ColaSummary) []cola.ColaRow {
	rows := make([]cola.ColaRow, len(labels))
	for n, label := range labels {
		row := &rows[n]
		row.ColaSummary = label
		if i, ok := v.permittees.find(vocabulary.NormalizePermit(label.PermitNumber)); ok {
			row.CompanyName = v.permittees.records[i].CompanyName
		}
		if i, doc, ok := v.find(label.TTBID); ok {
			t := v.segments[i].t
			row.ABV.V, row.ABV.OK = t.num[numABV].Value(doc)
			row.VolumeML.V, row.VolumeML.OK = t.num[numVolume].Value(doc)
		}
	}
	return rows
}

// Barcode returns up to limit labels with the given barcode, in result order, and their exact
// total. Any barcode of a label counts, not only the main one. ok is false if there are no labels.
func (v *View) Barcode(value string, limit int) (r cola.BarcodeResult, ok bool) {
	found := make([][]uint32, len(v.segments))
	total := v.findBarcode(value, found)
	if total == 0 {
		return r, false
	}
	r = cola.BarcodeResult{BarcodeValue: value, TotalColas: total}
	if i, doc, ok := newResultMerger(v.segments, found, cola.SortNewest).next(); ok {
		r.BarcodeType = cola.Text(v.segments[i].t.barcode(doc, value).Type)
	}
	r.Colas, _ = v.rows(found, cola.SortNewest, 0, limit)
	return r, true
}

// Categories returns the category paths of labels, with aliases applied, and their ancestors, in
// alphabetical order. A path without live labels is listed until compaction removes it.
func (v *View) Categories() []string {
	paths := map[string]string{} // by folded path, so that equivalent spellings count once
	for i := range v.segments {
		c := &v.segments[i].t.text[colCategory]
		for value := range uint32(c.Len()) {
			path := vocabulary.ResolveCategory(c.At(value), v.aliases)
			for ; path != ""; path = above(path) {
				folded := vocabulary.FoldPath(path)
				if _, seen := paths[folded]; seen {
					break
				}
				paths[folded] = path
			}
		}
	}
	return slices.Sorted(maps.Values(paths))
}

// Resolve returns the current category path for a path that may be an alias.
func (v *View) Resolve(path string) string { return vocabulary.ResolveCategory(path, v.aliases) }

// Origins returns the labels' places of origin as vocabulary.PlaceOf returns them, in upper case
// and sorted. A place without live labels is listed until compaction removes it.
func (v *View) Origins() []string {
	seen := map[string]bool{}
	for i := range v.segments {
		keys := &v.segments[i].values[colOrigin].keys
		for n := range uint32(keys.Len()) {
			seen[keys.At(n)] = true
		}
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}

// above returns the parent of a normalized path, or the empty string for a root.
func above(path string) string {
	i := strings.LastIndex(path, " > ")
	return path[:max(0, i)]
}

// States returns the two-letter codes of the permittees' states, in alphabetical order.
func (v *View) States() []string {
	seen := map[string]bool{}
	for i := range v.permittees.stats {
		if f := &v.permittees.stats[i]; f.known {
			seen[v.permittees.states[f.state]] = true
		}
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}

// UnknownWords returns the words of a query that occur in no label, folded. It ignores prefixes,
// such as oak*.
func (v *View) UnknownWords(query string) (unknown []string) {
	for _, p := range text.ParseQuery(query) {
		if p.Prefix {
			p.Words = p.Words[:len(p.Words)-1]
		}
		for _, w := range p.Words {
			if !slices.Contains(unknown, w) && !v.hasWord(text.Phrase{Words: []string{w}, Also: p.Also, Exact: p.Exact}) {
				unknown = append(unknown, w)
			}
		}
	}
	return unknown
}

func (v *View) hasWord(p text.Phrase) bool {
	id, isID := cola.ParseTTBID(p.Words[0])
	if _, _, found := v.find(id); isID && found {
		return true
	}
	return slices.ContainsFunc(v.segments, func(seg segmentView) bool {
		return slices.ContainsFunc(seg.texts.MatchWord(p, nil), func(l postings.List) bool { return l.Len() > 0 })
	})
}

// maxNearestWords is the maximum number of words that NearestWords and NearestPrefixes return.
const maxNearestWords = 10

// NearestWords returns the indexed words that a misspelled word may stand for, most likely first.
func (v *View) NearestWords(word string) []string {
	near := nearestWords(text.Fold(word), false, v.eachTextWord)
	return near[:min(len(near), maxNearestWords)]
}

// eachTextWord implements eachWord for the text of labels.
func (v *View) eachTextWord(first string, yield func(w string, docs int)) {
	for i := range v.segments {
		v.segments[i].texts.EachWord(first, yield)
	}
}

// UnknownPrefixes returns the prefixes in a query, folded, that no word or ID of any label begins
// with.
func (v *View) UnknownPrefixes(query string) (unknown []string) {
	for _, p := range text.ParseQuery(query) {
		prefix := p.Words[len(p.Words)-1]
		if !p.Prefix || slices.Contains(unknown, prefix) {
			continue
		}
		if v.Search(cola.ColaSearch{Query: cola.Query{Text: prefix + "*"}, Page: 1}).Total == 0 {
			unknown = append(unknown, prefix)
		}
	}
	return unknown
}

// NearestPrefixes returns the beginnings of indexed words that an unknown prefix may stand for,
// most likely first.
func (v *View) NearestPrefixes(prefix string) []string {
	near := nearestWords(prefix, true, v.eachTextWord)
	return near[:min(len(near), maxNearestWords)]
}

// maxNearestValues is the maximum number of values that contain a name and that KnowsClass,
// KnowsGrape, KnowsAppellation and CompleteGrape return.
const maxNearestValues = 10

// KnowsClass reports whether any label has the given class/type. If not, nearest is a similar one,
// if any, followed by up to ten that contain the words of the name, or else words that begin with
// them, most frequent first.
func (v *View) KnowsClass(name string) (known bool, nearest []string) {
	index := func(seg *segmentView) *valueIndex { return &seg.values[colClass] }
	return v.knowsValue(index, foldValue, name, []string{name})
}

// KnowsGrape is KnowsClass for grape varieties.
func (v *View) KnowsGrape(name string) (known bool, nearest []string) {
	return v.knowsListed(listGrape, name, []string{name})
}

// KnowsAppellation is KnowsClass for appellations. A label also has the appellations around its own.
func (v *View) KnowsAppellation(name string) (known bool, nearest []string) {
	return v.knowsListed(listAppellation, name, v.appellations.Within(name))
}

// CompleteGrape returns up to ten grape varieties that begin with the given words, most frequent
// first, such as Cabernet Sauvignon for cabernet. Unless whole is true, the words may be incomplete:
// sauv blanc stands for Sauvignon Blanc. Unlike Suggest, which first counts all labels after an
// update, it is fast enough for every search.
func (v *View) CompleteGrape(words string, whole bool) []string {
	begin, labels := strings.Fields(listFields[listGrape].fold(words)), map[string]int{}
	if len(begin) == 0 {
		return nil
	}
	for i := range v.segments {
		index := &v.segments[i].listValues[listGrape]
		lo, hi := index.keys.PrefixRange(begin[0])
		for k := lo; k < hi; k++ {
			if key := index.keys.At(k); beginsWith(strings.Fields(key), begin, whole) {
				labels[key] += index.lists.At(k).Len()
			}
		}
	}
	return v.listValues(listGrape, keysWithMostLabels(labels))
}

// beginsWith reports whether words start with the given prefixes, one per word. If whole is true, the
// words must be equal to them.
func beginsWith(words, prefixes []string, whole bool) bool {
	if len(prefixes) > len(words) {
		return false
	}
	for i, prefix := range prefixes {
		if words[i] != prefix && (whole || !strings.HasPrefix(words[i], prefix)) {
			return false
		}
	}
	return true
}

// keysWithMostLabels returns up to maxNearestValues keys, those with most labels first.
func keysWithMostLabels(labels map[string]int) []string {
	keys := slices.SortedFunc(maps.Keys(labels), func(a, b string) int {
		return cmp.Or(cmp.Compare(labels[b], labels[a]), cmp.Compare(a, b))
	})
	return keys[:min(len(keys), maxNearestValues)]
}

// knowsListed is knowsValue for a column of lists. It returns the nearest values as labels spell
// them.
func (v *View) knowsListed(column int, name string, values []string) (known bool, nearest []string) {
	index := func(seg *segmentView) *valueIndex { return &seg.listValues[column] }
	known, keys := v.knowsValue(index, listFields[column].fold, name, values)
	return known, v.listValues(column, keys)
}

// listValues returns the values of a column of lists with the given keys, as labels spell them.
func (v *View) listValues(column int, keys []string) []string {
	values := make([]string, len(keys))
	missing := len(keys)
	for i := range v.segments {
		spellings := &v.segments[i].t.lists[column]
		for n := uint32(0); missing > 0 && n < uint32(spellings.Len()); n++ {
			value := spellings.At(n)
			if k := slices.Index(keys, listFields[column].fold(value)); k >= 0 && values[k] == "" {
				values[k] = value
				missing--
			}
		}
	}
	return values
}

// knowsValue reports whether any label has one of the values in an index, compared after folding.
// If not, it returns the value with the nearest spelling, if any, followed by the most frequent ones
// that contain the words of name, or else words that begin with them.
func (v *View) knowsValue(
	indexOf func(*segmentView) *valueIndex, fold func(string) string, name string, values []string,
) (known bool, nearest []string) {
	var all []string
	begin, whole, part := strings.Fields(fold(name)), map[string]int{}, map[string]int{}
	for i := range v.segments {
		index := indexOf(&v.segments[i])
		if len(index.keyNumbers(fold, values)) > 0 {
			return true, nil
		}
		for k := range uint32(index.keys.Len()) {
			key := index.keys.At(k)
			all = append(all, key)
			contains, begins := false, false
			for words := strings.Fields(key); len(words) >= len(begin) && len(begin) > 0; words = words[1:] {
				contains = contains || beginsWith(words, begin, true)
				begins = begins || beginsWith(words, begin, false)
			}
			if contains {
				whole[key] += index.lists.At(k).Len()
			} else if begins {
				part[key] += index.lists.At(k).Len()
			}
		}
	}
	if nearest = keysWithMostLabels(whole); len(nearest) == 0 {
		nearest = keysWithMostLabels(part)
	}
	if near, ok := vocabulary.NearestSpelling(name, all); ok && !slices.Contains(nearest, near) {
		nearest = slices.Insert(nearest, 0, near)
	}
	return false, nearest
}
