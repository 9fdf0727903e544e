package labelart

import "math"

// motif draws an ornament in the middle of a box, in one colour and the colour of its ground.
type motif func(p *page, b box, k, ground ink)

var (
	wineMotifs   = []motif{hills, grapeCluster, chateau, tree, monogram, sprig}
	beerMotifs   = []motif{hopCone, mountains, wheatEars, waves, sunburst, monogram}
	spiritMotifs = []motif{barrel, compass, wheatEars, monogram, sprig, mountains}
)

// hills draws rows of vines under a sun.
func hills(p *page, b box, k, ground ink) {
	c, r := b.center(), math.Min(b.h, b.w/1.5) // half as wide again as it is high
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
		p.fill(ground, stroke(r*0.018, point{x, c.y + r*0.38}, point{c.x - r*0.22 + r*0.3*t, c.y + r*0.12}, point{c.x - r*0.16 + r*0.2*t, c.y + r*0.06}))
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
		p.fill(k, polygon(point{c.x + (x-w/2)*r, base - from*r}, point{c.x + x*r, base - to*r}, point{c.x + (x+w/2)*r, base - from*r}))
	}
	block(-0.3, 0.6, 0.34)
	p.fill(k, polygon(point{c.x - 0.34*r, base - 0.345*r}, point{c.x - 0.24*r, base - 0.48*r}, point{c.x + 0.24*r, base - 0.48*r}, point{c.x + 0.34*r, base - 0.345*r}))
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
	trunk := polygon(point{c.x - r*0.1, c.y + r*0.4}, point{c.x - r*0.035, c.y + r*0.3}, point{c.x - r*0.03, c.y}, point{c.x + r*0.03, c.y},
		point{c.x + r*0.035, c.y + r*0.3}, point{c.x + r*0.1, c.y + r*0.4})
	p.fill(k, trunk)
	for _, crown := range [][3]float64{{0, -0.22, 0.2}, {-0.2, -0.1, 0.16}, {0.2, -0.1, 0.16}, {-0.1, 0.02, 0.13}, {0.12, 0.03, 0.13}, {-0.3, 0.02, 0.09}, {0.3, 0.03, 0.09}, {0, -0.06, 0.18}} {
		p.fill(k, circle(point{c.x + crown[0]*r, c.y + crown[1]*r}, crown[2]*r))
	}
	p.fill(k, stroke(r*0.025, point{c.x, c.y + r*0.18}, point{c.x + r*0.16, c.y + r*0.04}))
	p.fill(k, rectangle(box{c.x - r*0.42, c.y + r*0.4, r * 0.84, r * 0.018}))
}

// sprig draws a branch with leaves.
func sprig(p *page, b box, k, _ ink) {
	s := b.square()
	c, r := s.center(), s.w
	for _, side := range []float64{-1, 1} {
		p.fill(k, stroke(r*0.02, point{c.x, c.y + r*0.34}, point{c.x + side*r*0.22, c.y + r*0.2}, point{c.x + side*r*0.36, c.y - r*0.02}, point{c.x + side*r*0.36, c.y - r*0.28}))
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
	p.set(box{c.x - d/2, c.y - d/2, d, d}, p.initial(), k, manner{face: serifBold, most: d, lines: 1, leading: 1})
}
