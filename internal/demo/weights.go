package demo

import "slices"

// weights draws the indexes of a list, each as often as its weight says.
type weights []float64 // running totals

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

// draw returns an index; the list must not be empty.
func (w weights) draw(d *dice) int {
	at := d.unit() * w.total()
	i, found := slices.BinarySearch(w, at)
	if found {
		i++ // a running total belongs to the next index
	}
	return min(i, len(w)-1)
}

// share returns the part of all draws that fall on index i.
func (w weights) share(i int) float64 {
	before := 0.0
	if i > 0 {
		before = w[i-1]
	}
	return (w[i] - before) / w.total()
}

// ranked returns the weights of n things of which the first is the busiest and the rest form a long tail (Zipf's law, its
// head flattened by offset).
func ranked(n int, offset float64) weights {
	w := make(weights, 0, n)
	for rank := range n {
		w.add(1 / (float64(rank) + 1 + offset))
	}
	return w
}

// weighed draws among items that carry their own weight.
func weighed[T any](items []T, weight func(T) float64) weights {
	w := make(weights, 0, len(items))
	for _, item := range items {
		w.add(weight(item))
	}
	return w
}
