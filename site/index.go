package site

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// entry is a part of the documentation that the search finds: a section of a guide, an operation, a
// parameter, a header, an error or an object.
type entry struct {
	Area              string // part of the documentation
	Page, Title, Path string
	text              string // paragraphs, list items and table rows, one per line
}

// The parts of the documentation.
const (
	areaGuides    = "Guides"
	areaReference = "API reference"
	areaTools     = "MCP tools"
	areaOperators = "Self-hosting"
	areaAccount   = "Account" // pages outside the documentation
)

// areaWeight ranks results for users of the service first, then those for assistants, then those
// for the service's operators.
func areaWeight(area string) float64 {
	switch area {
	case areaGuides, areaAccount:
		return 1.2
	case areaTools:
		return .6
	case areaOperators:
		return .4
	}
	return 1
}

// Weights of a word by the field that contains it and by how it matches, and of groups of words.
const (
	titleWeight  = 6.0
	pageWeight   = 2.0
	saturation   = 2.0 // weight at which a word contributes half of the maximum, as in BM25
	formWeight   = .8  // of verify for "verifying"
	prefixWeight = .3  // of limit for "limitless"
	prefixRank   = .01 // of entries in which only the beginnings of words match
	phraseBonus  = 1.3 // for all words of the query in a row
	nameBonus    = 3   // for a title that is the query

	minPrefix = 4 // characters of a stem that finds longer words: "cor", of CORS, doesn't find "correct"
	minStem   = 4 // characters that all forms of a word share
)

// isStopWord reports whether a word says little about the subject of a question. Searches ignore
// stop words.
func isStopWord(key string) bool {
	switch key {
	case "a", "an", "and", "any", "are", "at", "be", "by", "can", "do", "doe", "for", "from", "get", "have", "how", "i", "if",
		"in", "is", "it", "many", "me", "mean", "much", "my", "of", "on", "or", "should", "that", "the", "there", "thi", "this", "to",
		"up", "use", "we", "what", "when", "where", "which", "who", "why", "will", "with", "you", "your":
		return true
	}
	return false
}

// isEnding reports whether s is a word ending, or empty. Words that differ only in their endings
// are forms of the same word.
func isEnding(s string) bool {
	switch s {
	case "", "able", "al", "ation", "e", "ed", "er", "ication", "ied", "ing", "ion", "or", "y", "ying":
		return true
	}
	return false
}

// index finds entries by their words. It ranks them like BM25: rare words count more, and repeated
// words and long texts count less. A word in a title counts as several in the text.
type index struct {
	entries []entry
	titles  [][]word          // words of the entries' titles
	names   []string          // the entries' titles, as phraseOf returns them
	phrases []string          // the entries' titles and texts, likewise
	words   map[string]counts // by the key of a word
	pairs   map[string]counts // by the key of a pair
}

// counts are the weights of a word, by entry number.
type counts map[int]float64

// add adds an entry.
func (x *index) add(e entry) {
	if x.words == nil {
		x.words, x.pairs = map[string]counts{}, map[string]counts{}
	}
	n := len(x.entries)
	x.entries = append(x.entries, e)
	text := words(e.text)
	length := 1 + float64(len(text))/100 // a word weighs less in a long text
	count := func(list []word, weight float64) {
		for _, w := range list {
			terms := x.words
			if strings.HasPrefix(w.key, pairMark) {
				terms = x.pairs
			}
			if terms[w.key] == nil {
				terms[w.key] = counts{}
			}
			terms[w.key][n] += weight
		}
	}
	title := words(e.Title)
	count(withPairs(title), titleWeight)
	count(words(e.Page), pageWeight)
	count(withPairs(text), 1/length)
	x.titles = append(x.titles, title)
	x.names = append(x.names, phraseOf(e.Title))
	x.phrases = append(x.phrases, phraseOf(e.Title)+phraseOf(e.text))
}

// phraseOf returns the keys of the words of a text, separated by spaces, with a leading and a trailing
// space. Case doesn't matter: RateLimit is one word.
func phraseOf(text string) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, w := range words(strings.ToLower(text)) {
		b.WriteString(w.key + " ")
	}
	return b.String()
}

// word is a word of a text. Words with the same key match, such as singular and plural.
type word struct {
	key      string
	from, to int // in the text
}

// synonym returns the key that a group of synonyms shares.
func synonym(key string) string {
	switch key {
	case "tier":
		return "plan"
	case "pricing":
		return "price"
	case "throttle", "throttling", "burst":
		return "limit"
	case "picture", "photo":
		return "image"
	case "upc", "ean", "gtin":
		return "barcode"
	}
	return key
}

// words returns the words of a text. A word in mixed case, such as RateLimit, is followed by its parts.
func words(text string) (list []word) {
	add := func(from, to int) {
		key := vocabulary.WordKey(strings.ToLower(text[from:to]))
		list = append(list, word{synonym(key), from, to})
	}
	isPart := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; from < len(text); {
		r, size := utf8.DecodeRuneInString(text[from:])
		if !isPart(r) {
			from += size
			continue
		}
		to := from
		parts := []int{from}
		for lower := false; to < len(text); to += size {
			if r, size = utf8.DecodeRuneInString(text[to:]); !isPart(r) {
				break
			}
			if lower && unicode.IsUpper(r) {
				parts = append(parts, to)
			}
			lower = unicode.IsLower(r)
		}
		add(from, to)
		if len(parts) > 1 {
			for i, start := range parts {
				add(start, append(parts[i+1:], to)[0])
			}
		}
		from = to
	}
	return list
}

