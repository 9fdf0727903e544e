package site

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// entry is a section of a guide, or an operation of the API, that the search finds.
type entry struct {
	Page, Title, Path string
	text              string
	lower             struct{ page, title, text string } // in lower case
}

// index adds an entry to the search.
func (s *server) index(e entry) {
	e.lower.page, e.lower.title, e.lower.text = strings.ToLower(e.Page), strings.ToLower(e.Title), strings.ToLower(e.text)
	s.entries = append(s.entries, e)
}

// result is an entry with the part of its text that matches.
type result struct {
	entry
	Excerpt string
}

const (
	maxResults = 30
	maxFind    = 100 // characters of a search
	excerpt    = 160 // bytes of an excerpt
)

// find shows the sections that contain all words of a search, those with a word in the title first.
func (s *server) find(w http.ResponseWriter, r *http.Request) {
	query := strings.Join(strings.Fields(r.URL.Query().Get("q")), " ")
	if utf8.RuneCountInString(query) > maxFind || !utf8.ValidString(query) {
		query = ""
	}
	title := "Search the docs"
	if query != "" {
		title = "Results for “" + query + "”"
	}
	s.write(w, http.StatusOK, page{Title: title, Path: findPath, Body: "find", Query: query, Data: s.search(query)})
}

func (s *server) search(query string) (found []result) {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil
	}
	score := map[string]int{}
	for i := range s.entries {
		e := &s.entries[i]
		n, ok := e.match(words)
		if !ok {
			continue
		}
		score[e.Path] = n
		found = append(found, result{*e, e.excerpt(words[0])})
	}
	slices.SortStableFunc(found, func(a, b result) int { return cmp.Compare(score[b.Path], score[a.Path]) })
	return found[:min(len(found), maxResults)]
}

// match reports whether the entry contains all words. The score counts those in its title twice, and
// those in its page's title once.
func (e *entry) match(words []string) (score int, ok bool) {
	for _, w := range words {
		switch {
		case strings.Contains(e.lower.title, w):
			score += 2
		case strings.Contains(e.lower.page, w):
			score++
		case !strings.Contains(e.lower.text, w):
			return 0, false
		}
	}
	return score, true
}

// excerpt returns the part of the text around a word, or its beginning.
func (e *entry) excerpt(word string) string {
	from := max(0, strings.Index(e.lower.text, word)-excerpt/3)
	from = min(from, len(e.text)) // lower case may be longer
	if from > 0 {
		from += strings.IndexByte(e.text[from:], ' ') + 1
	}
	text := e.text[from:]
	if len(text) > excerpt {
		text = text[:excerpt]
		text = text[:max(0, strings.LastIndexByte(text, ' '))] + " …"
	}
	if from > 0 {
		text = "… " + text
	}
	return strings.ToValidUTF8(text, "")
}
