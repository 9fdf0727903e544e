package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// Where the words of filters are listed.
const (
	filtersURI    = referenceScheme + "filters"
	categoriesURI = referenceScheme + "categories"
)

// noteUnmatched says of a search that found nothing which of its words no label has: nothing found for such a word does not mean that a
// name is free. Without the words of the records nothing is said.
func noteUnmatched(ctx context.Context, svc Service, a *answer, p *searchArgs) {
	if p.Origin == "" && p.DerivedSubcategory == "" {
		return
	}
	words, err := svc.Words(ctx)
	if err != nil {
		return
	}
	const so = " So a total of 0 says nothing of the other filters: correct this one, or leave it out."
	for _, told := range []string{strangeOrigin(words, "origin", p.Origin), strangeCategory(words, "category path", p.DerivedSubcategory)} {
		if told != "" {
			a.note("%s", told+so)
		}
	}
}

// noteIdle says of a search that was kept which of its words no label has.
func noteIdle(ctx context.Context, svc Service, a *answer, f *cola.SavedSearchFilters) {
	if f.Country == "" && f.USState == "" && f.DerivedCategory == "" {
		return
	}
	words, err := svc.Words(ctx)
	if err != nil {
		return
	}
	for _, told := range []string{
		strangeOrigin(words, "country", f.Country), strangeState(words, f.USState), strangeCategory(words, "category path", f.DerivedCategory),
	} {
		if told != "" {
			a.note("%s", told+" The search finds nothing until a label has it.")
		}
	}
}

// strangeOrigin tells that no label has an origin, and which may be meant; it is empty where one has it, and where none is asked for.
func strangeOrigin(words registry.Words, what, word string) string {
	if strings.TrimSpace(word) == "" || words.HasOrigin(word) {
		return ""
	}
	meant := ""
	if !cola.IsOrigin(word) {
		meant = meantOf(word, words.Origins)
	}
	return fmt.Sprintf("No label has the %s %s.%s %s lists the origins.", what, cola.Quoted(word), meant, filtersURI)
}

// strangeState is strangeOrigin for a US state, whose name is known to be right.
func strangeState(words registry.Words, state string) string {
	if state == "" || words.HasUSState(state) {
		return ""
	}
	return fmt.Sprintf("No label is from the US state %s.", cola.Quoted(state))
}

// strangeCategory is strangeOrigin for category paths.
func strangeCategory(words registry.Words, what, path string) string {
	if cola.SettlePath(path) == "" || words.HasCategory(path) {
		return ""
	}
	return fmt.Sprintf("No label has the %s %s.%s %s lists those that labels have.", what, cola.Quoted(path), meantOf(path, words.Categories), categoriesURI)
}

// strangeClass tells of a class that is not even part of one in TTB's table. It is no more than unusual: the table is not complete.
func strangeClass(class string) string {
	part := strings.ToUpper(strings.Join(strings.Fields(class), " "))
	var names []string
	for _, c := range cola.Classes() {
		if strings.Contains(c.Name, part) {
			return ""
		}
		names = append(names, c.Name)
	}
	return fmt.Sprintf("The class %s is not among TTB's.%s %s lists them.", cola.Quoted(class), meantOf(class, names), filtersURI)
}

// meantOf asks whether the nearest of the words that there are was meant, where one is near.
func meantOf(word string, words []string) string {
	if near, ok := cola.Nearest(word, words); ok {
		return " Did you mean " + near + "?"
	}
	return ""
}

// asked is a filter of a reference list and its value.
type asked struct{ filter, value string }

// mostWords is how many words of a filter a note lists.
const mostWords = 20

// noteWords says of a reference list without rows which of the words that were asked for no row has, and which there are.
func noteWords(ctx context.Context, svc Service, a *answer, list func(registry.Words) registry.ListWords, filters ...asked) {
	all, err := svc.Words(ctx)
	if err != nil {
		return
	}
	words, given, strange := list(all), 0, 0
	if len(words) == 0 {
		a.note("The registry holds no figures of this kind.")
		return
	}
	for _, f := range filters {
		if strings.TrimSpace(f.value) == "" {
			continue
		}
		given++
		if have, is := words[f.filter]; is && !words.Has(f.filter, f.value) {
			strange++
			a.note("No row has the %s %s; there are %s.%s", f.filter, cola.Quoted(f.value), inWords(f.filter, have), meantOf(f.value, have))
		}
	}
	if given > 1 && strange == 0 {
		a.note("There are rows with each of these filters, and none with all of them; leave one out.")
	}
}

// inWords writes the words of a filter as part of a sentence.
func inWords(filter string, words []string) string {
	switch {
	case filter == "year":
		return "some of " + words[0] + " to " + words[len(words)-1]
	case len(words) > mostWords:
		return fmt.Sprintf("%s and %d others", strings.Join(words[:mostWords], ", "), len(words)-mostWords)
	}
	return strings.Join(words, ", ")
}
