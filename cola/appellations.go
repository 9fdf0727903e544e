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

// NewAppellations returns the appellations of viticultural areas by their current boundaries; former areas count if their
// name has no current one. An area lies in its parents, in its state if it has only one, and in its county if it has only
// one ("sonoma county"). A county lies in its state unless another state has a county of that name. An area's other name
// means the area.
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
	current, statesOfCounty := map[string]bool{}, map[string]map[string]bool{}
	for i := range areas {
		a := &areas[i]
		if a.ValidEndDate == 0 {
			current[vocabulary.FoldText(a.Name)] = true
		}
		for _, county := range a.Counties {
			county = countyName(county)
			if statesOfCounty[county] == nil {
				statesOfCounty[county] = map[string]bool{}
			}
			for _, state := range a.States {
				statesOfCounty[county][state] = true
			}
		}
	}
	for i := range areas {
		a := &areas[i]
		if a.ValidEndDate != 0 && current[vocabulary.FoldText(a.Name)] {
			continue
		}
		add(a.Name, string(a.AKA))
		add(string(a.AKA), a.Name)
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
			county := countyName(a.Counties[0])
			add(county, a.Name)
			if len(statesOfCounty[county]) == 1 {
				add(state, county)
			}
		}
	}
	table := make(Appellations, len(inside))
	for outer, names := range inside {
		table[outer] = slices.Sorted(maps.Keys(names))
	}
	return table
}

// countyName returns the folded name of a county as an appellation.
func countyName(county string) string {
	return strings.TrimSuffix(vocabulary.FoldText(county), " county") + " county"
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
