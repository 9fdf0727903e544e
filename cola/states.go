package cola

import (
	"slices"
	"strings"
	"sync"
)

// usState is a US state, or what addresses and origins name like one: the District of Columbia, Puerto Rico, the US Virgin
// Islands and Guam.
type usState struct {
	code   string // two letters, upper case
	origin string // its name among TTB's origins, upper case
}

// statesCalled returns the states that a word means: a code, a name or an adjective, regardless of letter case, accents and
// punctuation. An adjective may mean several ("carolinian"); a code or a name means one. It returns nil for any other word,
// names of the whole country included.
func statesCalled(word string) []usState { return statesByWord()[foldPlace(word)] }

// statesByWord indexes the table once.
var statesByWord = sync.OnceValue(func() map[string][]usState {
	index := map[string][]usState{}
	for _, s := range states {
		i := slices.IndexFunc(places[:], func(p place) bool { return p.name == s.origin }) // GEORGIA's first place is the state
		for _, word := range append(places[i].called(), s.code) {
			if key := foldPlace(word); !slices.Contains(index[key], s) {
				index[key] = append(index[key], s)
			}
		}
	}
	return index
})

// nearestState returns the name of the state that was probably meant, in lower case.
func nearestState(word string) (name string, ok bool) {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = strings.ToLower(s.origin)
	}
	return Nearest(strings.ToLower(word), names)
}

// states lists every state by code.
var states = [...]usState{
	{"AK", "ALASKA"}, {"AL", "ALABAMA"}, {"AR", "ARKANSAS"}, {"AZ", "ARIZONA"}, {"CA", "CALIFORNIA"}, {"CO", "COLORADO"},
	{"CT", "CONNECTICUT"}, {"DC", "DISTRICT OF COLUMBIA"}, {"DE", "DELAWARE"}, {"FL", "FLORIDA"}, {"GA", "GEORGIA"},
	{"GU", "GUAM"}, {"HI", "HAWAII"}, {"IA", "IOWA"}, {"ID", "IDAHO"}, {"IL", "ILLINOIS"}, {"IN", "INDIANA"}, {"KS", "KANSAS"},
	{"KY", "KENTUCKY"}, {"LA", "LOUISIANA"}, {"MA", "MASSACHUSETTS"}, {"MD", "MARYLAND"}, {"ME", "MAINE"}, {"MI", "MICHIGAN"},
	{"MN", "MINNESOTA"}, {"MO", "MISSOURI"}, {"MS", "MISSISSIPPI"}, {"MT", "MONTANA"}, {"NC", "NORTH CAROLINA"},
	{"ND", "NORTH DAKOTA"}, {"NE", "NEBRASKA"}, {"NH", "NEW HAMPSHIRE"}, {"NJ", "NEW JERSEY"}, {"NM", "NEW MEXICO"},
	{"NV", "NEVADA"}, {"NY", "NEW YORK"}, {"OH", "OHIO"}, {"OK", "OKLAHOMA"}, {"OR", "OREGON"}, {"PA", "PENNSYLVANIA"},
	{"PR", "PUERTO RICO"}, {"RI", "RHODE ISLAND"}, {"SC", "SOUTH CAROLINA"}, {"SD", "SOUTH DAKOTA"}, {"TN", "TENNESSEE"},
	{"TX", "TEXAS"}, {"UT", "UTAH"}, {"VA", "VIRGINIA"}, {"VI", "VIRGIN ISLANDS, US"}, {"VT", "VERMONT"}, {"WA", "WASHINGTON"},
	{"WI", "WISCONSIN"}, {"WV", "WEST VIRGINIA"}, {"WY", "WYOMING"},
}
