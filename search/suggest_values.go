package search

import (
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// spellings counts the labels with each spelling of a value.
type spellings map[string]int

// mostFrequent returns the spelling with the most labels. Ties go to the first alphabetically.
func (s spellings) mostFrequent() (most string) {
	for spelling, n := range s {
		if of := s[most]; n > of || n == of && spelling < most {
			most = spelling
		}
	}
	return most
}

// suggestion returns the most frequent spelling that a parameter accepts, with the labels of all
// spellings. Its count is zero if there is no such spelling.
func (s spellings) suggestion() cola.Suggestion {
	accepted, labels := spellings{}, 0
	for spelling, n := range s {
		labels += n
		if cola.AcceptsText(spelling) {
			accepted[spelling] = n
		}
	}
	most := accepted.mostFrequent()
	if accepted[most] == 0 {
		return cola.Suggestion{}
	}
	return cola.Suggestion{Value: most, Count: labels}
}

// spellingsByKey groups spellings by key. Spellings with the same key are one value.
type spellingsByKey map[string]spellings

func (b spellingsByKey) add(key, spelling string, labels int) {
	if key == "" || labels == 0 {
		return
	}
	if b[key] == nil {
		b[key] = spellings{}
	}
	b[key][spelling] += labels
}

// liveByValue counts the live documents with each value of a text column.
func (seg *segmentView) liveByValue(column int) []uint32 {
	c := &seg.t.text[column]
	counts := make([]uint32, c.Len())
	c.IDs.Count(counts)
	seg.eachDead(0, seg.t.n, func(doc uint32) { counts[c.IDs.At(doc)]-- })
	return counts
}

// liveByListValue counts the live documents with each value of a list column.
func (seg *segmentView) liveByListValue(column int) []uint32 {
	c := &seg.t.lists[column]
	counts := make([]uint32, c.Len())
	for _, v := range c.Refs {
		counts[v]++
	}
	seg.eachDead(0, seg.t.n, func(doc uint32) {
		for _, v := range c.Row(doc) {
			counts[v]--
		}
	})
	return counts
}

// listCounts counts the labels with each key of a list column, and how often each spelling occurs.
// A label with several spellings of a key counts once.
func (v *View) listCounts(column int) (labels map[string]int, byKey spellingsByKey) {
	labels, byKey = map[string]int{}, spellingsByKey{}
	for i := range v.segments {
		seg := &v.segments[i]
		c, index := &seg.t.lists[column], &seg.listValues[column]
		keys, keyOf := foldKeys(&c.Dict, listFields[column].fold)
		for value, n := range seg.liveByListValue(column) {
			byKey.add(keys.At(keyOf[value]), strings.TrimSpace(c.At(uint32(value))), int(n))
		}
		dead := make([]int, keys.Len())
		seg.eachDead(0, seg.t.n, func(doc uint32) {
			for value := range distinctKeys(c.Row(doc), keyOf) {
				dead[keyOf[value]]++
			}
		})
		for k, n := range dead {
			labels[keys.At(uint32(k))] += index.lists.At(uint32(k)).Len() - n
		}
	}
	return labels, byKey
}

// categoryCounts counts the labels at or below each category path.
func (v *View) categoryCounts() (values []cola.Suggestion) {
	paths := map[string]*pathCount{}
	for i := range v.segments {
		seg := &v.segments[i]
		seg.addPaths(paths, &valueCounter{byValue: seg.liveByValue(colCategory)})
	}
	c := facetCounter{view: v}
	for folded, at := range paths {
		if c.isSearchable(at.spelling, folded) {
			values = append(values, cola.Suggestion{Value: at.spelling, Count: at.found})
		}
	}
	return values
}

// originCounts counts the labels from each origin, including its parts.
func (v *View) originCounts() (values []cola.Suggestion) {
	counts := map[string]int{}
	for i := range v.segments {
		seg := &v.segments[i]
		seg.addValues(counts, colOrigin, &valueCounter{byValue: seg.liveByValue(colOrigin)})
	}
	names := map[string]bool{}
	for place := range counts {
		names[strings.TrimSpace(vocabulary.PlaceName(place))] = true
	}
	for name := range names {
		places, labels := vocabulary.OriginNames(name), 0
		for _, place := range places {
			labels += counts[foldValue(place)]
		}
		if slices.Contains(places, name) { // otherwise no parameter selects it
			values = append(values, cola.Suggestion{Value: name, Count: labels})
		}
	}
	return values
}

// classCounts counts the labels in each class.
func (v *View) classCounts() (values []cola.Suggestion) {
	byKey := spellingsByKey{}
	for i := range v.segments {
		seg := &v.segments[i]
		for value, n := range seg.liveByValue(colClass) {
			name := seg.t.text[colClass].At(uint32(value))
			byKey.add(foldValue(name), strings.TrimSpace(name), int(n))
		}
	}
	for _, s := range byKey {
		values = append(values, s.suggestion())
	}
	return values
}

// appellationCounts counts the labels with each appellation, including the appellations inside it.
func (v *View) appellationCounts() (values []cola.Suggestion) {
	labels, byKey := v.listCounts(listAppellation)
	for key, s := range byKey {
		found := s.suggestion()
		if inside := v.appellations.Within(key); len(inside) > 1 && found.Count > 0 {
			found.Count = 0
			for _, name := range inside {
				found.Count += labels[name]
			}
		}
		values = append(values, found)
	}
	return values
}

// grapeCounts counts the labels with each grape variety.
func (v *View) grapeCounts() (values []cola.Suggestion) {
	labels, byKey := v.listCounts(listGrape)
	for key, s := range byKey {
		found := s.suggestion()
		found.Count = min(found.Count, labels[key])
		values = append(values, found)
	}
	return values
}
