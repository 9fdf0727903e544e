package site

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	_ "modernc.org/sqlite" // with FTS5

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// entry is a search result, such as a section of a guide, an operation, a tool, a parameter, a
// header, an error or an object.
type entry struct {
	Area              string // part of the documentation
	Page, Title, Path string
	text              string   // paragraphs, list items and table rows, one per line
	keywords          string   // additional words that find it
	method, endpoint  string   // of an operation: GET, /api/v1/colas
	names             []string // of a parameter, header or tool; codes of an error
	fields            []string // of an object or a body; codes of errors that are specific to an operation
}

// The parts of the documentation.
const (
	areaGuides    = "Guides"
	areaReference = "API reference"
	areaTools     = "MCP tools"
	areaOperators = "Self-hosting"
	areaAccount   = "Account" // pages outside the documentation
)

// parameterKeywords are the keywords of parameters.
const parameterKeywords = "parameter filter"

// weight ranks results for users of the service first, then those for assistants, then those for
// the service's operators. Operations rank above their parameters and objects.
func (e *entry) weight() float64 {
	switch {
	case e.Area == areaGuides, e.Area == areaAccount:
		return 1.2
	case e.Area == areaTools:
		return .6
	case e.Area == areaOperators:
		return .4
	case e.Page == objectsTitle, e.keywords == parameterKeywords:
		return .8
	}
	return 1
}

// index is a full-text index of the documentation: an FTS5 table of SQLite, in memory. build fills
// it with the added entries. Its methods panic if SQLite reports an error, which only a bug can
// cause.
type index struct {
	entries []entry // by row ID
	db      *sql.DB
}

func (x *index) add(e entry) { x.entries = append(x.entries, e) }

// createTables creates the index. The keywords include the parts of names such as RateLimit, and
// pairs of title words written as one: lookup for "look up". The table words lists all words, which
// docs contains only as stems.
const createTables = `CREATE VIRTUAL TABLE docs USING fts5(title, page, keywords, body, weight UNINDEXED,
	tokenize = 'porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE plain USING fts5(text, content = '', tokenize = 'unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE words USING fts5vocab(plain, row)`

func (x *index) build() {
	db, err := sql.Open("sqlite", ":memory:")
	must(err)
	db.SetMaxOpenConns(1) // every connection has its own database
	_, err = db.Exec(createTables)
	must(err)
	tx, err := db.Begin()
	must(err)
	for n, e := range x.entries {
		keywords := e.keywords + " " + camelCase.ReplaceAllString(e.Title, "$1 $2") + " " + joinedPairs(e.Title)
		_, err := tx.Exec("INSERT INTO docs (rowid, title, page, keywords, body, weight) VALUES (?, ?, ?, ?, ?, ?)",
			n, e.Title, e.Page, keywords, e.text, e.weight())
		must(err)
		_, err = tx.Exec("INSERT INTO plain (rowid, text) VALUES (?, ?)", n, e.Title+" "+keywords+" "+e.text)
		must(err)
	}
	must(tx.Commit())
	x.db = db
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("site: search index: %v", err))
	}
}

var (
	camelCase = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)
	plainWord = regexp.MustCompile(`[\pL\pN]+`)
	queryWord = regexp.MustCompile(`[\pL\pN]+(?:[_-][\pL\pN]+)*`) // per_page and Retry-After are words
	suffix    = regexp.MustCompile(`['’]\pL+`)                    // as in what's
)

// joinedPairs joins each pair of adjacent words in a text.
func joinedPairs(text string) (pairs string) {
	words := plainWord.FindAllString(text, -1)
	for i := 1; i < len(words); i++ {
		pairs += words[i-1] + words[i] + " "
	}
	return pairs
}

// isStopWord reports whether a word says little about the subject of a question. Searches ignore
// stop words.
func isStopWord(word string) bool {
	switch word {
	case "a", "an", "and", "any", "are", "at", "be", "by", "can", "do", "does", "doesn", "don", "for", "from", "get", "happens", "has",
		"have", "how", "i", "if", "in", "is", "it", "many", "me", "mean", "much", "my", "of", "on", "or", "should", "that",
		"the", "there", "this", "to", "up", "use", "was", "we", "what", "when", "where", "which", "who", "why", "will",
		"with", "you", "your":
		return true
	}
	return false
}

