package barcode

import (
	"cmp"
	"image"
	"math"
	"slices"
)

// demand is the evidence that a symbology needs. The weaker its own check, the more it needs.
type demand struct {
	lines  int     // minimum number of lines that read the value, at each scale
	height float64 // minimum distance between the first and last of these lines, in modules
	share  float64 // minimum share of the lines between them that read the value
}

var demands = map[Type]demand{
	EAN13:   {lines: 4, height: 6, share: 0.35},
	UPCA:    {lines: 4, height: 6, share: 0.35},
	EAN8:    {lines: 8, height: 12, share: 0.8},
	UPCE:    {lines: 8, height: 12, share: 0.8},
	ITF14:   {lines: 8, height: 12, share: 0.7},
	Code128: {lines: 6, height: 8, share: 0.7},
}

// linesPerOther is how many lines must read the value for each line that reads a different one.
const linesPerOther = 5

// scales are the samples per module of verification lines. The first resolves narrow bars. The
// second averages neighboring samples, to test that the reading survives blur.
var scales = [...]struct{ samples, blur int }{{4, 1}, {3, 2}}

// box is a verified symbol, with the corners of the part of its bars that was read.
type box struct {
	symbol
	axis    vec
	corners []vec
	lines   int
}

func (b *box) code(bounds image.Rectangle, scale int) Code {
	r := boxOf(bounds, scale, b.corners...)
	return Code{
		Type: b.typ, Value: b.value, Bounds: r, Orientation: orientation(b.axis), Position: position(r, bounds),
	}
}

// verified returns the candidates that pass verification. If candidates overlap, it returns only
// the one that was read by the most lines.
func verified(p *plane, found []candidate) []box {
	var boxes, kept []box
	for i := range found {
		if b, ok := verify(p, &found[i]); ok {
			boxes = append(boxes, b)
		}
	}
	slices.SortStableFunc(boxes, func(a, b box) int { return cmp.Compare(b.lines, a.lines) })
	for _, b := range boxes {
		if !slices.ContainsFunc(kept, func(k box) bool { return k.overlaps(&b) }) {
			kept = append(kept, b)
		}
	}
	return kept
}

// overlaps reports whether the center of either symbol is inside the other's box.
func (b *box) overlaps(o *box) bool {
	return b.contains(o.center()) || o.contains(b.center())
}

func (b *box) center() vec { return b.corners[0].middle(b.corners[3]) }

// contains reports whether a point is in the box, or outside it by at most a tenth of the box's
// length.
func (b *box) contains(v vec) bool {
	length, height := b.corners[0].distance(b.corners[1]), b.corners[0].distance(b.corners[2])
	d := v.sub(b.center())
	along, across := math.Abs(d.dot(b.axis)), math.Abs(d.dot(b.axis.normal()))
	return along <= 0.6*length && across <= height/2+0.1*length
}

// verify reads a candidate again along its axis, at each scale. It fails if a scale has too little
// evidence.
func verify(p *plane, c *candidate) (box, bool) {
	v := newVerifier(p, c)
	b := box{symbol: c.symbol, axis: v.axis, lines: math.MaxInt}
	var lo, hi float64
	for i := range scales {
		r := v.sweep(i)
		d := demands[c.typ]
		if len(r.heights) < d.lines || r.span() < d.height*v.module || r.share() < d.share ||
			r.others*linesPerOther > len(r.heights) {
			return b, false
		}
		if n := len(r.heights); n < b.lines {
			b.lines = n
		}
		if i == 0 {
			lo, hi = r.heights[0], r.heights[len(r.heights)-1]
		}
	}
	for _, h := range []float64{lo, hi} {
		b.corners = append(b.corners, v.first.add(v.bar.times(h)), v.last.add(v.bar.times(h)))
	}
	return b, true
}

// verifier samples lines along a candidate's axis at heights along its bars.
type verifier struct {
	plane       *plane
	symbol      symbol
	first, last vec // ends of the line at height 0
	axis, bar   vec // directions, at right angles
	module      float64
	lo, hi      float64 // heights of the candidate's readings
	profile     profile
}

// newVerifier finds the axis from where the candidate's lines cross its first and last bars.
func newVerifier(p *plane, c *candidate) *verifier {
	v := &verifier{plane: p, symbol: c.symbol, first: c.first, last: c.last}
	v.axis, v.bar = c.last.sub(c.first).unit(), vec{}
	if slope := c.slope(); slope != 0 {
		// Bars run from one line to the next, shifted by slope.
		bar := v.axis.normal().add(v.axis.times(slope)).unit()
		v.axis = vec{bar.y, -bar.x}
	}
	v.bar = v.axis.normal()
	center := c.center()
	length := math.Abs(c.last.sub(c.first).dot(v.axis))
	v.first, v.last = center.sub(v.axis.times(length/2)), center.add(v.axis.times(length/2))
	v.module = c.module * length / c.first.distance(c.last)
	for _, r := range c.readings {
		h := r.center().sub(center).dot(v.bar)
		v.lo, v.hi = min(v.lo, h), max(v.hi, h)
	}
	return v
}

