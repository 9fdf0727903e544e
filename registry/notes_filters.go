package registry

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search"
)

// unsearchedField is a field that keywords don't search, with its filter.
type unsearchedField struct {
	param, noun, plural string
	of                  func(*cola.SearchParams) *string
	set                 func(q *cola.Query, value string)
	// near returns values that misspelled or half-typed words may stand for.
	near func(view *search.View, words string) []string
}

var (
	originField = &unsearchedField{"origin", "origin", "origins",
		func(p *cola.SearchParams) *string { return &p.Origin },
		func(q *cola.Query, value string) { q.OriginNames = vocabulary.OriginNames(value) },
		func(view *search.View, words string) []string { return completed(view, cola.SuggestOrigin, words) }}
	grapeField = &unsearchedField{"grape", "grape variety", "grape varieties",
		func(p *cola.SearchParams) *string { return &p.Grape },
		func(q *cola.Query, value string) { q.Grape = value },
		func(view *search.View, words string) []string {
			_, nearest := view.KnowsGrape(words)
			return nearest
		}}
	appellationField = &unsearchedField{"appellation", "appellation", "appellations",
		func(p *cola.SearchParams) *string { return &p.Appellation },
		func(q *cola.Query, value string) { q.Appellation = value },
		func(view *search.View, words string) []string { return completed(view, cola.SuggestAppellation, words) }}
)

// unsearchedFields are in order of precedence: OREGON is an origin and an appellation.
var unsearchedFields = []*unsearchedField{originField, grapeField, appellationField}

// has reports whether any label has the value.
func (f *unsearchedField) has(view *search.View, value string) bool {
	var alone cola.Query
	f.set(&alone, value)
	return countMatches(view, alone) > 0
}

// completed returns the most frequent values that begin with words, or else with their correction.
func completed(view *search.View, field, words string) []string {
	if values := beginningWith(view, field, words, ""); len(values) > 0 {
		return values
	}
	if corrected := view.Correct(field, words); corrected != "" {
		return beginningWith(view, field, corrected, " ") // don't complete a corrected word: chip isn't Chile
	}
	return nil
}

// beginningWith returns the most frequent values that begin with words and then end.
func beginningWith(view *search.View, field, words, end string) (values []string) {
	for _, s := range view.Suggest(cola.SuggestSearch{Field: field, Q: words, Limit: maxCompletions}) {
		if strings.HasPrefix(spacedWords(s.Value)+" ", spacedWords(words)+end) {
			values = append(values, s.Value)
		}
	}
	return values
}

const (
	minValueLetters = 4  // shorter values, such as the code OR, are usually something else
	minGrapeLetters = 3  // of a half-typed grape variety, such as cab
	maxValueWords   = 5  // as in Paso Robles Willow Creek District
	maxSplitWords   = 10 // longer texts have no filterNotes
	maxCompletions  = 10 // values that a misspelled or half-typed name may stand for
	maxFilterNotes  = 3
)

// guessing says which keywords filterNotes may interpret as misspelled or half-typed values.
type guessing int

const (
	guessNone    guessing = iota
	guessUnknown          // words that no label contains
	guessGrapes           // also known words that begin a grape variety
)

// filterNotes suggests filters in place of keywords that name an origin, a grape variety or an
// appellation, which keywords don't search. If the keywords match any labels, filterNotes suggests
// filters only if they replace the whole text and find more labels. If a name is ambiguous, each
// note suggests one of its values, most labels first.
func filterNotes(view *search.View, p *cola.SearchParams, q cola.Query, total int, guess guessing) (notes []Note) {
	words := splitWords(q.Text)
	special := func(r rune) bool { return r == '*' || vocabulary.IsQuote(r) }
	if len(words) > maxSplitWords || strings.ContainsFunc(q.Text, special) || operatorNote(q.Text, total) != "" {
		return nil
	}
	r := reading{view: view, p: p, total: total, guess: guess}
	if total == 0 {
		r.unknown = unknownOf(view, words)
	}
	r.interpret(words, q)
	if len(r.names) == 0 || len(r.words) > 0 && (total > 0 || countMatches(view, cola.Query{Text: p.Q}) > 0) {
		return nil
	}
	all := r.alternatives()
	if guess != guessNone { // such as vitsi in "vitsi napa"
		r.correct(all[0], q)
	}
	for _, names := range all {
		if n, ok := r.note(names, q); ok {
			notes = append(notes, n)
		}
	}
	slices.SortStableFunc(notes, func(a, b Note) int { return b.found.compare(a.found) })
	notes = notes[:min(len(notes), maxFilterNotes)]
	for i := range notes {
		if i > 0 {
			notes[i].Text = strings.TrimPrefix(notes[i].Text, notes[i].Finding+" ") // the first has it
			notes[i].Finding, notes[i].Action = "", "Or f"+strings.TrimPrefix(notes[i].Action, "F")
		}
	}
	return notes
}

