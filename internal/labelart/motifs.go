package labelart

import (
	"math"
)

// motif draws an ornament in the center of a box, in one color and the color of its background.
type motif func(p *page, b box, k, ground ink)

var (
	wineMotifs   = []motif{hills, grapeCluster, chateau, tree, monogram, sprig}
	beerMotifs   = []motif{hopCone, mountains, wheatEars, waves, sunburst, monogram}
	spiritMotifs = []motif{barrel, compass, wheatEars, monogram, sprig, mountains}
)

// hills draws rows of vines under a sun.
func hills(p *page, b box, k, ground ink) {
	c, r := b.center(), math.Min(b.h, b.w/1.5) // aspect ratio 3:2
	p.fill(k, circle(point{c.x + r*0.16, c.y - r*0.14}, r*0.15))
	var hill outline
	hill.move(c.x-r*0.75, c.y+r*0.38)
	hill.cube(c.x-r*0.45, c.y-r*0.12, c.x-r*0.1, c.y-r*0.12, c.x+r*0.2, c.y+r*0.12)
	hill.cube(c.x+r*0.4, c.y-r*0.02, c.x+r*0.6, c.y+r*0.1, c.x+r*0.75, c.y+r*0.38)
	hill.close()
	p.fill(k, hill)
	for i := range 6 {
		t := float64(i) / 5
		x := c.x - r*0.52 + r*0.95*t
		p.fill(ground, stroke(r*0.018, point{x, c.y + r*0.38},
			point{c.x - r*0.22 + r*0.3*t, c.y + r*0.12}, point{c.x - r*0.16 + r*0.2*t, c.y + r*0.06}))
	}
	p.fill(k, rectangle(box{c.x - r*0.75, c.y + r*0.4, r * 1.5, r * 0.02}))
}

// grapeCluster draws grapes under a leaf.
func grapeCluster(p *page, b box, k, ground ink) {
	s := b.square()
	c, r := s.center(), s.w*0.1
	p.fill(k, stroke(r*0.35, point{c.x, c.y - r*2}, point{c.x + r*0.2, c.y - r*3.4}, point{c.x + r*1.1, c.y - r*4.3}))
	p.fill(k, leaf(point{c.x, c.y - r*2.6}, point{c.x - r*3.4, c.y - r*3.9}, 0.42))
	p.fill(ground, stroke(r*0.12, point{c.x, c.y - r*2.6}, point{c.x - r*2.6, c.y - r*3.6}))
	for row, n := range []int{4, 5, 4, 3, 2, 1} {
		for i := range n {
			at := point{c.x + (float64(i)-float64(n-1)/2)*r*1.32, c.y + (float64(row)-1.3)*r*1.18}
			p.fill(ground, circle(at, r*0.82))
			p.fill(k, circle(at, r*0.7))
			p.fill(ground, circle(point{at.x - r*0.22, at.y - r*0.24}, r*0.13))
		}
	}
}

// chateau draws a house with two towers.
func chateau(p *page, b box, k, ground ink) {
	s := b.square()
	c, r := s.center(), s.w
	base := c.y + r*0.32
	block := func(x, w, h float64) { p.fill(k, rectangle(box{c.x + x*r, base - h*r, w * r, h * r})) }
	roof := func(x, w, from, to float64) {
		p.fill(k, polygon(point{c.x + (x-w/2)*r, base - from*r},
			point{c.x + x*r, base - to*r}, point{c.x + (x+w/2)*r, base - from*r}))
	}
	block(-0.3, 0.6, 0.34)
	p.fill(k, polygon(point{c.x - 0.34*r, base - 0.345*r}, point{c.x - 0.24*r, base - 0.48*r},
		point{c.x + 0.24*r, base - 0.48*r}, point{c.x + 0.34*r, base - 0.345*r}))
	for _, x := range []float64{-0.4, 0.4} {
		block(x-0.085, 0.17, 0.42)
		roof(x, 0.23, 0.425, 0.68)
	}
	roof(0, 0.2, 0.47, 0.62)
	for i := range 5 {
		x := -0.22 + 0.11*float64(i)
		p.fill(ground, rectangle(box{c.x + (x-0.018)*r, base - 0.28*r, 0.036 * r, 0.075 * r}))
		if i != 2 {
			p.fill(ground, rectangle(box{c.x + (x-0.018)*r, base - 0.14*r, 0.036 * r, 0.075 * r}))
		}
	}
	p.fill(ground, rectangle(box{c.x - 0.03*r, base - 0.15*r, 0.06 * r, 0.15 * r}))
	for _, x := range []float64{-0.4, 0.4} {
		p.fill(ground, rectangle(box{c.x + (x-0.018)*r, base - 0.33*r, 0.036 * r, 0.09 * r}))
	}
	p.fill(k, rectangle(box{c.x - 0.62*r, base + 0.02*r, 1.24 * r, 0.02 * r}))
}

