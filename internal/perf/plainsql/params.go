package main

import (
	"math"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
)

// values returns what a statement's parameters stand for in a question.
func (s *statement) values(q *question) []any {
	all := make([]any, len(s.params))
	for i, name := range s.params {
		all[i] = q.value(name)
	}
	return all
}

// value returns what one parameter stands for. Texts are folded as the program folds them, which PostgreSQL need not do then.
func (q *question) value(name string) any {
	s := &q.colas
	switch name {
	case "from":
		return s.From.Time()
	case "words":
		return tsquery(s.Text)
	case "word":
		return nth(s.Text, 0)
	case "other_word":
		return nth(s.Text, 1)
	case "prefix":
		return strings.TrimSuffix(nth(s.Text, 0), "*") + "%"
	case "brand":
		return containing(s.BrandName)
	case "name":
		return containing(q.permittees.Name)
	case "permit":
		return s.PermitNumber
	case "origins":
		return s.OriginNames
	case "roots":
		return s.Categories
	case "containers":
		return s.Containers
	case "types":
		return s.ProductTypes
	case "abv_min":
		return s.ABVMin.V
	case "abv_max":
		return s.ABVMax.V
	case "gtins":
		return numbers(q.barcode)
	case "after_date":
		return afterDate(s)
	case "after_id":
		return afterID(s)
	}
	panic("no parameter is called " + name)
}

// tsquery returns a text of words, of which some may stand for all that begin with them, as to_tsquery reads it.
func tsquery(text string) string {
	words := strings.Fields(search.Fold(text))
	for i, w := range words {
		if begin, ok := strings.CutSuffix(w, "*"); ok {
			words[i] = begin + ":*"
		}
	}
	return strings.Join(words, " & ")
}

// nth returns a word of a text, folded.
func nth(text string, n int) string { return strings.Fields(search.Fold(text))[n] }

var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// containing returns the pattern of what contains a text.
func containing(part string) string { return "%" + likeEscapes.Replace(search.Fold(part)) + "%" }

func numbers(barcode string) (all []int64) {
	for _, g := range cola.GTINs(barcode) {
		all = append(all, int64(g))
	}
	return all
}

// afterDate and afterID say where a page begins: before every label when it is the first.
func afterDate(s *cola.ColaSearch) time.Time {
	if !s.CursorMode {
		return time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)
	}
	return s.After.Date.Time()
}

func afterID(s *cola.ColaSearch) int64 {
	if !s.CursorMode {
		return math.MaxInt64
	}
	return int64(s.After.TTBID)
}

// root returns the first level of a category path.
func root(path string) string {
	first, _, _ := strings.Cut(path, " > ")
	return first
}