// reading interprets the keywords of a search as values of unsearched fields.
type reading struct {
	view    *search.View
	p       *cola.SearchParams
	total   int // labels that match p
	guess   guessing
	unknown []string // words that no label contains
	names   []namedValue
	words   []string // the other keywords
}

// namedValue is a name in the keywords, with the values that it may stand for, most likely first.
type namedValue struct {
	field  *unsearchedField
	values []string
}

var prepositions = []string{"from", "in", "of", "by", "with", "for", "the"}

// splitWords splits the keywords of a search.
func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;", r) })
}

// unknownOf returns the words that no label contains.
func unknownOf(view *search.View, words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return len(view.UnknownWords(w)) == 0 })
}

// interpret divides the words of a search into names and others, whole values and longest names
// first.
func (r *reading) interpret(words []string, q cola.Query) {
	for _, nameOf := range []func([]string, cola.Query) namedValue{r.wholeName, r.nameOf} {
		for size := min(maxValueWords, len(words)); size > 0; size-- {
			for i := 0; i+size <= len(words); {
				q.Text = r.knownText(slices.Concat(words[:i], words[i+size:]))
				n := nameOf(words[i:i+size], q)
				if n.values == nil {
					i++
					continue
				}
				words = slices.Delete(words, i, i+size)
				n.field.set(&q, n.values[0])
				r.names = append(r.names, n)
			}
		}
	}
	if r.total == 0 { // wine from Oregon
		words = slices.DeleteFunc(words, isPreposition)
	}
	if slices.ContainsFunc(words, isSearched) {
		r.words = words
	}
}

// knownText joins the words that labels contain, without prepositions.
func (r *reading) knownText(words []string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return slices.Contains(r.unknown, w) || r.total == 0 && isPreposition(w)
	}), " ")
}

func isPreposition(word string) bool { return slices.Contains(prepositions, vocabulary.FoldText(word)) }

// wholeName returns the name if words are a whole value of a field that the search doesn't filter by
// yet, or else a name without values.
func (r *reading) wholeName(words []string, _ cola.Query) (n namedValue) {
	if longest(words) < minValueLetters {
		return n
	}
	phrase := strings.Join(words, " ")
	for _, f := range unsearchedFields {
		if r.isFree(f) && f.has(r.view, phrase) {
			return namedValue{f, []string{phrase}}
		}
	}
	return n
}

// nameOf returns the name that words stand for, or else a name without values. q is the search
// without these words and without unknown ones. Words may be the first words of a grape variety
// (cabernet) or, if labels don't contain them, of an appellation (napa). r.guess allows more.
func (r *reading) nameOf(words []string, q cola.Query) (best namedValue) {
	phrase, letters := strings.Join(words, " "), longest(words)
	known := !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(r.unknown, w) })
	var most, other matches // other counts the matches of q
	for _, f := range unsearchedFields {
		if !r.isFree(f) {
			continue
		}
		values := r.similar(f, phrase, letters, known)
		if len(values) == 0 {
			continue
		}
		if r.total == 0 && other == (matches{}) {
			other = matchesOf(r.view, q)
		}
		var found []matches
		switch {
		case r.total > 0: // filterNotes sorts them
			return namedValue{f, values[:min(len(values), maxFilterNotes)]}
		case other != (matches{}):
			values, found = rankValues(r.view, values, q, f.set)
		case known: // a known word is a grape only if the search finds labels with it
			return best
		default:
			found = []matches{{}}
		}
		if found[0].compare(most) > 0 || best.values == nil && !known {
			best, most = namedValue{f, values[:min(len(values), maxFilterNotes)]}, found[0]
		}
	}
	return best
}

