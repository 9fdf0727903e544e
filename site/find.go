package site

import (
	"cmp"
	"math"
	"math/bits"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

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
	Missing          []string // words of the query that the entry lacks
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

// find returns the entries that contain all words of a query, or most of them.
func (x *index) find(query string) found {
	lower := strings.ToLower(query)
	terms, phrase := x.terms(lower), phraseOf(query)
	matches := x.matches(terms)
	most := 0
	for _, m := range matches {
		most = max(most, bits.OnesCount8(m.terms))
	}
	f := found{Query: query, Partial: most < len(terms)}
	for n, m := range matches {
		if bits.OnesCount8(m.terms) < most-most/3 {
			continue
		}
		f.Results = append(f.Results, result{entry: x.entries[n], Missing: m.missing(terms), score: x.score(n, m, terms, phrase)})
	}
	slices.SortFunc(f.Results, func(a, b result) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Path, b.Path))
	})
	f.Results = f.Results[:min(len(f.Results), maxResults)]
	for i := range f.Results {
		r := &f.Results[i]
		r.Heading, r.Excerpt = spans(r.Title, terms), spans(excerpt(r.text, terms), terms)
	}
	return f
}

// spans marks the words of a text that match.
func spans(text string, terms []term) (list []span) {
	end := 0
	for _, w := range withPairs(words(text)) {
		if w.from < end || hits([]word{w}, terms) == 0 {
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
func excerpt(text string, terms []term) string {
	best, most := "", -1
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		list := withPairs(words(line))
		for i := range list {
			if i > 0 && hits(list[i:i+1], terms) == 0 {
				continue
			}
			start := list[max(0, i-10)].from // with a few words before the match; half are pairs
			window := list[i:]
			if end := slices.IndexFunc(window, func(w word) bool { return w.to-start > maxExcerpt }); end >= 0 {
				window = window[:end]
			}
			if n := hits(window, terms); n > most {
				best, most = cut(line, start), n
			}
		}
		if most == len(terms) {
			break
		}
	}
	return best
}

// hits returns how many words of a search are among the words of a text.
func hits(list []word, terms []term) (n int) {
	for _, t := range terms {
		if slices.ContainsFunc(list, func(w word) bool { return t.keys[w.key] }) {
			n++
		}
	}
	return n
}

// cut returns the text starting at start, at most maxExcerpt bytes long without the ellipses.
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