// tree draws an oak.
func tree(p *page, b box, k, _ ink) {
	s := b.square()
	c, r := s.center(), s.w
	trunk := polygon(point{c.x - r*0.1, c.y + r*0.4}, point{c.x - r*0.035, c.y + r*0.3}, point{
		c.x - r*0.03, c.y,
	}, point{c.x + r*0.03, c.y},
		point{c.x + r*0.035, c.y + r*0.3}, point{c.x + r*0.1, c.y + r*0.4})
	p.fill(k, trunk)
	for _, crown := range [][3]float64{
		{0, -0.22, 0.2}, {-0.2, -0.1, 0.16}, {0.2, -0.1, 0.16}, {-0.1, 0.02, 0.13}, {0.12, 0.03, 0.13},
		{-0.3, 0.02, 0.09}, {0.3, 0.03, 0.09}, {0, -0.06, 0.18},
	} {
		p.fill(k, circle(point{c.x + crown[0]*r, c.y + crown[1]*r}, crown[2]*r))
	}
	p.fill(k, stroke(r*0.025, point{c.x, c.y + r*0.18}, point{c.x + r*0.16, c.y + r*0.04}))
	p.fill(k, rectangle(box{c.x - r*0.42, c.y + r*0.4, r * 0.84, r * 0.018}))
}

// sprig draws two leafy branches around a star.
func sprig(p *page, b box, k, _ ink) {
	s := b.square()
	c, r := s.center(), s.w
	for _, side := range []float64{-1, 1} {
		p.fill(k, stroke(r*0.02, point{c.x, c.y + r*0.34}, point{c.x + side*r*0.22, c.y + r*0.2},
			point{c.x + side*r*0.36, c.y - r*0.02}, point{c.x + side*r*0.36, c.y - r*0.28}))
		for i := range 5 {
			t := float64(i) / 4
			at := point{c.x + side*r*(0.12+0.26*math.Sqrt(t)), c.y + r*(0.28-0.56*t)}
			p.fill(k, leaf(at, point{at.x + side*r*0.16, at.y - r*0.1}, 0.3))
			p.fill(k, leaf(at, point{at.x - side*r*0.1, at.y - r*0.15}, 0.3))
		}
	}
	p.fill(k, star(c, 5, r*0.09, r*0.036, 0))
}

// monogram draws the brand's first letter in a ring.
func monogram(p *page, b box, k, _ ink) {
	s := b.square()
	c, r := s.center(), s.w*0.42
	p.fill(k, ring(c, r, r*0.05))
	p.fill(k, ring(c, r*0.88, r*0.02))
	for i := range 24 {
		p.fill(k, circle(polar(c, r*1.07, float64(i)*math.Pi/12), r*0.022))
	}
	d := r * 1.2
	p.set(box{c.x - d/2, c.y - d/2, d, d}, p.initial(), k, textStyle{face: serifBold, maxSize: d, lines: 1, leading: 1})
}