// similar returns values of a field that a phrase may stand for although it is not the whole value.
// letters is the length of its longest word. known reports whether labels contain all its words.
func (r *reading) similar(f *unsearchedField, phrase string, letters int, known bool) []string {
	if isPreposition(phrase) {
		return nil
	}
	if f == grapeField && letters >= minValueLetters {
		if grapes := r.view.CompleteGrape(phrase, true); len(grapes) > 0 {
			return grapes
		}
	}
	switch {
	case f == grapeField && letters >= minGrapeLetters && r.guess == guessGrapes && known:
		return r.view.CompleteGrape(phrase, false)
	case f == grapeField && letters >= minGrapeLetters && r.guess >= guessUnknown && !known:
		return f.near(r.view, phrase)
	case known || letters < minValueLetters:
		return nil
	case r.guess >= guessUnknown:
		return f.near(r.view, phrase)
	case f == appellationField:
		return beginningWith(r.view, cola.SuggestAppellation, phrase, " ")
	}
	return nil
}

// isFree reports whether the search and the names so far have no value of a field.
func (r *reading) isFree(f *unsearchedField) bool {
	return *f.of(r.p) == "" && !slices.ContainsFunc(r.names, func(n namedValue) bool { return n.field == f })
}

// alternatives returns the most likely interpretation, followed by those in which one name has
// another value. Each name has a single value.
func (r *reading) alternatives() (all [][]namedValue) {
	var first []namedValue
	for _, n := range r.names {
		first = append(first, namedValue{n.field, n.values[:1]})
	}
	all = append(all, first)
	for i, n := range r.names {
		for v := 1; v < len(n.values); v++ {
			other := slices.Clone(first)
			other[i].values = n.values[v : v+1]
			all = append(all, other)
		}
	}
	return all
}

// correct corrects the words that are not names.
func (r *reading) correct(names []namedValue, q cola.Query) {
	changed := *r.p
	changed.Q = strings.Join(r.words, " ")
	q.Text = changed.Q
	for _, n := range names {
		n.field.set(&q, n.values[0])
	}
	for _, fix := range wordNotes(r.view, &changed, q) {
		if fix.Search != nil && fix.Search.BrandName == r.p.BrandName {
			r.words = strings.Fields(fix.Search.Q)
		}
	}
}

// note suggests filters by the values of names. ok is false if they don't find more labels.
func (r *reading) note(names []namedValue, q cola.Query) (n Note, ok bool) {
	changed := *r.p
	changed.Q = strings.Join(r.words, " ")
	q.Text = changed.Q
	var nouns, filters, params []string
	for _, one := range names {
		f, value := one.field, one.values[0]
		*f.of(&changed) = value
		f.set(&q, value)
		nouns, filters = append(nouns, f.plural), append(filters, f.noun+" "+value)
		params = append(params, f.param+"="+cola.Quoted(value))
	}
	instead, keywords := " instead of q", " instead of keywords"
	if q.Text != "" {
		instead, keywords = " and q="+cola.Quoted(q.Text), " and search for "+cola.Quoted(q.Text)
	}
	n = newNote("Keyword search doesn't cover " + strings.Join(nouns, " or ") + ".")
	action := "Filter by " + strings.Join(filters, " and ") + keywords
	with := " with " + strings.Join(params, " and ") + instead + "."
	n.found = matchesOf(r.view, q)
	switch {
	case n.found.dated > r.total:
		n.Text += " " + labelsMatch(n.found.dated) + with
		n.suggest(fmt.Sprintf("%s (%s)", action, labels(n.found.dated)), &changed, func(*cola.SearchParams) {})
	case r.total == 0 && n.found.ever > 0:
		n.Text += " " + labelsMatch(n.found.ever) + " across all dates" + with + allDatesAdvice(r.p)
		n.suggest(fmt.Sprintf("%s (%s across all dates)", action, labels(n.found.ever)), &changed, searchAllDates)
	default:
		return n, false
	}
	return n, true
}

// spacedWords returns the folded words of a text, without punctuation.
func spacedWords(text string) string {
	return strings.Join(wordPattern.FindAllString(vocabulary.FoldText(text), -1), " ")
}

// longest returns the number of letters in the word with the most letters.
func longest(words []string) (most int) {
	for _, w := range words {
		letters := 0
		for _, r := range w {
			if unicode.IsLetter(r) {
				letters++
			}
		}
		most = max(most, letters)
	}
	return most
}

// isSearched reports whether keyword search looks for a word, unless there are only connectors.
func isSearched(word string) bool {
	return hasWord(word) && !vocabulary.IsConnector(vocabulary.FoldText(word))
}
