package labelart

import "github.com/colaregistry/colaregistry/cola/vocabulary"

// wideRatio is the minimum aspect ratio of a front label that wraps around its container and
// includes the back.
const wideRatio = 1.6

// front draws a front label. A label that wraps around its container has three panels.
func (p *page) front() {
	b := p.bounds()
	p.fill(p.paper, rectangle(b))
	switch {
	case b.w > wideRatio*b.h:
		panels := b.columns(1, 1.5, 1)
		p.sidePanel(panels[0])
		p.face(panels[1])
		p.back(panels[2])
	case p.barcode != nil && b.w > 1.2*b.h:
		panels := b.columns(1.5, 1)
		p.face(panels[0])
		p.back(panels[1])
	case p.barcode != nil:
		parts := b.rows(1, 0.34)
		p.face(parts[0])
		p.legalStrip(parts[1])
	default:
		p.face(b)
	}
}

// face draws the main panel in the brand's composition.
func (p *page) face(b box) {
	p.unit = b.side()
	switch p.composition {
	case 0:
		if p.kind == vocabulary.MaltBeverage {
			p.badge(b)
		} else {
			p.classic(b)
		}
	case 1:
		p.banner(b)
	default:
		p.split(b)
	}
}

// brandLine returns the item for the brand name, the largest element of the label.
func (p *page) brandLine(weight float64, k ink) item {
	return p.line(weight, p.brand, k,
		textStyle{face: p.bold, maxSize: p.unit * 0.16, lines: 3, track: 0.02, leading: 1.06})
}

// particulars returns the items below the brand name, from the fanciful name to the age.
func (p *page) particulars(k, faint ink) []item {
	s := p.unit
	quiet := textStyle{face: sans, maxSize: s * 0.042, lines: 2, track: 0.14}
	return []item{
		p.line(1.3, p.fanciful, faint, textStyle{face: p.light, maxSize: s * 0.08, lines: 2, leading: 1.1}),
		p.divider(0.5, faint),
		p.line(0.8, p.designation, k, textStyle{face: sans, maxSize: s * 0.052, lines: 2, track: 0.16}),
		p.line(0.6, p.place, k, quiet),
		p.line(0.9, p.vintage, k, textStyle{face: p.bold, maxSize: s * 0.075, lines: 1, track: 0.12}),
		p.line(0.7, p.age, faint, textStyle{face: p.bold, maxSize: s * 0.06, lines: 1, track: 0.1}),
	}
}

// border draws the product type's frame inside a box and returns the box within the frame.
func (p *page) border(b box, k ink) box {
	m := b.side() * 0.035
	in := b.inset(m, m)
	switch p.kind {
	case vocabulary.MaltBeverage:
		p.fill(k, hollow(in, m*0.3))
		return in.inset(m, m)
	case vocabulary.DistilledSpirits:
		p.fill(k, hollow(in, m*0.28))
		inner := in.inset(m*0.7, m*0.7)
		p.fill(k, hollow(inner, m*0.09))
		for _, corner := range corners(inner) {
			p.fill(p.paper, circle(corner, m*0.62))
			p.fill(k, star(corner, 4, m*0.6, m*0.18, 0))
		}
		return inner.inset(m*0.8, m*0.8)
	}
	p.fill(k, hollow(in, m*0.1))
	inner := in.inset(m*0.35, m*0.35)
	p.fill(k, hollow(inner, max(0.5, m*0.04)))
	return inner.inset(m*0.8, m*0.8)
}

func corners(b box) [4]point {
	return [4]point{{b.x, b.y}, {b.x + b.w, b.y}, {b.x, b.y + b.h}, {b.x + b.w, b.y + b.h}}
}

// ornament returns the item for the motif.
func (p *page) ornament(weight float64, k, ground ink) item {
	return item{weight, func(b box) { p.motif(p, b.inset(0, b.h*0.03), k, ground) }}
}

// classic draws a framed label with the motif on top.
func (p *page) classic(b box) {
	p.fill(p.paper, rectangle(b))
	in := p.border(b, p.accent)
	items := []item{
		gap(0.15), p.ornament(3, p.accent, p.paper),
		p.line(0.4, p.established, p.accent, textStyle{face: sans, maxSize: p.unit * 0.03, lines: 1, track: 0.2}),
		p.brandLine(2.4, p.ink),
	}
	items = append(items, p.particulars(p.ink, p.accent)...)
	p.stack(in, append(items, gap(0.1), p.footer(0.6, p.ink))...)
}

// banner draws a label with the brand in a horizontal band.
func (p *page) banner(b box) {
	p.fill(p.paper, rectangle(b))
	rows := b.rows(1.25, 1, 1.5)
	p.motif(p, rows[0].inset(rows[0].w*0.05, rows[0].h*0.12), p.accent, p.paper)
	band := rows[1]
	p.fill(p.panel, rectangle(band))
	line := max(0.6, b.side()*0.006)
	for _, y := range []float64{band.y + 3*line, band.y + band.h - 4*line} {
		p.fill(p.shine, rectangle(box{b.x, y, b.w, line}))
	}
	p.set(band.inset(band.w*0.06, band.h*0.16), p.brand, p.shine,
		textStyle{face: p.bold, maxSize: band.h * 0.5, lines: 2, track: 0.03, leading: 1.06})
	lower := rows[2].inset(b.w*0.07, rows[2].h*0.05)
	p.stack(lower, append(p.particulars(p.ink, p.accent), p.footer(0.7, p.ink))...)
}

// split draws a label with a colored upper part.
func (p *page) split(b box) {
	p.fill(p.paper, rectangle(b))
	rows := b.rows(1, 1.05)
	p.fill(p.panel, rectangle(rows[0]))
	p.fill(p.accent, rectangle(box{b.x, rows[1].y - b.h*0.006, b.w, b.h * 0.012}))
	top := rows[0].inset(b.w*0.06, rows[0].h*0.07)
	p.stack(top,
		p.line(0.3, p.established, p.shine, textStyle{face: sans, maxSize: p.unit * 0.03, lines: 1, track: 0.2}),
		p.ornament(2.2, p.shine, p.panel),
		p.line(1.5, p.brand, p.shine, textStyle{face: p.bold, maxSize: b.side() * 0.15, lines: 2, track: 0.02, leading: 1.06}))
	lower := rows[1].inset(b.w*0.07, rows[1].h*0.07)
	p.stack(lower, append(p.particulars(p.ink, p.accent), p.footer(0.6, p.ink))...)
}

// badge draws a round emblem on rays.
func (p *page) badge(b box) {
	p.fill(p.paper, rectangle(b))
	in := p.border(b, p.ink)
	rows := in.rows(1.1, 2.5, 1.7)
	p.set(rows[0].inset(rows[0].w*0.02, rows[0].h*0.08), p.brand, p.ink,
		textStyle{face: p.bold, maxSize: b.side() * 0.15, lines: 2, leading: 1.02})
	c, r := rows[1].center(), rows[1].side()*0.47
	p.fill(p.accent, star(c, 28, r*1.06, r*0.97, 0))
	p.fill(p.panel, circle(c, r*0.95))
	p.fill(p.shine, ring(c, r*0.88, r*0.03))
	p.motif(p, box{c.x - r*0.74, c.y - r*0.74, r * 1.48, r * 1.48}, p.shine, p.panel)
	p.stack(rows[2], append(p.particulars(p.ink, p.ink), p.footer(0.8, p.ink))...)
}
