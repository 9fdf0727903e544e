package cola

import (
	"maps"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Appellations maps an appellation of origin to those directly inside it. Names are folded by
// vocabulary.FoldText.
type Appellations map[string][]string

// NewAppellations returns the appellations of viticultural areas by their current boundaries. An area lies in its parents,
// in its state if it has only one, and in its county if it has only one ("sonoma county").
func NewAppellations(areas []AVADetail) Appellations {
	states := map[string]string{}
	for _, s := range vocabulary.States() {
		states[s.Code] = s.Origin
	}
	inside := map[string]map[string]bool{}
	add := func(outer, inner string) {
		outer, inner = vocabulary.FoldText(outer), vocabulary.FoldText(inner)
		if outer == "" || inner == "" || outer == inner {
			return
		}
		if inside[outer] == nil {
			inside[outer] = map[string]bool{}
		}
		inside[outer][inner] = true
	}
	for i := range areas {
		a := &areas[i]
		if a.ValidEndDate != 0 {
			continue
		}
		for _, parent := range a.ParentAVAs {
			add(parent, a.Name)
		}
		for _, child := range a.ChildAVAs {
			add(a.Name, child)
		}
		if len(a.States) != 1 {
			continue
		}
		state := states[strings.ToUpper(a.States[0])]
		add(state, a.Name)
		if len(a.Counties) == 1 {
			county := a.Counties[0] + " County"
			add(county, a.Name)
			add(state, county)
		}
	}
	table := make(Appellations, len(inside))
	for outer, names := range inside {
		table[outer] = slices.Sorted(maps.Keys(names))
	}
	return table
}

// Within returns an appellation, folded, and all appellations inside it, at any depth.
func (a Appellations) Within(name string) []string {
	found := []string{vocabulary.FoldText(name)}
	seen := map[string]bool{found[0]: true}
	for i := 0; i < len(found); i++ {
		for _, inner := range a[found[i]] {
			if !seen[inner] {
				seen[inner] = true
				found = append(found, inner)
			}
		}
	}
	return found
}
