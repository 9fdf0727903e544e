package barcode

import (
	"cmp"
	"math"
	"slices"
)

// directions is the number of directions of search lines, over 180 degrees. A line crosses all bars
// of a symbol if the tangent of its tilt is less than the symbol's ratio of height to length. The
// best line is tilted by at most 7.5 degrees, half the angle between two directions, so a ratio of
// 0.13 suffices.
const directions = 12

// reading is a symbol read along a line.
type reading struct {
	symbol
	first, last vec // start of the first bar and end of the last, in reading order
	line        int // number of the line among those in its direction
	direction   int
}

func (r *reading) center() vec { return r.first.middle(r.last) }

// searcher collects readings and finder patterns of QR codes.
type searcher struct {
	plane    *plane
	profile  profile
	reversed []float64
	readings []reading
	finders  []finder
}

// maxReadings limits the number of readings, to save memory on images that are full of codes.
const maxReadings = 20_000

// search reads lines in all directions. Lines are denser in small images, where codes are only a
// few pixels high.
func search(p *plane) *searcher {
	s := &searcher{plane: p}
	spacing := min(max(min(p.w, p.h)/300, 1), 4)
	for d := range directions {
		s.sweep(d, spacing)
	}
	return s
}

// sweep reads parallel lines in one direction, over the whole plane.
func (s *searcher) sweep(direction, gap int) {
	p := s.plane
	angle := math.Pi * float64(direction) / directions
	along := vec{math.Cos(angle), math.Sin(angle)}
	switch direction {
	case 0:
		along = vec{1, 0}
	case directions / 2:
		along = vec{0, 1}
	}
	across := along.normal()
	corners := []vec{{0, 0}, {float64(p.w), 0}, {0, float64(p.h)}, {float64(p.w), float64(p.h)}}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, c := range corners {
		lo, hi = min(lo, c.dot(across)), max(hi, c.dot(across))
	}
	line := 0
	for offset := math.Floor(lo) + 0.5; offset < hi; offset += float64(gap) {
		from, n := p.clip(across.times(offset), along)
		line++
		if n < minSide {
			continue
		}
		s.sample(from, along, n)
		s.read(from, along, line, direction)
	}
}

// clip returns the first sample of a line in the plane, and the number of samples.
func (p *plane) clip(origin, along vec) (from vec, n int) {
	lo, hi := math.Inf(-1), math.Inf(1)
	for _, side := range []struct{ at, step, size float64 }{
		{origin.x, along.x, float64(p.w)}, {origin.y, along.y, float64(p.h)},
	} {
		if math.Abs(side.step) < 1e-9 {
			if side.at < 0 || side.at >= side.size {
				return from, 0
			}
			continue
		}
		a, b := -side.at/side.step, (side.size-side.at)/side.step
		lo, hi = max(lo, min(a, b)), min(hi, max(a, b))
	}
	if hi-lo < 1 {
		return from, 0
	}
	return origin.add(along.times(lo + 0.5)), int(hi - lo)
}

// sample sets the profile to the values of a line, one per pixel. Horizontal and vertical lines,
// which cross nearly all codes, need no interpolation.
func (s *searcher) sample(from, along vec, n int) {
	p, gray := s.plane, slices.Grow(s.profile.gray[:0], n)[:n]
	s.profile.gray = gray
	switch x, y := int(from.x), int(from.y); {
	case along.y == 0:
		copy(gray, p.pix[y*p.w+x:])
	case along.x == 0:
		for i := range gray {
			gray[i] = p.pix[(y+i)*p.w+x]
		}
	default:
		at := from
		for i := range gray {
			gray[i] = p.at(at)
			at = at.add(along)
		}
	}
}

// read collects the symbols of the profile, in both directions, and the finder patterns if the line
// is horizontal or vertical.
func (s *searcher) read(from, along vec, line, direction int) {
	s.profile.split()
	runs, starts := s.profile.runs, s.profile.starts
	if direction == 0 || direction == directions/2 {
		s.findFinders(from, along)
	}
	if len(runs) < shortest+2 || len(s.readings) >= maxReadings {
		return
	}
	point := func(at float64) vec { return from.add(along.times(at - 0.5)) }
	symbols(runs, func(i int, sym symbol) {
		first, last := point(starts[i]), point(starts[i+sym.length])
		s.readings = append(s.readings, reading{sym, first, last, line, direction})
	})
	s.reversed = append(s.reversed[:0], runs...)
	slices.Reverse(s.reversed)
	symbols(s.reversed, func(i int, sym symbol) {
		first, last := point(starts[len(runs)-i]), point(starts[len(runs)-i-sym.length])
		s.readings = append(s.readings, reading{sym, first, last, line, direction})
	})
}

// candidate is a symbol that several lines may have read in the same place.
type candidate struct {
	reading  // the one with the closest fit
	readings []reading
}

// maxCandidates limits the number of candidates, to save time on images with many false readings.
const maxCandidates = 30

// candidates groups readings of the same value in the same place, and returns those with the most
// readings.
func (s *searcher) candidates() []candidate {
	var found []candidate
next:
	for _, r := range s.readings {
		for i := range found {
			c := &found[i]
			if c.typ == r.typ && c.value == r.value && c.center().distance(r.center()) < r.first.distance(r.last) {
				c.readings = append(c.readings, r)
				continue next
			}
		}
		if len(found) < 10*maxCandidates {
			found = append(found, candidate{r, []reading{r}})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(len(b.readings), len(a.readings)) })
	found = found[:min(len(found), maxCandidates)]
	for i := range found {
		found[i].choose()
	}
	return found
}

// choose keeps the readings in the direction with the most readings, and picks the one with the
// closest fit. Lines in other directions would distort the measurement of the axis.
func (c *candidate) choose() {
	var count [directions]int
	for _, r := range c.readings {
		count[r.direction]++
	}
	best := slices.Index(count[:], slices.Max(count[:]))
	c.readings = slices.DeleteFunc(c.readings, func(r reading) bool { return r.direction != best })
	c.reading = slices.MinFunc(c.readings, func(a, b reading) int { return cmp.Compare(a.misfit, b.misfit) })
}
