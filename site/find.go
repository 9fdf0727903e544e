package site

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
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
)

// areaWeight puts results for users of the service above those for its operators.
func areaWeight(area string) float64 {
	switch area {
	case areaGuides:
		return 1.2
	case areaTools:
		return .8
	case areaOperators:
		return .7
	}
	return 1
}

// Weights of a word by the field that contains it, and by how it matches.
const (
	titleWeight  = 6.0
	pageWeight   = 2.0
	prefixWeight = .5 // of limit for "limiting", or pagination for "paginate"
	phraseBonus  = 1.3
	titleBonus   = 1.6

	minPrefix = 3 // characters of a word that finds longer words
)

// index finds entries by their words.
type index struct {
	entries []entry
	titles  [][]word          // words of the entries' titles
	keys    []string          // keys of each entry's title and text, as joined returns them
	terms   map[string]counts // by the key of a word
}

// counts are the weights of a word in entries, by their number.
type counts map[int]float64

// add adds an entry.
func (x *index) add(e entry) {
	if x.terms == nil {
		x.terms = map[string]counts{}
	}
	n := len(x.entries)
	x.entries = append(x.entries, e)
	text := words(e.text)
	length := 1 + float64(len(text))/100 // a word weighs less in a long text
	count := func(list []word, weight float64) {
		for _, w := range list {
			if x.terms[w.key] == nil {
				x.terms[w.key] = counts{}
			}
			x.terms[w.key][n] += weight
		}
	}
	title := words(e.Title)
	count(title, titleWeight)
	count(words(e.Page), pageWeight)
	count(text, 1/length)
	x.titles = append(x.titles, title)
	x.keys = append(x.keys, joined(title)+joined(text))
}

// joined returns the keys of words, separated by spaces, with a leading and a trailing space.
func joined(list []word) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, w := range list {
		b.WriteString(w.key + " ")
	}
	return b.String()
}

// word is a word of a text. Words with the same key match, such as singular and plural.
type word struct {
	key      string
	from, to int // in the text
}

// synonym returns the word that stands for all words for the same thing, by key.
func synonym(key string) string {
	switch key {
	case "tier":
		return "plan"
	case "pricing":
		return "price"
	case "throttling", "burst":
		return "limit"
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

// matchWeight returns how well a word of a text matches a word of a search: 1 if their keys are equal,
// less if it begins with the searched word or ends differently, 0 if it doesn't match.
func matchWeight(searched, found string) float64 {
	if searched == found {
		return 1
	}
	if len(searched) < minPrefix {
		return 0
	}
	same := 0
	for same < min(len(searched), len(found)) && searched[same] == found[same] {
		same++
	}
	if same == len(searched) || same >= 5 && same == len(searched)-1 {
		return prefixWeight
	}
	return 0
}

// found is the result of a search.
type found struct {
	Query   string
	Partial bool     // no entry contains all words; the results contain most
	Results []result // best first
}

// result is an entry with the part of its text that matches.
type result struct {
	entry
	Heading, Excerpt []span
	score            float64
}

// span is a part of a text; Mark is set if it matches.
type span struct {
	Text string
	Mark bool
}

const (
	maxResults = 20
	maxFind    = 100 // characters of a search; the rest is ignored
	maxWords   = 8   // of a search; the rest is ignored
	maxExcerpt = 180 // bytes
)

// suggestedSearches are shown with an empty search, and when there are no results.
func suggestedSearches() []string {
	return []string{"rate limit", "pagination", "api key", "webhook signature", "429", "export CSV"}
}

// find shows the results of a search.
func (s *server) find(w http.ResponseWriter, r *http.Request) {
	query := cleanQuery(r.URL.Query().Get("q"))
	if query == "" {
		s.write(w, http.StatusOK, s.findPage(query))
		return
	}
	if wait := s.takeLimit(r); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		s.write(w, http.StatusTooManyRequests, page{Title: "Too many searches", Path: findPath, Body: "find_limit", Query: query})
		return
	}
	s.write(w, http.StatusOK, s.findPage(query))
}

// cleanQuery returns the part of a query that is searched for.
func cleanQuery(query string) string {
	query = strings.Join(strings.Fields(strings.ToValidUTF8(query, " ")), " ")
	if characters := []rune(query); len(characters) > maxFind {
		query = strings.TrimSpace(string(characters[:maxFind]))
	}
	return query
}

func (s *server) findPage(query string) page {
	title := "Search the docs"
	if query != "" {
		title = "Results for “" + query + "”"
	}
	return page{Title: title, Path: findPath, Body: "find", Query: query, Data: s.search.find(query)}
}

// find returns the entries that contain all words of a query, or most of them if none contains all.
func (x *index) find(query string) found {
	searched := words(strings.ToLower(query))
	searched = searched[:min(len(searched), maxWords)]
	scores, matched, most := x.score(searched)
	f := found{Query: query, Partial: most < len(searched)}
	phrase := joined(searched)
	for n, sc := range scores {
		if sc.words < most {
			continue
		}
		r := result{entry: x.entries[n], score: sc.sum * areaWeight(x.entries[n].Area)}
		if len(searched) > 1 && strings.Contains(x.keys[n], phrase) {
			r.score *= phraseBonus
		}
		if x.inTitle(n, matched) {
			r.score *= titleBonus
		}
		f.Results = append(f.Results, r)
	}
	slices.SortFunc(f.Results, func(a, b result) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Path, b.Path))
	})
	f.Results = f.Results[:min(len(f.Results), maxResults)]
	for i := range f.Results {
		r := &f.Results[i]
		r.Heading, r.Excerpt = spans(r.Title, matched), spans(excerpt(r.text, matched), matched)
	}
	return f
}

