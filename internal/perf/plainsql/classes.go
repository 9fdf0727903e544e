package main

import (
	"net/url"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// class is one kind of question of the mix. All come equally often.
type class struct {
	name string // in tables
	sql  string // names its statements
	draw func(d *draws, c *class) question
}

// begin is before every label of the registry: from then on is all dates. It is not a zero date, which would be the default
// window.
var begin = cola.NewDate(2005, time.January, 1)

// since2015 is a window of some ten years.
var since2015 = cola.NewDate(2015, time.January, 1)

// classes returns the mix: what plain SQL can answer as this service does.
func classes() []*class {
	return []*class{
		{"browse, default window", "browse", colas(func(*draws, *cola.SearchParams) {})},
		{"one word, default window", "recent word", colas(func(d *draws, p *cola.SearchParams) { p.Q = d.word(names) })},
		{"one word", "word", everywhere(func(d *draws, p *cola.SearchParams) { p.Q = d.word(names) })},
		{"two words", "two words", everywhere(func(d *draws, p *cola.SearchParams) { p.Q = d.pair() })},
		{"beginning of a word", "prefix", everywhere(func(d *draws, p *cola.SearchParams) {
			w := d.word(names)
			p.Q = w[:min(len(w), 3+d.IntN(3))] + "*"
		})},
		{"part of a brand", "brand", everywhere(func(d *draws, p *cola.SearchParams) {
			p.BrandName = d.cut(d.word(func(r *cola.IndexRecord) string { return r.Summary.BrandName }))
		})},
		{"popular part of a brand", "brand", everywhere(func(d *draws, p *cola.SearchParams) { p.BrandName = pick(d, popular[:]) })},
		{"barcode", "barcode", drawBarcode},
		{"permit number", "permit", everywhere(func(d *draws, p *cola.SearchParams) { p.PermitNumber = d.label().Summary.PermitNumber })},
		{"origin, category, container", "facets", everywhere(drawFacets)},
		{"origin and type, default window", "recent facets", colas(func(d *draws, p *cola.SearchParams) {
			r := d.known()
			p.Origin, p.ProductType = string(r.Summary.OriginName), []string{string(r.Summary.ProductType)}
		})},
		{"strength and container, since 2015", "strength", colas(func(d *draws, p *cola.SearchParams) {
			least := float64(d.IntN(20)) / 2
			p.ApprovalDateFrom, p.ContainerType = since2015, []string{d.known().ContainerType}
			p.ABVMin, p.ABVMax = cola.Some(4+least), cola.Some(5+least+float64(d.IntN(4)))
		})},
		{"walk by cursor to page 50", "walk", drawWalk},
		{"name of a permittee", "permittee", drawPermittee},
	}
}

// colas draws a search for labels in the default window, unless edit sets another.
func colas(edit func(*draws, *cola.SearchParams)) func(*draws, *class) question {
	return func(d *draws, c *class) question {
		var p cola.SearchParams
		edit(d, &p)
		return d.asked(c, p)
	}
}

// everywhere draws a search for labels of all dates.
func everywhere(edit func(*draws, *cola.SearchParams)) func(*draws, *class) question {
	return colas(func(d *draws, p *cola.SearchParams) {
		p.ApprovalDateFrom = begin
		edit(d, p)
	})
}

// known returns a label whose origin, category and container are known.
func (d *draws) known() *cola.IndexRecord {
	for {
		if r := d.label(); r.Summary.OriginName != "" && r.ContainerType != "" && r.CategoryPath != "" {
			return r
		}
	}
}

func drawFacets(d *draws, p *cola.SearchParams) {
	r := d.known()
	p.Origin, p.Category, p.ContainerType = string(r.Summary.OriginName), []string{root(r.CategoryPath)}, []string{r.ContainerType}
}

func drawBarcode(d *draws, c *class) question {
	value := d.labels[pick(d, d.coded)].MainBarcode
	return question{class: c, barcode: value, path: "/barcode/" + url.PathEscape(value)}
}

func drawPermittee(d *draws, c *class) question {
	p := cola.PermitteeParams{Q: d.word(applicant)}
	s, err := p.Normalize(d.now)
	if err != nil {
		panic(err) // a word is a name
	}
	return question{class: c, permittees: s, path: "/permittees?" + url.Values{"q": {p.Q}}.Encode()}
}

// drawWalk goes on with the walk, or begins another.
func drawWalk(d *draws, c *class) question {
	if d.walk.page == 0 {
		d.walk.params = cola.SearchParams{Q: pick(d, popular[:]), ApprovalDateFrom: begin}
	}
	q := d.asked(c, d.walk.params)
	d.walk.search = q.colas
	d.walk.page++
	return q
}