// slope returns how far the readings shift along the line for each unit of distance between lines.
// It is 0 if the lines cross the bars at right angles, or if it can't be measured. Lines that cross
// the bars at another angle also read the code, but the corners of its box and the average across
// lines need the true axis.
func (c *candidate) slope() float64 {
	along := c.last.sub(c.first).unit()
	across := along.normal()
	origin := c.center()
	var xy, yy, my float64
	n := float64(len(c.readings))
	for _, r := range c.readings {
		my += r.center().sub(origin).dot(across) / n
	}
	for _, r := range c.readings {
		d := r.center().sub(origin)
		y := d.dot(across) - my
		xy, yy = xy+y*d.dot(along), yy+y*y
	}
	if yy < 4*c.module*c.module*n/12 { // too flat to measure
		return 0
	}
	slope := xy / yy
	if math.Abs(slope) > 1 {
		return 0
	}
	return slope
}

// evidence is the result of reading at many heights.
type evidence struct {
	heights []float64 // heights of lines that read the value, ascending
	others  int       // lines that read a different value
	step    float64
}

func (e *evidence) span() float64 {
	if len(e.heights) == 0 {
		return 0
	}
	return e.heights[len(e.heights)-1] - e.heights[0] + e.step
}

// share returns the share of lines that read the value, between the first and the last of them.
func (e *evidence) share() float64 { return float64(len(e.heights)) * e.step / e.span() }

// Limits on verification lines, at each scale.
const (
	// maxLines is how many lines may read the value before sweep stops going beyond the candidate's
	// heights on the first side. On the second side, sweep stops at twice as many in total.
	maxLines = 120
	// patience is how many consecutive failures end the sweep of a side beyond the candidate's
	// heights.
	patience = 5
)

// sweep reads lines at all heights of the candidate, and beyond them on both sides until reads
// fail. The box thus covers the full height of the bars even if the search read only a part.
func (v *verifier) sweep(scale int) evidence {
	e := evidence{step: max(1, v.module, (v.hi-v.lo)/maxLines)}
	read := func(h float64) bool {
		value, ok := v.read(h, scale)
		switch {
		case ok && value == v.symbol.value:
			e.heights = append(e.heights, h)
			return true
		case ok:
			e.others++
		}
		return false
	}
	for h, failures := -e.step, 0; h >= v.lo || failures < patience && len(e.heights) < maxLines; h -= e.step {
		if read(h) {
			failures = 0
		} else {
			failures++
		}
	}
	slices.Reverse(e.heights)
	for h, failures := 0.0, 0; h <= v.hi || failures < patience && len(e.heights) < 2*maxLines; h += e.step {
		if read(h) {
			failures = 0
		} else {
			failures++
		}
	}
	return e
}

// margin is the space sampled on each side of a symbol, in modules.
const margin = 12

// read samples the line at a height and returns the value of the symbol that starts where the
// candidate does. The samples are averages across the line, over most of a module: along bars, this
// removes noise; in texture and text, it removes false bars.
func (v *verifier) read(height float64, scale int) (value string, ok bool) {
	p, samples, blur := v.plane, scales[scale].samples, scales[scale].blur
	step := v.module / float64(samples)
	length := v.first.distance(v.last)
	before := min(margin*v.module, p.distanceToBorder(v.first.add(v.bar.times(height)), v.axis.times(-1)))
	after := min(margin*v.module, p.distanceToBorder(v.last.add(v.bar.times(height)), v.axis))
	n := int((before + length + after) / step)
	if before <= 0 || after <= 0 || n < shortest {
		return "", false
	}
	gray := slices.Grow(v.profile.gray[:0], n)[:n]
	start := v.first.add(v.bar.times(height)).sub(v.axis.times(before - step/2))
	side := v.bar.times(max(0.35*v.module, 0.5))
	last := 0.0
	for i := range gray {
		at := start.add(v.axis.times(float64(i) * step))
		average := (p.sharpAt(at.sub(side)) + p.sharpAt(at) + p.sharpAt(at.add(side))) / 3
		value := average
		if blur > 1 && i > 0 {
			value = (average + last) / 2
		}
		last = average
		gray[i] = uint8(min(max(value+0.5, 0), 255))
	}
	v.profile.gray = gray
	v.profile.split()
	return v.match(before/step, 3*float64(samples))
}

// match returns the value of a symbol of any type that starts near a sample, preferably the
// candidate's.
func (v *verifier) match(at, tolerance float64) (value string, ok bool) {
	starts := v.profile.starts
	symbols(v.profile.runs, func(i int, s symbol) {
		if math.Abs(starts[i]-at) <= tolerance && (!ok || s.value == v.symbol.value) {
			value, ok = s.value, true
		}
	})
	return value, ok
}

// distanceToBorder returns how far a point is from the plane's border in a direction, or 0 if it is
// outside.
func (p *plane) distanceToBorder(from, along vec) float64 {
	if from.x < 0 || from.y < 0 || from.x > float64(p.w) || from.y > float64(p.h) {
		return 0
	}
	d := math.Inf(1)
	for _, side := range []struct{ at, step, size float64 }{
		{from.x, along.x, float64(p.w)}, {from.y, along.y, float64(p.h)},
	} {
		switch {
		case side.step > 1e-9:
			d = min(d, (side.size-side.at)/side.step)
		case side.step < -1e-9:
			d = min(d, -side.at/side.step)
		}
	}
	return d
}
