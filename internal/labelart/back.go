package labelart

import "math"

// back draws a back label in a box: the story, the producer and the mandatory statements.
func (p *page) back(b box) {
	p.fill(p.paper, rectangle(b))
	p.unit = b.side()
	s := p.unit
	line := max(0.6, s*0.008)
	p.fill(p.accent, rectangle(box{b.x, b.y, b.w, s * 0.025}))
	p.fill(p.accent, rectangle(box{b.x, b.y + s*0.035, b.w, line * 0.6}))
	in := b.inset(s*0.07, s*0.07)
	in.y += s * 0.02
	in.h -= s * 0.02
	upper, lower := in, in
	upper.h = in.h * 0.55
	if p.description == "" && p.details == "" {
		upper.h = in.h * 0.42
	}
	lower.y, lower.h = in.y+upper.h, in.h-upper.h
	p.stack(upper, p.story()...)
	p.legal(lower.inset(0, lower.h*0.02))
}

// story returns the items in the upper part of a back label.
func (p *page) story() []item {
	s := p.unit
	small := textStyle{face: sans, maxSize: s * 0.042, lines: 3}
	items := []item{
		p.line(1.3, p.brand, p.ink, textStyle{face: p.bold, maxSize: s * 0.13, lines: 2, track: 0.02, leading: 1.06}),
		p.line(0.7, p.fanciful, p.accent, textStyle{face: p.light, maxSize: s * 0.075, lines: 2}),
		p.divider(0.4, p.accent),
		p.line(2.2, p.description, p.ink, textStyle{face: serif, maxSize: s * 0.068, lines: 9, leading: 1.25}),
		p.line(0.7, p.details, p.ink, small),
		p.line(0.4, p.credit, p.ink, small),
	}
	if p.description == "" {
		items = append(items,
			p.line(0.8, p.designation, p.ink, textStyle{face: sans, maxSize: s * 0.05, lines: 2, track: 0.14}))
	}
	return items
}

// sidePanel draws the left panel of a wraparound label.
func (p *page) sidePanel(b box) {
	p.fill(p.panel, rectangle(b))
	in := b.inset(b.w*0.1, b.h*0.08)
	s := in.side()
	p.stack(in,
		p.ornament(2, p.shine, p.panel),
		p.line(0.9, p.fanciful, p.shine, textStyle{face: p.bold, maxSize: s * 0.12, lines: 2}),
		p.divider(0.3, p.shine),
		p.line(2.4, p.description, p.shine, textStyle{face: p.light, maxSize: s * 0.09, lines: 9, leading: 1.25}),
		p.line(0.8, p.details, p.shine, textStyle{face: sans, maxSize: s * 0.055, lines: 4}),
		p.line(0.4, p.established, p.shine, textStyle{face: sans, maxSize: s * 0.06, lines: 1, track: 0.2}),
	)
}

// legalStrip draws the bottom of a front label with a barcode: the mandatory statements and the
// barcode.
func (p *page) legalStrip(b box) {
	p.fill(p.paper, rectangle(b))
	p.fill(p.accent, rectangle(box{b.x, b.y, b.w, max(0.6, b.h*0.015)}))
	p.unit = math.Min(b.w, b.h*2.5)
	p.legal(b.inset(b.side()*0.12, b.side()*0.1))
}

// legal draws the statements and the barcode in a box, with the barcode at the position that
// the record gives.
func (p *page) legal(b box) {
	if p.barcode == nil {
		p.statements(b)
		return
	}
	modules := float64(p.barcode.modules())
	switch {
	case p.upright && b.w >= 0.5*b.h && b.h >= modules:
		columns := b.columns(3, 1.15)
		if p.side == "left" {
			columns = b.columns(1.15, 3)
			columns[0], columns[1] = columns[1], columns[0]
		}
		p.statements(columns[0].inset(b.w*0.015, 0))
		p.bars(columns[1], true)
	case p.side == "bottom center" || b.w < 1.1*b.h || b.w < 2.2*modules:
		rows := b.rows(1.25, 1)
		p.statements(rows[0])
		p.bars(rows[1].inset(0, b.h*0.02), false)
	default:
		columns := b.columns(1.2, 1)
		if p.side == "bottom left" {
			columns = b.columns(1, 1.2)
			columns[0], columns[1] = columns[1], columns[0]
		}
		p.statements(columns[0].inset(b.w*0.02, 0))
		p.bars(columns[1], false)
	}
}

// statements draws the mandatory statements, from the producer to the government warning.
func (p *page) statements(b box) {
	s := p.unit
	small := textStyle{face: sans, maxSize: s * 0.036, lines: 4, align: left}
	sulfites := ""
	if p.sulfites {
		sulfites = "CONTAINS SULFITES"
	}
	items := []item{
		p.line(0.9, p.producer, p.ink, small),
		p.line(0.35, p.origin, p.ink, small), p.line(0.35, sulfites, p.ink, small),
	}
	if p.strength != "" || p.contents != "" {
		items = append(items, p.line(0.4, join(p.strength, p.contents), p.ink,
			textStyle{face: sansBold, maxSize: s * 0.04, lines: 2, align: left}))
	}
	items = append(items,
		p.line(0.4, warningLead, p.ink, textStyle{face: sansBold, maxSize: s * 0.036, lines: 1, align: left}),
		p.line(2.4, warning, p.ink, textStyle{face: sans, maxSize: s * 0.036, lines: 14, align: left, top: true}))
	p.stack(b, items...)
}

// join joins two strings with a middle dot if neither is empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "  ·  " + b
}