// pairMark starts the key of two adjacent words, which match a single one: "look up" for lookup.
const pairMark = "+"

// withPairs inserts a word for each pair of adjacent words, before the first of them.
func withPairs(list []word) (all []word) {
	for i, w := range list {
		if i+1 < len(list) && list[i+1].from > w.to {
			all = append(all, word{pairMark + w.key + list[i+1].key, w.from, list[i+1].to})
		}
		all = append(all, w)
	}
	return all
}

// matchWeight returns how well a word of a text matches a word of a search: 1 if their keys are equal,
// less if it is another form of the word or begins with it, 0 if it doesn't match.
func matchWeight(searched, found string) float64 {
	if searched == found {
		return 1
	}
	same := 0
	for same < min(len(searched), len(found)) && searched[same] == found[same] {
		same++
	}
	switch {
	case same >= minStem && isEnding(searched[same:]) && isEnding(found[same:]):
		return formWeight
	case same >= minPrefix && same == len(searched):
		return prefixWeight
	}
	return 0
}

// term is a word of a query with the keys of the words that match it.
type term struct {
	text, key string
	keys      map[string]bool
	idf       float64 // inverse document frequency
}

// match is how well an entry matches a query.
type match struct {
	terms  uint8   // the terms that it contains, as bits
	whole  uint8   // those that it contains as whole words, in any form
	weight float64 // of these terms in the entry
}

// terms returns the words of a query, without stop words unless there are no others.
func (x *index) terms(query string) (terms []term) {
	list := x.withCompounds(words(query))
	if slices.ContainsFunc(list, func(w word) bool { return !isStopWord(w.key) }) {
		list = slices.DeleteFunc(list, func(w word) bool { return isStopWord(w.key) })
	}
	for _, w := range list[:min(len(list), maxWords)] {
		terms = append(terms, term{text: query[w.from:w.to], key: w.key})
	}
	return terms
}

// withCompounds joins a word with the stop word after it if the documentation writes them as one:
// "back up" for backup.
func (x *index) withCompounds(list []word) []word {
	for i := 1; i < len(list); i++ {
		if key := list[i-1].key + list[i].key; isStopWord(list[i].key) && x.words[key] != nil {
			list = slices.Replace(list, i-1, i+1, word{key, list[i-1].from, list[i].to})
		}
	}
	return list
}

// matches returns the entries that contain a term, by number. It sets the terms' keys and rarity.
func (x *index) matches(terms []term) map[int]match {
	found := map[int]match{}
	for i := range terms {
		t := &terms[i]
		t.keys = map[string]bool{}
		weights, whole := counts{}, map[int]uint8{}
		add := func(key string, entries counts, weight float64) {
			t.keys[key] = true
			for n, count := range entries {
				weights[n] = max(weights[n], weight*count)
				if weight > prefixWeight {
					whole[n] = 1 << i
				}
			}
		}
		for key, entries := range x.words {
			if weight := matchWeight(t.key, key); weight > 0 {
				add(key, entries, weight)
			}
		}
		add(pairMark+t.key, x.pairs[pairMark+t.key], 1)
		t.idf = x.idf(len(weights))
		for n, weight := range weights {
			m := found[n]
			found[n] = match{m.terms | 1<<i, m.whole | whole[n], m.weight + t.idf*weight/(weight+saturation)}
		}
	}
	return found
}

// idf returns the inverse document frequency of a word that occurs in n entries.
func (x *index) idf(n int) float64 {
	return math.Log(1 + float64(len(x.entries))/float64(1+n))
}

// coverage returns the share of a query that an entry contains, weighting words by rarity.
func (m match) coverage(terms []term) float64 {
	covered, total := 0.0, 0.0
	for i, t := range terms {
		total += t.idf
		if m.terms>>i&1 == 1 {
			covered += t.idf
		}
	}
	return covered / total
}

// missing returns the words of a query that an entry lacks.
func (m match) missing(terms []term) (words []string) {
	for i, t := range terms {
		if m.terms>>i&1 == 0 {
			words = append(words, t.text)
		}
	}
	return words
}

// score returns the score of an entry, based on the words it contains, its title and its area.
// phrase is the query as phraseOf returns it.
func (x *index) score(n int, m match, terms []term, phrase string) float64 {
	score := m.weight * m.coverage(terms) * (1 + x.titleMatch(n, terms)) * areaWeight(x.entries[n].Area)
	if m.whole == 0 {
		score *= prefixRank
	}
	switch {
	case x.names[n] == phrase:
		score *= nameBonus
	case len(terms) > 1 && strings.Contains(x.phrases[n], phrase):
		score *= phraseBonus
	}
	return score
}

// titleMatch returns how similar a title is to a query, from 0 to 1: the Dice coefficient of their
// words, weighted by rarity.
func (x *index) titleMatch(n int, terms []term) float64 {
	title := withPairs(x.titles[n])
	shared, total := 0.0, 0.0
	for _, t := range terms {
		total += t.idf
		if hits(title, []term{t}) > 0 {
			shared += t.idf
		}
	}
	for _, w := range x.titles[n] {
		if !isStopWord(w.key) {
			total += x.idf(len(x.words[w.key]))
		}
	}
	return min(1, 2*shared/total)
}
