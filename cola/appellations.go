package cola

import (
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Appellations maps an appellation of origin to those directly inside it. Names are folded by
// vocabulary.FoldText.
type Appellations map[string][]string

// NewAppellations returns the appellations of viticultural areas, based on their current
// boundaries. It uses a former boundary only if no area of that name has a current one.
//
// An area is inside its parents; inside its state, if it has only one; and inside its county
// ("sonoma county"), if it has only one. A county is inside its state unless another state has a
// county of the same name. An area's other name is a synonym.
func NewAppellations(areas []AVADetail) Appellations {
	table, current, statesOf := Appellations{}, map[string]bool{}, map[string][]string{}
	for i := range areas {
		a := &areas[i]
		if a.ValidEndDate == 0 {
			current[vocabulary.FoldText(a.Name)] = true
		}
		for _, county := range a.Counties {
			statesOf[countyName(county)] = append(statesOf[countyName(county)], a.States...)
		}
	}
	for i := range areas {
		a := &areas[i]
		if a.ValidEndDate != 0 && current[vocabulary.FoldText(a.Name)] {
			continue
		}
		table.add(a.Name, string(a.AKA))
		table.add(string(a.AKA), a.Name)
		for _, parent := range a.ParentAVAs {
			table.add(parent, a.Name)
		}
		for _, child := range a.ChildAVAs {
			table.add(a.Name, child)
		}
		if len(a.States) == 1 {
			table.addPlaces(a, statesOf)
		}
	}
	for outer := range table {
		slices.Sort(table[outer])
		table[outer] = slices.Compact(table[outer])
	}
	return table
}

// add puts an appellation inside another.
func (a Appellations) add(outer, inner string) {
	outer, inner = vocabulary.FoldText(outer), vocabulary.FoldText(inner)
	if outer != "" && inner != "" && outer != inner {
		a[outer] = append(a[outer], inner)
	}
}

// addPlaces puts an area with one state inside the state and, if it has one county, inside the
// county. statesOf maps counties to the states of their areas.
func (a Appellations) addPlaces(area *AVADetail, statesOf map[string][]string) {
	code := area.States[0]
	state := ""
	if found := vocabulary.StatesNamed(code); len(found) == 1 {
		state = found[0].Origin
	}
	a.add(state, area.Name)
	if len(area.Counties) != 1 {
		return
	}
	county := countyName(area.Counties[0])
	a.add(county, area.Name)
	if !slices.ContainsFunc(statesOf[county], func(other string) bool { return other != code }) {
		a.add(state, county)
	}
}

// countyName returns the folded name of a county as an appellation.
func countyName(county string) string {
	return strings.TrimSuffix(vocabulary.FoldText(county), " county") + " county"
}

// Within returns the folded names of an appellation and of all appellations inside it, at any
// depth.
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
