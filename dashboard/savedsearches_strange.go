package dashboard

import (
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// strange says which of the words that filters look for no label has at all: what is misspelled would look like a search in which nothing happens.
func strange(words registry.Words, f cola.SavedSearchFilters) (all []string) {
	if cola.SettlePath(f.DerivedCategory) != "" && !words.HasCategory(f.DerivedCategory) {
		all = append(all, "No label has the category path “"+legible(f.DerivedCategory)+"”"+meant(f.DerivedCategory, words.Categories))
	}
	if strings.TrimSpace(f.Country) != "" && !words.HasOrigin(f.Country) {
		said := "No label has the country of origin “" + legible(f.Country) + "”"
		if cola.IsOrigin(f.Country) {
			said += " so far."
		} else {
			said += meant(f.Country, words.Origins)
		}
		all = append(all, said)
	}
	if strings.TrimSpace(f.USState) != "" && !words.HasUSState(f.USState) {
		all = append(all, "No label is from the US state “"+legible(f.USState)+"” so far.")
	}
	return all
}

// meant asks how a word was meant that is not among those that there are.
func meant(word string, words []string) string {
	if near, ok := cola.Nearest(word, words); ok {
		return ": did you mean " + near + "?"
	}
	return ": is it spelled right?"
}
