package labelart

import (
	"cmp"
	"math"
)

// neck draws a neck label: the brand between an ornament and the vintage, or a second ornament if
// there is no vintage. A tall label shows a medallion instead.
func (p *page) neck(b box) {
	p.fill(p.panel, rectangle(b))
	if b.h > b.w {
		p.medallion(b)
		return
	}
	s := b.side()
	in := b.inset(s*0.07, s*0.07)
	p.fill(p.shine, hollow(in, max(0.6, s*0.012)))
	in = in.inset(s*0.09, s*0.09)
	columns := in.columns(1, 2.6, 1)
	columns[1] = columns[1].inset(s*0.08, 0)
	p.motif(p, columns[0], p.shine, p.panel)
	p.stack(columns[1],
		p.line(1.6, p.brand, p.shine, textStyle{face: p.bold, maxSize: s * 0.3, lines: 2, track: 0.04, leading: 1.06}),
		p.line(0.7, p.fanciful, p.shine, textStyle{face: p.light, maxSize: s * 0.13, lines: 1}),
		p.line(0.5, p.place, p.shine, textStyle{face: sans, maxSize: s * 0.08, lines: 1, track: 0.2}))
	if text := p.vintage; text != "" {
		p.set(columns[2], text, p.shine, textStyle{face: p.bold, maxSize: s * 0.3, lines: 1, track: 0.06})
	} else {
		p.motif(p, columns[2], p.shine, p.panel)
	}
}

// strip draws a strip over the cork or around the shoulder: the brand, alternating with the vintage
// if there is one, repeated along its length.
func (p *page) strip(b box) {
	p.fill(p.panel, rectangle(b))
	long, short := math.Max(b.w, b.h), b.side()
	edge := max(0.6, short*0.04)
	if b.h > b.w {
		p.fill(p.accent, rectangle(box{b.x + edge, b.y, edge, b.h}))
		p.fill(p.accent, rectangle(box{b.x + b.w - 2*edge, b.y, edge, b.h}))
	} else {
		p.fill(p.accent, rectangle(box{b.x, b.y + edge, b.w, edge}))
		p.fill(p.accent, rectangle(box{b.x, b.y + b.h - 2*edge, b.w, edge}))
	}
	repeats := max(1, min(5, int(long/short/4)))
	weights := make([]float64, 0, 2*repeats+1)
	for range repeats {
		weights = append(weights, 0.8, 3)
	}
	weights = append(weights, 0.8)
	parts := b.columns(weights...)
	if b.h > b.w {
		parts = b.rows(weights...)
	}
	for i, part := range parts {
		p.stripPart(part, i, short)
	}
}

// stripPart draws one part of a strip. Ornaments and text alternate.
func (p *page) stripPart(b box, i int, short float64) {
	if i%2 == 0 {
		c := b.center()
		r := math.Min(short*0.22, b.side()*0.4)
		p.fill(p.shine, star(c, 4, r, r*0.32, 0))
		return
	}
	text := p.brand
	if i%4 == 3 && p.vintage != "" {
		text = p.vintage
	}
	m := textStyle{face: p.bold, maxSize: short * 0.42, lines: 1, track: 0.08, turned: b.h > b.w}
	in := b.inset(0, short*0.16)
	if m.turned {
		in = b.inset(short*0.16, 0)
	}
	p.set(in, text, p.shine, m)
}

// other draws any other label, such as a keg collar or a medal: a round emblem, or a small back
// label if it needs room for a barcode.
func (p *page) other(b box) {
	if p.barcode != nil {
		p.back(b)
		return
	}
	p.fill(p.paper, rectangle(b))
	p.medallion(b)
}

// medallion draws a round emblem in the center of a box.
func (p *page) medallion(b box) {
	c, r := b.center(), b.side()*0.46
	p.fill(p.accent, star(c, 36, r, r*0.95, 0))
	p.fill(p.panel, circle(c, r*0.93))
	p.fill(p.shine, ring(c, r*0.86, r*0.025))
	p.fill(p.shine, ring(c, r*0.8, r*0.01))
	in := box{c.x - r*0.56, c.y - r*0.62, r * 1.12, r * 1.24}
	p.stack(in,
		p.ornament(1.5, p.shine, p.panel),
		p.line(1.2, p.brand, p.shine, textStyle{face: p.bold, maxSize: r * 0.26, lines: 3, leading: 1.06}),
		p.line(0.5, p.fanciful, p.shine, textStyle{face: p.light, maxSize: r * 0.13, lines: 2}),
		p.line(0.4, cmp.Or(p.established, p.vintage), p.shine, textStyle{face: sans, maxSize: r * 0.1, lines: 1, track: 0.16}))
}
