package barcode

// edgeBlock is the length, in samples, of the blocks over which contrast is measured.
const edgeBlock = 32

// minStep is the smallest difference between light and dark, out of 255, that counts as an edge.
const minStep = 14

// profile is a line of gray values and its light and dark runs.
type profile struct {
	gray   []uint8
	steps  []int     // minimum step of an edge, per block
	turns  []int     // indexes of local extremes, alternately light and dark
	runs   []float64 // widths in samples; the first and last reach the ends of the line
	starts []float64 // where each run starts
	dark   bool      // whether the first run is dark
}

// split finds the runs of the line. An edge is where the values cross the midpoint between two
// neighboring extremes, with subsample precision. A fixed threshold would lose narrow bars, which
// blur makes gray. Extremes must differ by at least a fifth of the local contrast, which filters
// noise but keeps such bars.
func (p *profile) split() {
	p.measure()
	p.findTurns()
	p.runs, p.starts = p.runs[:0], p.starts[:0]
	if len(p.turns) < 2 {
		return
	}
	p.dark = p.gray[p.turns[0]] < p.gray[p.turns[1]]
	last := 0.0
	for i, to := range p.turns[1:] {
		at := p.crossing(p.turns[i], to)
		p.runs, p.starts = append(p.runs, at-last), append(p.starts, last)
		last = at
	}
	p.runs, p.starts = append(p.runs, float64(len(p.gray))-last), append(p.starts, last)
}

// measure sets the minimum step of an edge for each block, from the contrast around it.
func (p *profile) measure() {
	blocks := (len(p.gray) + edgeBlock - 1) / edgeBlock
	lows, highs := make([]uint8, blocks), make([]uint8, blocks)
	for i := range blocks {
		lo, hi := uint8(255), uint8(0)
		for _, v := range p.gray[i*edgeBlock : min(len(p.gray), (i+1)*edgeBlock)] {
			lo, hi = min(lo, v), max(hi, v)
		}
		lows[i], highs[i] = lo, hi
	}
	p.steps = p.steps[:0]
	for i := range blocks {
		lo, hi := uint8(255), uint8(0)
		for j := max(0, i-2); j < min(blocks, i+3); j++ {
			lo, hi = min(lo, lows[j]), max(hi, highs[j])
		}
		p.steps = append(p.steps, max(minStep, (int(hi)-int(lo))/5))
	}
}

// findTurns finds the local extremes: the highest value before each fall by at least a step, and
// the lowest before each rise.
func (p *profile) findTurns() {
	p.turns = p.turns[:0]
	low, high := 0, 0 // since the last extreme
	rising, falling := false, false
	for i, v := range p.gray {
		step := p.steps[i/edgeBlock]
		if v > p.gray[high] {
			high = i
		}
		if v < p.gray[low] {
			low = i
		}
		switch {
		case !rising && int(v)-int(p.gray[low]) >= step:
			p.turns = append(p.turns, low)
			rising, falling, high = true, false, i
		case !falling && int(p.gray[high])-int(v) >= step:
			p.turns = append(p.turns, high)
			rising, falling, low = false, true, i
		}
	}
	switch {
	case rising:
		p.turns = append(p.turns, high)
	case falling:
		p.turns = append(p.turns, low)
	}
}

// crossing returns where the values between two extremes cross the midpoint.
func (p *profile) crossing(from, to int) float64 {
	a, b := float64(p.gray[from]), float64(p.gray[to])
	middle := (a + b) / 2
	for i := from + 1; i <= to; i++ {
		v := float64(p.gray[i])
		if (v >= middle) == (b > a) || v == middle {
			before := float64(p.gray[i-1])
			return float64(i) + 0.5 - (v-middle)/(v-before)
		}
	}
	return float64(to) + 0.5
}
