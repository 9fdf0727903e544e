package site

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // with FTS5
)

// entry is a search result, such as a section of a guide, an operation, a tool, a parameter, a
// header, an error or an object.
type entry struct {
	Area              string // part of the documentation
	Page, Title, Path string
	text              string   // paragraphs, list items and table rows, one per line
	code              string   // samples, one per line
	keywords          string   // additional words that match it; names for its subject, separated by commas
	subjects          []string // the keywords and, for a page, the title, as returned by spaced; set by add
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

// isPage reports whether an entry is a page, not a section of one.
func (e *entry) isPage() bool { return !strings.Contains(e.Path, "#") }

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

// index is a full-text index of the documentation: an in-memory SQLite FTS5 table. build fills
// it with the added entries. Its methods panic if SQLite reports an error, which only a bug can
// cause.
type index struct {
	entries []entry // by row ID
	db      *sql.DB
}

// add adds an entry, with the search keywords for its path.
func (x *index) add(e entry) {
	if more := searchKeywords[e.Path]; more != "" {
		e.keywords = strings.TrimPrefix(e.keywords+", "+more, ", ")
	}
	if e.keywords != "" {
		for name := range strings.SplitSeq(e.keywords, ",") {
			e.subjects = append(e.subjects, spaced(name))
		}
	}
	if e.isPage() {
		e.subjects = append(e.subjects, spaced(e.Title))
	}
	x.entries = append(x.entries, e)
}

// createTables creates the index. The page column includes the area. The keywords include the parts
// of names such as RateLimit, and pairs of title words written as one: lookup for "look up". The
// words table lists the words of the prose without stemming; docs contains only their stems.
const createTables = `CREATE VIRTUAL TABLE docs USING fts5(title, page, keywords, body, code,
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
		_, err := tx.Exec("INSERT INTO docs (rowid, title, page, keywords, body, code) VALUES (?, ?, ?, ?, ?, ?)",
			n, e.Title, e.Area+", "+e.Page, keywords, e.text, e.code)
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

// quote returns an FTS5 string, which matches consecutive words.
func quote(words string) string { return `"` + words + `"` }

// beginning returns an FTS5 query for consecutive words, the last of which may be a prefix.
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

// scoreQuery returns the scores of the entries that match; lower is better. A word in the title
// counts as much as six in the text, and one in a sample much less.
const scoreQuery = `SELECT rowid, bm25(docs, 6, 2, 3, 1, .3) FROM docs WHERE docs MATCH ?`

// ranked returns the rows of the entries that match any term, those most like the query first (see
// likeness). Entries with the same likeness are in the order of their areas and of the documentation;
// entries without a likeness are ordered by score, which is halved if they have only half of the
// words.
func (x *index) ranked(query string, terms []term, match string) []int {
	likeness, scores := x.likeness(query), map[int]float64{}
	rows, err := x.db.Query(scoreQuery, match)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var n int
		var score float64
		must(rows.Scan(&n, &score))
		found := len(terms) - len(missing(n, terms))
		score *= float64(found) / float64(len(terms))
		if likeness[n] > 0 {
			score = -1
		}
		scores[n] = score * x.entries[n].weight()
	}
	must(rows.Err())
	return slices.SortedFunc(maps.Keys(scores), func(a, b int) int {
		return cmp.Or(likeness[b]-likeness[a], cmp.Compare(scores[a], scores[b]), a-b)
	})
}

// The likeness of a query and an entry.
const (
	beginsPage    = iota + 1 // the title or area of a page begins with the query
	equalsSubject            // a subject is the query, with or without its stop words
)

// likeness returns the likeness of the query and each entry, by row ID. Entries without any are
// omitted.
func (x *index) likeness(query string) map[int]int {
	query = spaced(query)
	topic := strings.Join(slices.DeleteFunc(strings.Fields(query), isStopWord), " ") // api key for "get an API key"
	found := map[int]int{}
	begins := x.rows("title : ^ " + quote(query)) // in other forms, too: category for categories
	for n := range x.entries {
		e := &x.entries[n]
		switch {
		case slices.ContainsFunc(e.subjects, func(subject string) bool { return equalWords(subject, query) || equalWords(subject, topic) }):
			found[n] = equalsSubject
		case e.isPage() && (begins[n] || strings.HasPrefix(spaced(e.Title), query) || strings.HasPrefix(spaced(e.Area), query)):
			found[n] = beginsPage
		}
	}
	return found
}

// spaced returns the words of a text in lower case, separated by spaces.
func spaced(text string) string {
	return strings.Join(plainWord.FindAllString(suffix.ReplaceAllString(strings.ToLower(text), ""), -1), " ")
}

// equalWords reports whether two texts have the same words, except for a final s.
func equalWords(a, b string) bool { return strings.TrimSuffix(a, "s") == strings.TrimSuffix(b, "s") }

// excerptQuery returns entries with marks around the matching words. The plus sign keeps SQLite from
// running the MATCH once per row.
const excerptQuery = `SELECT rowid, highlight(docs, 0, ?3, ?4), snippet(docs, 3, ?3, ?4, '…', ?5),
	snippet(docs, 4, ?3, ?4, '…', ?5) FROM docs WHERE docs MATCH ?1 AND +rowid IN (SELECT value FROM json_each(?2))`

// results returns the entries in the given rows with the matching parts of their text. A sample is
// shown only if the text doesn't match.
func (x *index) results(ranked []int, terms []term, match string) []result {
	all := make([]result, len(ranked))
	list, _ := json.Marshal(ranked) // encoding integers can't fail
	rows, err := x.db.Query(excerptQuery, match, string(list), markStart, markEnd, maxExcerpt)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var n int
		var heading, excerpt, sample string
		must(rows.Scan(&n, &heading, &excerpt, &sample))
		if !strings.Contains(excerpt, markStart) && strings.Contains(sample, markStart) {
			excerpt = sample
		}
		all[slices.Index(ranked, n)] = result{x.entries[n], spans(heading), spans(excerpt), missing(n, terms)}
	}
	must(rows.Err())
	return all
}

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
	match := strings.Join(matches, " OR ")
	ranked := x.ranked(query, terms, match)
	f.Results = x.results(ranked[:min(limit, len(ranked))], terms, match)
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
