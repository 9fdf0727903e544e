package search

import (
	"maps"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Categories returns the category paths that labels have, transitions applied, and every path above them, in alphabetical
// order. A path whose last label was changed or replaced stays until the segment is folded.
func (v *View) Categories() []string {
	paths := map[string]string{} // by folded path: spellings that are compared as equal count once
	for i := range v.layers {
		c := &v.layers[i].t.text[colCategory]
		for value := range uint32(c.len()) {
			path := vocabulary.ResolveCategory(c.at(value), v.aliases)
			for ; path != ""; path = above(path) {
				folded := vocabulary.FoldPath(path)
				if _, met := paths[folded]; met {
					break
				}
				paths[folded] = path
			}
		}
	}
	return slices.Sorted(maps.Values(paths))
}

// Resolve returns the current category path for one that may be former.
func (v *View) Resolve(path string) string { return vocabulary.ResolveCategory(path, v.aliases) }

// Origins returns the places that labels are from, as vocabulary.PlaceOf has them, upper case and sorted. A place whose last label
// was changed or replaced stays until its segment is folded.
func (v *View) Origins() []string {
	met := map[string]bool{}
	for i := range v.layers {
		keys := &v.layers[i].facets[facetOrigin].keys
		for n := range uint32(keys.len()) {
			met[keys.at(n)] = true
		}
	}
	delete(met, "")
	return slices.Sorted(maps.Keys(met))
}

// above returns the path that a settled one lies directly below, or nothing for a root.
func above(path string) string {
	i := strings.LastIndex(path, " > ")
	return path[:max(0, i)]
}

// States returns the states that permittees are in, two letters each, in alphabetical order.
func (v *View) States() []string {
	met := map[string]bool{}
	for i := range v.holders.facts {
		if f := &v.holders.facts[i]; f.known {
			met[v.holders.states[f.state]] = true
		}
	}
	delete(met, "")
	return slices.Sorted(maps.Keys(met))
}
