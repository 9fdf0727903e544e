package cola

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
)

// option is a boolean filter, its name and the word that it stands for in a search.
type option struct {
	on   *Opt[bool]
	name string
	word string
}

// The groups of boolean filters, each in the order of its words. Those of one group that are on mean any of them.

func (f *SavedSearchFilters) types() []option {
	return []option{
		{&f.TypeWine, "type_wine", string(Wine)},
		{&f.TypeMaltBeverage, "type_malt_beverage", string(MaltBeverage)},
		{&f.TypeDistilledSpirit, "type_distilled_spirit", string(DistilledSpirits)},
	}
}

func (f *SavedSearchFilters) roots() []option {
	return []option{{&f.DerivedBeer, "derived_beer", "Beer"}, {&f.DerivedWine, "derived_wine", "Wine"}, {&f.DerivedLiquor, "derived_liquor", "Liquor"}}
}

func (f *SavedSearchFilters) origins() []option {
	return []option{{&f.OriginDomestic, "origin_domestic", Domestic}, {&f.OriginImported, "origin_imported", Imported}}
}

func (f *SavedSearchFilters) containers() []option {
	return []option{
		{&f.ContainerBag, "container_bag", "bag"}, {&f.ContainerBottle, "container_bottle", "bottle"}, {&f.ContainerBox, "container_box", "box"},
		{&f.ContainerCan, "container_can", "can"}, {&f.ContainerCarton, "container_carton", "carton"}, {&f.ContainerCask, "container_cask", "cask"},
		{&f.ContainerJug, "container_jug", "jug"}, {&f.ContainerKeg, "container_keg", "keg"}, {&f.ContainerPod, "container_pod", "pod"},
		{&f.ContainerPouch, "container_pouch", "pouch"},
	}
}

// chosen returns the words of the options that are on.
func chosen(options []option) []string {
	var words []string
	for _, o := range options {
		if o.on.V {
			words = append(words, o.word)
		}
	}
	return words
}

// AsQuery returns what settled filters ask for, of any date. Options of one group mean any of them, groups all; both origins are
// no filter, also for labels of which it is not known. A country and a US state both have to hold, so France and California
// find nothing.
func (f SavedSearchFilters) AsQuery() Query {
	q := Query{
		Text:         f.Query,
		ProductTypes: chosen(f.types()),
		Categories:   chosen(f.roots()),
		CategoryPath: f.DerivedCategory,
		Status:       f.ApplicationStatus,
		BrandName:    f.BrandName,
		PermitPart:   f.PermitNumberText,
		AddressState: f.ApplicantUSState,
		Barcode:      f.BarcodeValue,
		ABVMin:       f.ABVMin,
		ABVMax:       f.ABVMax,
		VolumeMin:    inMilliliters(f.VolumeMin, f.VolumeUnit),
		VolumeMax:    inMilliliters(f.VolumeMax, f.VolumeUnit),
		Containers:   chosen(f.containers()),
	}
	if origins := chosen(f.origins()); len(origins) == 1 {
		q.Domestic = origins[0]
	}
	if f.Country != "" {
		q.OriginNames = OriginNames(f.Country)
	}
	if f.USState != "" {
		q.narrowToStates(statesCalled(f.USState))
	}
	return q
}

// narrowToStates adds the condition that a label is from one of the states.
func (q *Query) narrowToStates(states []usState) {
	names := []string{} // not nil: none matches nothing
	for _, s := range states {
		for _, name := range OriginNames(s.code) {
			if q.OriginNames == nil || slices.Contains(q.OriginNames, name) {
				names = append(names, name)
			}
		}
	}
	q.OriginNames = names
}

// inMilliliters converts a settled bound.
func inMilliliters(v Opt[float64], unit string) Opt[float64] {
	ml, ok := Milliliters(v.V, unit)
	if !v.OK || !ok {
		return Opt[float64]{}
	}
	return Some(ml)
}

// Narrow reports whether settled filters narrow a search enough for it to run by itself. A status does not, nor do bounds that
// leave out nothing that is known, nor every option of a group together.
func (f SavedSearchFilters) Narrow() bool {
	for _, text := range []string{f.Query, f.BrandName, f.BarcodeValue, f.PermitNumberText, f.DerivedCategory, f.Country, f.USState, f.ApplicantUSState} {
		if text != "" {
			return true
		}
	}
	for _, group := range [][]option{f.types(), f.roots(), f.origins(), f.containers()} {
		if n := len(chosen(group)); n > 0 && n < len(group) {
			return true
		}
	}
	return f.ABVMin.V > 0 || f.ABVMax.OK && f.ABVMax.V < 100 || f.VolumeMin.V > 0 || f.VolumeMax.OK
}

// Fingerprint hashes what a settled search is to do: its name, filters and schedule. When it runs and what the store adds do not
// count. The value is the same in every process and, as long as the filters mean the same, in every version of the program.
func (s SavedSearch) Fingerprint() (sum [32]byte) {
	type schedule struct {
		Cadence string   `json:"cadence"`
		Day     Opt[int] `json:"day"`
		Active  bool     `json:"active"`
	}
	content := struct {
		Name     string             `json:"name"`
		Filters  SavedSearchFilters `json:"filters"`
		Schedule *schedule          `json:"schedule,omitempty"`
	}{s.Name, s.Filters, nil}
	if s.Schedule != nil {
		content.Schedule = &schedule{s.Schedule.Cadence, s.Schedule.StoredDay(), s.Schedule.Active}
	}
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(content) // fails for numbers that are not finite only, and those are never settled
	h.Sum(sum[:0])
	return sum
}
