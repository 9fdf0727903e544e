package registry

import (
	"cmp"
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
	// near returns the value that misspelled or half-typed words most likely stand for, or "".
	near func(view *search.View, words string) string
}

var (
	originField = &unsearchedField{"origin", "origin", "origins",
		func(p *cola.SearchParams) *string { return &p.Origin },
		func(q *cola.Query, value string) { q.OriginNames = vocabulary.OriginNames(value) },
		func(view *search.View, words string) string { return completed(view, cola.SuggestOrigin, words) }}
	grapeField = &unsearchedField{"grape", "grape variety", "grape varieties",
		func(p *cola.SearchParams) *string { return &p.Grape },
		func(q *cola.Query, value string) { q.Grape = value },
		func(view *search.View, words string) string {
			_, nearest := view.KnowsGrape(words)
			return cmp.Or(nearest, view.CompleteGrape(words, false))
		}}
	appellationField = &unsearchedField{"appellation", "appellation", "appellations",
		func(p *cola.SearchParams) *string { return &p.Appellation },
		func(q *cola.Query, value string) { q.Appellation = value },
		func(view *search.View, words string) string { return completed(view, cola.SuggestAppellation, words) }}
)

// unsearchedFields are in order of precedence: OREGON is an origin and an appellation.
var unsearchedFields = []*unsearchedField{originField, grapeField, appellationField}

// completed returns the most frequent value that begins with words or their correction, or "".
func completed(view *search.View, field, words string) string {
	for _, begin := range []string{words, view.Correct(field, words)} {
		if begin == "" {
			continue
		}
		for _, s := range view.Suggest(cola.SuggestSearch{Field: field, Q: begin, Limit: 1}) {
			value, prefix := spacedWords(s.Value), spacedWords(begin)
			if begin != words { // don't complete a corrected word: chip isn't Chile
				value, prefix = value+" ", prefix+" "
			}
			if strings.HasPrefix(value, prefix) {
				return s.Value
			}
		}
	}
	return ""
}

const (
	minValueLetters = 4  // shorter values, such as the code OR, are usually something else
	maxValueWords   = 5  // as in Paso Robles Willow Creek District
	maxSplitWords   = 10 // longer texts have no filterNote
)

// filterNote suggests filters in place of keywords that name an origin, a grape variety or an
// appellation, which keywords don't search. If the keywords match any labels, filterNote suggests
// filters only if they replace the whole text and find more labels. If near is true, keywords that
// no label contains may be misspelled or half-typed.
func filterNote(view *search.View, p *cola.SearchParams, q cola.Query, total int, near bool) (n Note, ok bool) {
	words := strings.FieldsFunc(q.Text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;", r) })
	special := func(r rune) bool { return r == '*' || vocabulary.IsQuote(r) }
	if len(words) > maxSplitWords || strings.ContainsFunc(q.Text, special) || operatorNote(q.Text, total) != "" {
		return n, false
	}
	var unknown []string
	if total == 0 {
		unknown = view.UnknownWords(q.Text)
	}
	changed := *p
	var names, nouns, params []string
	for size := min(maxValueWords, len(words)); size > 0; size-- {
		for i := 0; i+size <= len(words); {
			q.Text = knownText(slices.Concat(words[:i], words[i+size:]), unknown)
			f, value := valueIn(view, &changed, q, words[i:i+size], unknown, near)
			if f == nil {
				i++
				continue
			}
			words = slices.Delete(words, i, i+size)
			*f.of(&changed) = value
			f.set(&q, value)
			names, nouns = append(names, f.noun+" "+value), append(nouns, f.plural)
			params = append(params, f.param+"="+cola.Quoted(value))
		}
	}
	if total == 0 { // wine from Oregon
		words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(prepositions, vocabulary.FoldText(w)) })
	}
	if !slices.ContainsFunc(words, isSearched) {
		words = nil
	}
	if len(names) == 0 || len(words) > 0 && (total > 0 || countMatches(view, cola.Query{Text: p.Q}) > 0) {
		return n, false
	}
	changed.Q = strings.Join(words, " ")
	q.Text = changed.Q
	if near { // such as vitsi in "vitsi napa"
		for _, fix := range wordNotes(view, &changed, q) {
			if fix.Search != nil && fix.Search.BrandName == p.BrandName {
				changed.Q, q.Text = fix.Search.Q, fix.Search.Q
			}
		}
	}
	instead := " instead of q"
	if q.Text != "" {
		instead = " and q=" + cola.Quoted(q.Text)
	}
	n = newNote("Keyword search doesn't cover " + strings.Join(nouns, " or ") + ".")
	with := strings.Join(params, " and ") + instead + "."
	action := "Filter by " + strings.Join(names, " and ")
	if found := countMatches(view, q); found > total {
		n.Text += fmt.Sprintf(" %s with %s", labelsMatch(found), with)
		action += fmt.Sprintf(" (%s)", labels(found))
	} else if q.From, q.To = 0, 0; total == 0 && countMatches(view, q) > 0 {
		n.Text += " Labels on other dates match with " + with
	} else {
		return n, false
	}
	n.suggest(action, &changed, func(*cola.SearchParams) {})
	return n, true
}

var prepositions = []string{"from", "in", "of", "by", "with", "for", "the"}

// valueIn returns the field that words name a value of, and the value. The search must not filter
// by the field yet; q is the search without the words and without unknown ones. Words may be the
// beginning of a grape variety, such as Cabernet Sauvignon, or, if labels don't contain them, of an
// appellation, such as NAPA VALLEY. Of several similar values, the one with which q finds most
// labels wins. field is nil if the words are not a value that labels have.
func valueIn(
	view *search.View, p *cola.SearchParams, q cola.Query, words, unknown []string, near bool,
) (field *unsearchedField, value string) {
	if !slices.ContainsFunc(words, isLong) {
		return nil, ""
	}
	phrase := strings.Join(words, " ")
	for _, f := range unsearchedFields {
		var alone cola.Query
		if f.set(&alone, phrase); *f.of(p) == "" && countMatches(view, alone) > 0 {
			return f, phrase
		}
	}
	if p.Grape == "" {
		if grape := view.CompleteGrape(phrase, true); grape != "" {
			return grapeField, grape
		}
	}
	if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(unknown, vocabulary.FoldText(w)) }) {
		return nil, ""
	}
	most := -1
	for _, f := range unsearchedFields {
		if !near && f != appellationField || *f.of(p) != "" {
			continue
		}
		similar := f.near(view, phrase)
		if similar == "" || !near && !strings.HasPrefix(spacedWords(similar)+" ", spacedWords(phrase)+" ") {
			continue
		}
		with := q
		with.From, with.To = 0, 0
		f.set(&with, similar)
		if found := countMatches(view, with); found > most {
			field, value, most = f, similar, found
		}
	}
	return field, value
}

// spacedWords returns the folded words of a text, without punctuation.
func spacedWords(text string) string {
	return strings.Join(wordPattern.FindAllString(vocabulary.FoldText(text), -1), " ")
}

// knownText joins the words that are not unknown.
func knownText(words, unknown []string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return slices.Contains(unknown, vocabulary.FoldText(w))
	}), " ")
}

// isLong reports whether a word has at least minValueLetters letters.
func isLong(word string) bool {
	letters := 0
	for _, r := range word {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= minValueLetters
}

// isSearched reports whether keyword search looks for a word, unless there are only connectors.
func isSearched(word string) bool {
	return hasWord(word) && !vocabulary.IsConnector(vocabulary.FoldText(word))
}
