package demo

import (
	"math/bits"
	"slices"
)

// rng is a pseudo-random number generator (splitmix64). This package guarantees the sequence, so it
// implements the generator instead of using a library that may change.
type rng uint64

// Streams of random numbers. Draws from one stream do not affect another.
const (
	streamPermittee uint64 = iota + 1
	streamBrand
	streamProduct
	streamLabel
	streamDay
	streamTimes
	streamReports
)

// newRNG returns a generator for one item of a stream.
func newRNG(seed, stream, item uint64) rng {
	return rng(mix(seed ^ mix(stream^mix(item+0x9e3779b97f4a7c15))))
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *rng) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	return mix(uint64(*d))
}

// intn returns a number from 0 to n-1. n must be positive.
func (d *rng) intn(n int) int {
	hi, _ := bits.Mul64(d.next(), uint64(n))
	return int(hi)
}

// between returns a number from lo to hi, inclusive.
func (d *rng) between(lo, hi int) int { return lo + d.intn(hi-lo+1) }

// unit returns a number in [0, 1).
func (d *rng) unit() float64 { return float64(d.next()>>11) / (1 << 53) }

// chance returns true with probability p.
func (d *rng) chance(p float64) bool { return d.unit() < p }

// pick returns a random choice. There must be at least one.
func pick[T any](d *rng, choices []T) T { return choices[d.intn(len(choices))] }

// some returns between lo and hi distinct choices in list order, or all of them if there are fewer.
// There may be at most 64 choices.
func some(d *rng, choices []string, lo, hi int) []string {
	n := min(d.between(lo, hi), len(choices))
	if n == 0 {
		return nil
	}
	var taken uint64
	for bits.OnesCount64(taken) < n {
		taken |= 1 << d.intn(len(choices))
	}
	chosen := make([]string, 0, n)
	for i, c := range choices {
		if taken&(1<<i) != 0 {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// weights draws list indexes with the given relative frequencies.
type weights []float64 // cumulative weights

func (w *weights) add(weight float64) {
	total := weight
	if n := len(*w); n > 0 {
		total += (*w)[n-1]
	}
	*w = append(*w, total)
}

func (w weights) total() float64 {
	if len(w) == 0 {
		return 0
	}
	return w[len(w)-1]
}

// draw returns an index. The list must not be empty.
func (w weights) draw(d *rng) int {
	at := d.unit() * w.total()
	i, found := slices.BinarySearch(w, at)
	if found {
		i++ // an exact cumulative weight belongs to the next index
	}
	return min(i, len(w)-1)
}

// share returns the probability of index i.
func (w weights) share(i int) float64 {
	before := 0.0
	if i > 0 {
		before = w[i-1]
	}
	return (w[i] - before) / w.total()
}

// ranked returns the weights of n items, most frequent first, with a long tail: Zipf's law with the
// head flattened by offset.
func ranked(n int, offset float64) weights {
	w := make(weights, 0, n)
	for rank := range n {
		w.add(1 / (float64(rank) + 1 + offset))
	}
	return w
}

// weightedBy returns weights with one entry per item, as given by weight.
func weightedBy[T any](items []T, weight func(T) float64) weights {
	w := make(weights, 0, len(items))
	for _, item := range items {
		w.add(weight(item))
	}
	return w
}
