package vocabulary

import (
	"slices"
	"strings"
	"sync"
)

// State is a US state, the District of Columbia, Puerto Rico, the US Virgin Islands or Guam.
type State struct {
	Code   string // two letters, upper case
	Origin string // name in Origins, upper case
}

// StatesNamed returns the states that a code, name or adjective stands for, ignoring letter case,
// accents and punctuation. Only an adjective may stand for several ("carolinian"). It returns nil
// for other words, including names of the whole country.
func StatesNamed(word string) []State { return statesByWord()[foldPlace(word)] }

// statesByWord maps folded words to states.
var statesByWord = sync.OnceValue(func() map[string][]State {
	index := map[string][]State{}
	for _, s := range states {
		i := slices.IndexFunc(places[:], func(p place) bool { return p.name == s.Origin }) // GEORGIA's first place is the state
		for _, word := range append(places[i].allNames(), s.Code) {
			if key := foldPlace(word); !slices.Contains(index[key], s) {
				index[key] = append(index[key], s)
			}
		}
	}
	return index
})

// States returns every state, in the order of their codes.
func States() []State { return slices.Clone(states[:]) }

// NearestState corrects a misspelled name of a state. The result is in lower case.
func NearestState(word string) (name string, ok bool) {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = strings.ToLower(s.Origin)
	}
	return Nearest(strings.ToLower(word), names)
}

// states is sorted by code.
var states = [...]State{
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
