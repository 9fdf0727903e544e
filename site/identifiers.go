package site

import (
	"regexp"
	"slices"
	"strings"
)

// unfinished finds a query that is the name of a parameter, field, error, header or tool, or the
// beginning of one that is still being typed: per_page, date_r, Retry-.
var unfinished = regexp.MustCompile(`^[\pL\pN]+(?:[_-][\pL\pN]*)+$`)

// folded returns an identifier in lower case, with underscores.
func folded(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// begins reports whether an identifier begins with prefix.
func begins(name, prefix string) bool { return strings.HasPrefix(folded(name), folded(prefix)) }

// nameWith returns the first name that begins with prefix, or "".
func nameWith(names []string, prefix string) string {
	for _, name := range names {
		if begins(name, prefix) {
			return name
		}
	}
	return ""
}

// named returns the rows of the entries about identifiers that begin with a query: exact matches
// first, then the others, both in the order of the documentation. If there are none, it returns
// the rows of the entries with a field that begins with the query.
func (x *index) named(query string) (rows []int) {
	if !unfinished.MatchString(query) {
		return nil
	}
	var exact, longer, withField []int
	for n := range x.entries {
		e := &x.entries[n]
		switch {
		case slices.ContainsFunc(e.names, func(name string) bool { return folded(name) == folded(query) }):
			exact = append(exact, n)
		case nameWith(e.names, query) != "":
			longer = append(longer, n)
		case nameWith(e.fields, query) != "":
			withField = append(withField, n)
		}
	}
	if rows = append(exact, longer...); rows == nil {
		rows = withField
	}
	return rows
}

// withNamed puts the entries in some rows before the other results. prefix is the beginning of an
// identifier in each.
func (x *index) withNamed(rows []int, prefix string, others []result, limit int) (results []result) {
	for _, n := range rows[:min(limit, len(rows))] {
		e := x.entries[n]
		r := result{entry: e, Heading: markName(e.Title, prefix), Excerpt: markName(lineWith(e.text, prefix), prefix)}
		if nameWith(e.names, prefix) == "" {
			r.Heading = []span{{e.Title + ": ", false}, {nameWith(e.fields, prefix), true}}
		}
		results = append(results, r)
		others = slices.DeleteFunc(others, func(r result) bool { return r.Path == e.Path })
	}
	results = append(results, others...)
	return results[:min(limit, len(results))]
}

// lineWith returns the first words of the line with an identifier that begins with prefix, or of the
// first line.
func lineWith(text, prefix string) string {
	lines := strings.Split(text, "\n")
	n := max(0, slices.IndexFunc(lines, func(line string) bool { return nameAt(line, prefix) != nil }))
	words := strings.Fields(lines[n])
	if len(words) > maxExcerpt {
		return strings.Join(words[:maxExcerpt], " ") + "…"
	}
	return strings.Join(words, " ")
}

// markName marks the first identifier that begins with prefix in a text.
func markName(text, prefix string) []span {
	at := nameAt(text, prefix)
	if at == nil {
		return []span{{text, false}}
	}
	parts := []span{{text[:at[0]], false}, {text[at[0]:at[1]], true}, {text[at[1]:], false}}
	return slices.DeleteFunc(parts, func(s span) bool { return s.Text == "" })
}

// nameAt returns the position of the first identifier that begins with prefix in a text, or nil.
func nameAt(text, prefix string) []int {
	for _, at := range queryWord.FindAllStringIndex(text, -1) {
		if begins(text[at[0]:at[1]], prefix) {
			return at
		}
	}
	return nil
}