// entryScore is how well an entry matches: the number of words that it contains, and their weights.
type entryScore struct {
	words int
	sum   float64
}

// score returns the score of each entry with a word of the search, the keys that match each word, and
// the highest number of words in an entry.
func (x *index) score(searched []word) (scores map[int]entryScore, matched []map[string]bool, most int) {
	scores = map[int]entryScore{}
	for _, w := range searched {
		weights, keys := counts{}, map[string]bool{}
		for key, entries := range x.terms {
			weight := matchWeight(w.key, key)
			if weight == 0 {
				continue
			}
			keys[key] = true
			for n, count := range entries {
				weights[n] = max(weights[n], weight*count)
			}
		}
		rarity := math.Log(1 + float64(len(x.entries))/float64(1+len(weights)))
		for n, weight := range weights {
			sc := scores[n]
			scores[n] = entryScore{sc.words + 1, sc.sum + rarity*weight/(weight+2)}
			most = max(most, sc.words+1)
		}
		matched = append(matched, keys)
	}
	return scores, matched, most
}

// inTitle reports whether the title of an entry contains all words and at most two others.
func (x *index) inTitle(n int, matched []map[string]bool) bool {
	title := x.titles[n]
	return hits(title, matched) == len(matched) && len(title) <= len(matched)+2
}

// spans marks the words of a text that match.
func spans(text string, matched []map[string]bool) (list []span) {
	end := 0
	for _, w := range words(text) {
		if w.from < end || hits([]word{w}, matched) == 0 {
			continue
		}
		if w.from > end {
			list = append(list, span{text[end:w.from], false})
		}
		list = append(list, span{text[w.from:w.to], true})
		end = w.to
	}
	return append(list, span{text[end:], false})
}

// excerpt returns the part of a text with the most words of a search.
func excerpt(text string, matched []map[string]bool) string {
	best, most := "", -1
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		list := words(line)
		for i := range list {
			if i > 0 && hits(list[i:i+1], matched) == 0 {
				continue
			}
			start := list[max(0, i-5)].from // with a few words before the match
			window := list[i:]
			if end := slices.IndexFunc(window, func(w word) bool { return w.to-start > maxExcerpt }); end >= 0 {
				window = window[:end]
			}
			if n := hits(window, matched); n > most {
				best, most = cut(line, start), n
			}
		}
		if most == len(matched) {
			break
		}
	}
	return best
}

// hits returns how many words of a search are among the words of a text.
func hits(list []word, matched []map[string]bool) (n int) {
	for _, keys := range matched {
		if slices.ContainsFunc(list, func(w word) bool { return keys[w.key] }) {
			n++
		}
	}
	return n
}

// cut returns the text from a word on, at most maxExcerpt bytes long without the ellipses.
func cut(text string, start int) string {
	if start < maxExcerpt/3 {
		start = 0
	}
	part := text[start:]
	if len(part) > maxExcerpt {
		part = part[:maxExcerpt]
		part = strings.ToValidUTF8(part[:max(0, strings.LastIndexByte(part, ' '))], "") + " …"
	}
	if start > 0 {
		part = "… " + part
	}
	return part
}