// hopCone draws a hop cone between two leaves.
func hopCone(p *page, b box, k, ground ink) {
	s := b.square()
	c, r := s.center(), s.w
	p.fill(k, stroke(r*0.03, point{c.x, c.y - r*0.24}, point{c.x + r*0.03, c.y - r*0.42}))
	p.fill(k, leaf(point{c.x, c.y - r*0.28}, point{c.x - r*0.4, c.y - r*0.34}, 0.35))
	p.fill(k, leaf(point{c.x, c.y - r*0.28}, point{c.x + r*0.4, c.y - r*0.34}, 0.35))
	for row := 5; row >= 0; row-- {
		y := c.y - r*0.22 + float64(row)*r*0.085
		n := []int{3, 4, 4, 3, 2, 1}[row]
		for i := range n {
			x := c.x + (float64(i)-float64(n-1)/2)*r*0.13
			from, to := point{x, y - r*0.06}, point{x + (x-c.x)*0.25, y + r*0.17}
			p.fill(ground, leaf(from, point{to.x, to.y + r*0.015}, 0.44))
			p.fill(k, leaf(from, to, 0.36))
		}
	}
}

// mountains draws peaks in front of a sun.
func mountains(p *page, b box, k, ground ink) {
	s := b.square()
	c, r := s.center(), s.w
	p.fill(k, ring(point{c.x, c.y - r*0.08}, r*0.3, r*0.025))
	peak := func(x, top, half float64, snow bool) {
		base := c.y + r*0.3
		p.fill(ground, polygon(point{c.x + (x-half-0.02)*r, base},
			point{c.x + x*r, c.y + (top-0.03)*r}, point{c.x + (x+half+0.02)*r, base}))
		p.fill(k, polygon(point{c.x + (x-half)*r, base}, point{c.x + x*r, c.y + top*r}, point{c.x + (x+half)*r, base}))
		if !snow {
			return
		}
		d := (0.3 - top) * 0.3
		at := func(dx, dy float64) point { return point{c.x + (x+dx)*r, c.y + (top+dy)*r} }
		w := half * 0.3
		p.fill(ground,
			polygon(at(0, 0.035), at(w*0.9, d), at(w*0.35, d*0.8), at(0, d*1.15), at(-w*0.35, d*0.8), at(-w*0.9, d)))
	}
	peak(-0.26, 0, 0.3, false)
	peak(0.28, -0.04, 0.3, false)
	peak(0, -0.2, 0.38, true)
	p.fill(k, rectangle(box{c.x - r*0.56, c.y + r*0.31, r * 1.12, r * 0.02}))
}

// wheatEars draws two crossed ears of grain.
func wheatEars(p *page, b box, k, _ ink) {
	s := b.square()
	c, r := s.center(), s.w
	for _, side := range []float64{-1, 1} {
		foot, top := point{c.x - side*r*0.16, c.y + r*0.4}, point{c.x + side*r*0.24, c.y - r*0.34}
		p.fill(k, stroke(r*0.02, foot, top))
		dx, dy := (top.x-foot.x)/6, (top.y-foot.y)/6
		for i := range 5 {
			t := 2.1 + 0.8*float64(i)
			at := point{foot.x + dx*t, foot.y + dy*t}
			p.fill(k, leaf(at, point{at.x + r*0.13 + dx*0.6, at.y + dy*0.8}, 0.3))
			p.fill(k, leaf(at, point{at.x - r*0.13 + dx*0.6, at.y + dy*0.8}, 0.3))
		}
		p.fill(k, leaf(top, point{top.x + dx*1.3, top.y + dy*1.3}, 0.3))
	}
	p.fill(k, star(point{c.x, c.y - r*0.2}, 5, r*0.07, r*0.028, 0))
}

