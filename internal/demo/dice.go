package demo

import "math/bits"

// dice is a source of chance (splitmix64). Its sequence is part of what this package promises, so it is written out here
// rather than taken from a library that may change.
type dice uint64

// The streams of chance. What is drawn from one cannot shift what is drawn from another.
const (
	streamPermittee uint64 = iota + 1
	streamBrand
	streamProduct
	streamLabel
	streamDay
	streamTimes
	streamReports
)

// throw returns the dice for one thing in one stream.
func throw(seed, stream, thing uint64) dice {
	return dice(mix(seed ^ mix(stream^mix(thing+0x9e3779b97f4a7c15))))
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	return mix(uint64(*d))
}

// below returns a number from 0 to n-1; n must be positive.
func (d *dice) below(n int) int {
	hi, _ := bits.Mul64(d.next(), uint64(n))
	return int(hi)
}

// between returns a number from lo to hi, both included.
func (d *dice) between(lo, hi int) int { return lo + d.below(hi-lo+1) }

// unit returns a number in [0, 1).
func (d *dice) unit() float64 { return float64(d.next()>>11) / (1 << 53) }

// chance is true in a share p of throws.
func (d *dice) chance(p float64) bool { return d.unit() < p }

// pick returns any of the choices; there must be one.
func pick[T any](d *dice, choices []T) T { return choices[d.below(len(choices))] }

// some returns between lo and hi distinct choices, in the order they have in the list, or all of them when there are
// fewer. There may be at most 64.
func some(d *dice, choices []string, lo, hi int) []string {
	n := min(d.between(lo, hi), len(choices))
	if n == 0 {
		return nil
	}
	var taken uint64
	for bits.OnesCount64(taken) < n {
		taken |= 1 << d.below(len(choices))
	}
	chosen := make([]string, 0, n)
	for i, c := range choices {
		if taken&(1<<i) != 0 {
			chosen = append(chosen, c)
		}
	}
	return chosen
}
