package labelart

import "math"

// point is a position in the drawing, in pixels from its top-left corner.
type point struct{ x, y float64 }

// box is an axis-aligned rectangle.
type box struct{ x, y, w, h float64 }

func (b box) center() point { return point{b.x + b.w/2, b.y + b.h/2} }

// side returns the length of the shorter side.
func (b box) side() float64 { return math.Min(b.w, b.h) }

// inset returns the box shrunk by dx and dy on each side. Its size is never negative.
func (b box) inset(dx, dy float64) box {
	dx, dy = math.Min(dx, b.w/2), math.Min(dy, b.h/2)
	return box{b.x + dx, b.y + dy, b.w - 2*dx, b.h - 2*dy}
}

// rows divides the box into rows with heights proportional to the weights.
func (b box) rows(weights ...float64) []box {
	total := sum(weights)
	rows := make([]box, len(weights))
	y := b.y
	for i, weight := range weights {
		rows[i] = box{b.x, y, b.w, b.h * weight / total}
		y += rows[i].h
	}
	return rows
}

// columns divides the box into columns with widths proportional to the weights.
func (b box) columns(weights ...float64) []box {
	total := sum(weights)
	columns := make([]box, len(weights))
	x := b.x
	for i, weight := range weights {
		columns[i] = box{x, b.y, b.w * weight / total, b.h}
		x += columns[i].w
	}
	return columns
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// square returns the largest square in the center of the box.
func (b box) square() box {
	s, c := b.side(), b.center()
	return box{c.x - s/2, c.y - s/2, s, s}
}

// command is the type of a segment.
type command uint8

const (
	moveTo command = iota
	lineTo
	cubeTo // two control points and an end point
	closePath
)

// segment is one step of an outline. The command determines how many of the points are used.
type segment struct {
	command command
	p       [3]point
}

// outline is a shape filled by the nonzero rule: a part that runs in the opposite direction is a
// hole.
type outline []segment

func (o *outline) move(x, y float64) { *o = append(*o, segment{moveTo, [3]point{{x, y}}}) }
func (o *outline) line(x, y float64) { *o = append(*o, segment{lineTo, [3]point{{x, y}}}) }
func (o *outline) cube(x1, y1, x2, y2, x, y float64) {
	*o = append(*o, segment{cubeTo, [3]point{{x1, y1}, {x2, y2}, {x, y}}})
}
func (o *outline) close() { *o = append(*o, segment{command: closePath}) }

// points returns the points of the segment that are used.
func (s *segment) points() []point {
	switch s.command {
	case moveTo, lineTo:
		return s.p[:1]
	case cubeTo:
		return s.p[:3]
	}
	return nil
}

func polygon(points ...point) outline {
	var o outline
	for i, p := range points {
		if i == 0 {
			o.move(p.x, p.y)
		} else {
			o.line(p.x, p.y)
		}
	}
	o.close()
	return o
}

func rectangle(b box) outline {
	return polygon(point{b.x, b.y}, point{b.x + b.w, b.y}, point{b.x + b.w, b.y + b.h}, point{b.x, b.y + b.h})
}

// hollow returns the border of a box. Its thickness extends inward.
func hollow(b box, thickness float64) outline {
	in := b.inset(thickness, thickness)
	hole := polygon(point{in.x, in.y}, point{in.x, in.y + in.h},
		point{in.x + in.w, in.y + in.h}, point{in.x + in.w, in.y})
	return append(rectangle(b), hole...)
}

// roundness is the distance of a quarter circle's control points from its end points, as a fraction
// of the radius.
const roundness = 0.5522847498

func circle(c point, r float64) outline { return ellipse(c, r, r) }

// ring returns a circle with a hole.
func ring(c point, r, thickness float64) outline {
	inner := math.Max(0, r-thickness)
	return append(circle(c, r), ellipse(c, inner, -inner)...) // a negative radius reverses the direction
}

func ellipse(c point, rx, ry float64) outline {
	kx, ky := rx*roundness, ry*roundness
	var o outline
	o.move(c.x+rx, c.y)
	o.cube(c.x+rx, c.y+ky, c.x+kx, c.y+ry, c.x, c.y+ry)
	o.cube(c.x-kx, c.y+ry, c.x-rx, c.y+ky, c.x-rx, c.y)
	o.cube(c.x-rx, c.y-ky, c.x-kx, c.y-ry, c.x, c.y-ry)
	o.cube(c.x+kx, c.y-ry, c.x+rx, c.y-ky, c.x+rx, c.y)
	o.close()
	return o
}

// star returns a star with n rays.
func star(c point, n int, outer, inner, turn float64) outline {
	points := make([]point, 0, 2*n)
	for i := range 2 * n {
		r := outer
		if i%2 == 1 {
			r = inner
		}
		points = append(points, polar(c, r, turn+math.Pi*float64(i)/float64(n)))
	}
	return polygon(points...)
}

// polar returns the point at the given distance and angle from c. An angle of zero points up, and
// angles increase clockwise.
func polar(c point, r, angle float64) point {
	return point{c.x + r*math.Sin(angle), c.y - r*math.Cos(angle)}
}

// leaf returns a leaf from one point to another. breadth is the distance of its control points from
// the axis, as a fraction of its length.
func leaf(from, to point, breadth float64) outline {
	dx, dy := to.x-from.x, to.y-from.y
	nx, ny := -dy*breadth, dx*breadth
	var o outline
	o.move(from.x, from.y)
	o.cube(from.x+dx*0.25+nx, from.y+dy*0.25+ny, from.x+dx*0.7+nx, from.y+dy*0.7+ny, to.x, to.y)
	o.cube(from.x+dx*0.7-nx, from.y+dy*0.7-ny, from.x+dx*0.25-nx, from.y+dy*0.25-ny, from.x, from.y)
	o.close()
	return o
}

// stroke returns a line of the given width through points.
func stroke(width float64, points ...point) outline {
	var left, right []point
	for i, p := range points {
		a, b := points[max(0, i-1)], points[min(len(points)-1, i+1)]
		dx, dy := b.x-a.x, b.y-a.y
		n := math.Hypot(dx, dy)
		if n == 0 {
			continue
		}
		ox, oy := -dy/n*width/2, dx/n*width/2
		left, right = append(left, point{p.x + ox, p.y + oy}), append(right, point{p.x - ox, p.y - oy})
	}
	for i := len(right) - 1; i >= 0; i-- {
		left = append(left, right[i])
	}
	if len(left) == 0 {
		return nil
	}
	return polygon(left...)
}
