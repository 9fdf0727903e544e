package site

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// isStopWord reports whether a word says little about the subject of a question. Searches ignore
// stop words.
func isStopWord(word string) bool {
	switch word {
	case "a", "an", "and", "any", "are", "at", "be", "by", "can", "do", "does", "doesn", "don", "for", "from", "get", "happens", "has",
		"have", "how", "i", "if", "in", "is", "it", "many", "me", "mean", "much", "my", "of", "often", "on", "or", "should", "that",
		"the", "there", "this", "to", "up", "use", "was", "we", "what", "when", "where", "which", "who", "why", "will",
		"with", "you", "your":
		return true
	}
	return false
}

// synonymGroups lists words and phrases with the same meaning, and words with the same root if their
// stems differ, such as exceed and exceeded.
var synonymGroups = [][]string{
	{"plan", "tier"}, {"price", "pricing"}, {"limit", "throttle", "burst"}, {"image", "picture", "photo"},
	{"barcode", "upc", "ean", "gtin"}, {"company", "permittee", "producer"}, {"exceed", "exceeded"},
	{"rss", "atom", "feed"}, {"login", "log in", "sign in", "signin"}, {"delete", "revoke", "remove"},
	{"go", "golang"}, {"javascript", "nodejs"}, {"openapi", "swagger", "postman"},
	{"phonetic", "sound", "soundex"}, {"suggestion", "autocomplete", "typeahead"},
	{"docker", "kubernetes", "helm"}, {"postgres", "postgresql"},
}

// synonyms returns a word and its synonyms.
func synonyms(word string) []string {
	for _, group := range synonymGroups {
		if slices.Contains(group, word) || slices.Contains(group, strings.TrimSuffix(word, "s")) {
			return append([]string{word}, group...)
		}
	}
	return []string{word}
}

// longerSynonym returns a word that begins with the given text and has synonyms: golang for golan.
func longerSynonym(text string) (word string, ok bool) {
	for _, group := range synonymGroups {
		for _, word := range group {
			if strings.HasPrefix(word, text) {
				return word, true
			}
		}
	}
	return "", false
}

// term is a word of a query.
type term struct {
	text  string
	match string       // FTS5 query for the word, its synonyms, and its compounds with adjacent words
	rows  map[int]bool // the entries that match
}

// terms returns the words of a query, without stop words unless there are no others. A term also
// matches longer words that the reader may be typing. If a word doesn't occur at all, its term matches
// the closest words.
func (x *index) terms(query string) (terms []term) {
	words := x.words(query)
	for i, word := range words {
		alternatives := synonyms(word)
		if strings.Contains(word, " ") {
			alternatives = append(alternatives, strings.ReplaceAll(word, " ", ""))
		}
		if i > 0 {
			alternatives = append(alternatives, words[i-1]+word)
		}
		if i+1 < len(words) {
			alternatives = append(alternatives, word+words[i+1])
		}
		t := term{text: word, match: anyOf(append(alternatives, x.longer(word)...))}
		if t.rows = x.rows(t.match); len(t.rows) == 0 {
			if text, match, ok := x.closest(word); ok {
				t = term{text: text, match: match, rows: x.rows(match)}
			}
		}
		terms = append(terms, t)
	}
	return terms
}

// pair splits a word into two words of at least two letters each that occur next to each other:
// "api key" for apikey.
func (x *index) pair(word string) (words string, ok bool) {
	letters := []rune(word)
	for i := 2; i <= len(letters)-2; i++ {
		words = string(letters[:i]) + " " + string(letters[i:])
		if len(x.rows(quote(words))) > 0 {
			return words, true
		}
	}
	return "", false
}

// closest returns an FTS5 query for a word that isn't in the documentation. It tries the beginning of
// an identifier or synonym, two words written as one, and a misspelling. similar is the text, or the
// most similar word.
func (x *index) closest(text string) (similar, match string, ok bool) {
	if strings.ContainsAny(text, "_-") {
		return text, beginning(text), true
	}
	if synonym, ok := longerSynonym(text); ok {
		return text, anyOf(synonyms(synonym)), true
	}
	if pair, ok := x.pair(text); ok {
		return text, quote(pair), true
	}
	similar, ok = x.similarWord(text)
	return similar, anyOf(synonyms(similar)), ok
}

// longer returns words that begin with the given text: up to 20 that occur in more than twice as
// many entries as the text itself, and those that begin the title of a page: "authentication" for
// "auth".
func (x *index) longer(text string) (words []string) {
	same := x.rows(quote(text))
	rows, err := x.db.Query(`SELECT term FROM words WHERE term > ?1 AND term < ?1 || char(0x10FFFF)
		AND doc > 2 * coalesce((SELECT doc FROM words WHERE term = ?1), 0) LIMIT 20`, text)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var word string
		must(rows.Scan(&word))
		words = append(words, word)
	}
	must(rows.Err())
	for n := range x.entries {
		e := &x.entries[n]
		if e.isPage() && !same[n] {
			if first := strings.ToLower(plainWord.FindString(e.Title)); strings.HasPrefix(first, text) {
				words = append(words, first)
			}
		}
	}
	return words
}

// similarWord returns the word in the documentation that a misspelled word most likely stands for.
// If several words are equally similar, it returns the most frequent one.
func (x *index) similarWord(word string) (similar string, ok bool) {
	if vocabulary.MaxEdits(word) == 0 {
		return "", false
	}
	first, _ := utf8.DecodeRuneInString(word)
	rows, err := x.db.Query(`SELECT term FROM words WHERE term >= ?1 AND term < ?1 || char(0x10FFFF)
		AND term NOT GLOB '*[0-9]*' ORDER BY doc DESC, term`, string(first))
	must(err)
	defer rows.Close()
	var candidates []string
	for rows.Next() {
		var candidate string
		must(rows.Scan(&candidate))
		candidates = append(candidates, candidate)
	}
	must(rows.Err())
	return vocabulary.NearestSpelling(word, candidates)
}

// words returns the words of a query to search for. A word and the stop word after it count as one
// if the documentation also writes them as one: "back up" for backup. A name such as per_page is
// split only if no name in the documentation begins with it.
func (x *index) words(query string) (words []string) {
	all := queryWord.FindAllString(suffix.ReplaceAllString(strings.ToLower(query), ""), -1)
	for i := 0; i < len(all) && len(words) < maxWords; i++ {
		word := all[i]
		parts := plainWord.FindAllString(word, -1)
		switch {
		case isStopWord(word):
		case len(parts) > 1 && len(x.rows(beginning(word))) == 0:
			words = append(words, parts...)
		case i+1 < len(all) && isStopWord(all[i+1]) && len(x.rows(quote(word+all[i+1]))) > 0:
			words = append(words, word+" "+all[i+1])
			i++
		default:
			words = append(words, word)
		}
	}
	if words == nil {
		words = all
	}
	return words[:min(len(words), maxWords)]
}
