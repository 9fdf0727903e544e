package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// question is one request, in all the forms that it is asked in.
type question struct {
	class      *class
	path       string // of the API, with its query
	colas      cola.ColaSearch
	permittees cola.PermitteeSearch
	barcode    string
}

// draws makes questions. Equal seeds make equal questions from an equal vocabulary.
type draws struct {
	*rand.Rand
	*vocabulary
	now  time.Time
	walk walk
}

func newDraws(v *vocabulary, now time.Time, seed uint64) *draws {
	return &draws{Rand: rand.New(rand.NewPCG(seed, 1)), vocabulary: v, now: now}
}

func pick[T any](d *draws, of []T) T { return of[d.IntN(len(of))] }

// label returns one of the sample.
func (d *draws) label() *cola.IndexRecord { return &d.labels[d.IntN(len(d.labels))] }

// word returns a word of what a label is called, or of its applicant when of is set so.
func (d *draws) word(of func(*cola.IndexRecord) string) string {
	for {
		if words := wordsOf(of(d.label())); len(words) > 0 {
			return pick(d, words)
		}
	}
}

func names(r *cola.IndexRecord) string {
	return r.Summary.BrandName + " " + string(r.Summary.ProductName)
}

func applicant(r *cola.IndexRecord) string { return r.AddressRecipient }

// pair returns two words of one label: what it is called, and its class.
func (d *draws) pair() string {
	for {
		r := d.label()
		a, b := wordsOf(names(r)), wordsOf(string(r.Summary.ClassName)+" "+names(r))
		if len(a) == 0 {
			continue
		}
		if x, y := pick(d, a), pick(d, b); x != y {
			return x + " " + y
		}
	}
}

// cut returns five letters or more out of the middle of a word, as somebody types who has a part of a name in mind.
func (d *draws) cut(word string) string {
	if len(word) <= 5 {
		return word
	}
	from := d.IntN(len(word) - 4)
	return word[from:min(len(word), from+5+d.IntN(3))]
}

// asked makes the question of a search for labels.
func (d *draws) asked(c *class, p cola.SearchParams) question {
	s, err := p.Normalize(d.now)
	if err != nil {
		panic(fmt.Sprintf("%s asks what cannot be asked: %v", c.name, err))
	}
	return question{class: c, colas: s, path: "/colas?" + encoded(p).Encode()}
}

// encoded returns the parameters as a client sends them.
func encoded(p cola.SearchParams) url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("q", p.Q)
	set("brand_name", p.BrandName)
	set("permit_number", p.PermitNumber)
	set("origin", p.Origin)
	set("approval_date_from", p.ApprovalDateFrom.String())
	set("product_type", strings.Join(p.ProductType, ","))
	set("category", strings.Join(p.Category, ","))
	set("container_type", strings.Join(p.ContainerType, ","))
	set("cursor", p.Cursor)
	if p.ABVMin.OK {
		set("abv_min", fmt.Sprint(p.ABVMin.V))
	}
	if p.ABVMax.OK {
		set("abv_max", fmt.Sprint(p.ABVMax.V))
	}
	return v
}

// lastWalked is the page at which a walk ends.
const lastWalked = 50

// walk is a walk through the pages of one search, by cursor.
type walk struct {
	params cola.SearchParams
	search cola.ColaSearch // of the page asked for last
	page   int             // its number; 0 before the first
}

// went notes the last row of the page that the last question of the walk was answered with; zero when nothing follows.
func (w *walk) went(last cola.Position, more bool) {
	if !more || w.page >= lastWalked {
		w.page = 0
		return
	}
	w.params.Cursor = w.search.CursorAfter(last)
}