// waves draws a swell and a lighthouse.
func waves(p *page, b box, k, ground ink) {
	s := b.square()
	c, r := s.center(), s.w
	p.fill(k, polygon(point{c.x - r*0.07, c.y + r*0.1}, point{c.x - r*0.045, c.y - r*0.26},
		point{c.x + r*0.045, c.y - r*0.26}, point{c.x + r*0.07, c.y + r*0.1}))
	p.fill(k, rectangle(box{c.x - r*0.06, c.y - r*0.3, r * 0.12, r * 0.025}))
	p.fill(k, rectangle(box{c.x - r*0.035, c.y - r*0.37, r * 0.07, r * 0.06}))
	p.fill(k, polygon(point{c.x - r*0.05, c.y - r*0.375}, point{c.x, c.y - r*0.44}, point{c.x + r*0.05, c.y - r*0.375}))
	for i := range 2 {
		p.fill(ground, rectangle(box{c.x - r*0.08, c.y - r*(0.17-0.13*float64(i)), r * 0.16, r * 0.05}))
	}
	for _, side := range []float64{-1, 1} {
		p.fill(k, polygon(point{c.x + side*r*0.07, c.y - r*0.35}, point{c.x + side*r*0.46, c.y - r*0.46},
			point{c.x + side*r*0.46, c.y - r*0.3}, point{c.x + side*r*0.07, c.y - r*0.33}))
	}
	for row := range 3 {
		y := c.y + r*(0.16+0.1*float64(row))
		var line []point
		for i := range 49 {
			t := float64(i) / 48
			line = append(line,
				point{c.x + r*(t-0.5)*(1.1-0.2*float64(row)), y + r*0.025*math.Sin(t*6*math.Pi+float64(row))})
		}
		p.fill(ground, stroke(r*0.09, line...))
		p.fill(k, stroke(r*0.035, line...))
	}
}

// sunburst draws rays around a disc.
func sunburst(p *page, b box, k, ground ink) {
	s := b.square()
	c, r := s.center(), s.w
	p.fill(k, star(c, 18, r*0.46, r*0.26, 0))
	p.fill(ground, circle(c, r*0.235))
	p.fill(k, circle(c, r*0.2))
	p.fill(ground, star(c, 5, r*0.14, r*0.056, 0))
}

// barrel draws a cask from the side.
func barrel(p *page, b box, k, ground ink) {
	s := b.square()
	c, r := s.center(), s.w
	body := func(grow float64) outline {
		w, h, bulge := r*0.36+grow, r*0.27+grow, r*0.1
		var o outline
		o.move(c.x-w, c.y-h+bulge)
		o.cube(c.x-w*0.5, c.y-h-bulge*0.2, c.x+w*0.5, c.y-h-bulge*0.2, c.x+w, c.y-h+bulge)
		o.line(c.x+w, c.y+h-bulge)
		o.cube(c.x+w*0.5, c.y+h+bulge*0.2, c.x-w*0.5, c.y+h+bulge*0.2, c.x-w, c.y+h-bulge)
		o.close()
		return o
	}
	p.fill(k, body(0))
	p.fill(ground, body(-r*0.025))
	p.fill(k, body(-r*0.05))
	for _, x := range []float64{-0.22, -0.14, 0.14, 0.22} {
		p.fill(ground, rectangle(box{c.x + (x-0.011)*r, c.y - r*0.25, r * 0.022, r * 0.5}))
	}
	p.fill(ground, circle(c, r*0.075))
	p.fill(k, star(c, 5, r*0.06, r*0.024, 0))
	p.fill(k, rectangle(box{c.x - r*0.44, c.y + r*0.31, r * 0.88, r * 0.025}))
}

// compass draws a compass rose.
func compass(p *page, b box, k, ground ink) {
	s := b.square()
	c, r := s.center(), s.w*0.44
	p.fill(k, ring(c, r*0.8, r*0.035))
	p.fill(k, ring(c, r*0.7, r*0.015))
	p.fill(ground, star(c, 4, r*0.68, r*0.2, math.Pi/4))
	p.fill(k, star(c, 4, r*0.6, r*0.14, math.Pi/4))
	p.fill(ground, star(c, 4, r*1.08, r*0.2, 0))
	p.fill(k, star(c, 4, r, r*0.14, 0))
	p.fill(ground, circle(c, r*0.07))
}