// synonyms returns a word and its synonyms. It lists exceed and exceeded because their stems
// differ.
func synonyms(word string) []string {
	for _, group := range [][]string{
		{"plan", "tier"}, {"price", "pricing"}, {"limit", "throttle", "burst"}, {"image", "picture", "photo"},
		{"barcode", "upc", "ean", "gtin"}, {"company", "permittee", "producer"}, {"exceed", "exceeded"},
		{"rss", "atom", "feed"},
	} {
		if slices.Contains(group, word) || slices.Contains(group, strings.TrimSuffix(word, "s")) {
			return append([]string{word}, group...)
		}
	}
	return []string{word}
}

// term is a word of a query.
type term struct {
	text  string
	match string       // FTS5 query for the word, its synonyms, and its compounds with adjacent words
	rows  map[int]bool // the entries that match
}

// terms returns the words of a query, without stop words unless there are no others. A term also
// matches longer words that the reader may be typing. If a word doesn't occur at all, its term matches
// the most similar word.
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

// closest returns an FTS5 query for the identifiers that begin with a text, or for the most similar
// word. similar is that word, or the text.
func (x *index) closest(text string) (similar, match string, ok bool) {
	if strings.ContainsAny(text, "_-") {
		return text, beginning(text), true
	}
	similar, ok = x.similarWord(text)
	return similar, anyOf(synonyms(similar)), ok
}

// longer returns up to 20 words in the documentation that begin with a text and occur in more than
// twice as many entries: "authentication" for "auth".
func (x *index) longer(text string) (words []string) {
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

// quote returns an FTS5 string, which matches consecutive words.
func quote(words string) string { return `"` + words + `"` }

// beginning returns an FTS5 query for consecutive words, of which the last may be longer.
func beginning(words string) string { return quote(words) + "*" }

// anyOf returns an FTS5 query that matches any of the given strings.
func anyOf(alternatives []string) string { return `"` + strings.Join(alternatives, `" OR "`) + `"` }

// rows returns the entries that match an FTS5 query.
func (x *index) rows(match string) map[int]bool {
	found := map[int]bool{}
	rows, err := x.db.Query("SELECT rowid FROM docs WHERE docs MATCH ?", match)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var n int
		must(rows.Scan(&n))
		found[n] = true
	}
	must(rows.Err())
	return found
}

// bestQuery returns the entries that match best, with marks around the matching words. A word in
// the title counts as much as six in the text. The plus sign keeps SQLite from running the MATCH
// once per row.
const bestQuery = `SELECT rowid, highlight(docs, 0, ?3, ?4), snippet(docs, 3, ?3, ?4, '…', ?5) FROM docs
WHERE docs MATCH ?1 AND +rowid IN (
	SELECT rowid FROM docs WHERE docs MATCH ?1 ORDER BY bm25(docs, 6, 2, 3) * weight, rowid LIMIT ?2)
ORDER BY bm25(docs, 6, 2, 3) * weight, rowid`

// find returns up to limit entries that match a query, best first. Queries take no context, because
// canceling one could close the connection, and with it the database.
func (x *index) find(query string, limit int) found {
	f, terms := found{Query: query}, x.terms(query)
	if len(terms) == 0 {
		return f
	}
	matches := make([]string, len(terms))
	for i, t := range terms {
		matches[i] = t.match
	}
	rows, err := x.db.Query(bestQuery, strings.Join(matches, " OR "), limit, markStart, markEnd, maxExcerpt)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var n int
		var heading, excerpt string
		must(rows.Scan(&n, &heading, &excerpt))
		f.Results = append(f.Results, result{x.entries[n], spans(heading), spans(excerpt), missing(n, terms)})
	}
	must(rows.Err())
	named, endpoints := x.named(query), x.endpoints(query)
	f.Results = x.withEndpoints(endpoints, x.withNamed(named, query, f.Results, limit), limit)
	f.Partial = len(named)+len(endpoints) == 0
	for n := range terms[0].rows {
		f.Partial = f.Partial && missing(n, terms) != nil
	}
	return f
}

// missing returns the words of a query that an entry lacks.
func missing(n int, terms []term) (words []string) {
	for _, t := range terms {
		if !t.rows[n] {
			words = append(words, t.text)
		}
	}
	return words
}
