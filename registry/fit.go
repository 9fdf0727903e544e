package registry

// Fit tells how many rows, of those found and from the first on, an answer has room for. It is asked before they are charged,
// so that nothing is charged that is not handed out. A nil Fit has room for all.
type Fit[T any] func(rows []T) int

// cut returns the rows that fit, and whether that is fewer than all.
func (fit Fit[T]) cut(rows []T) (kept []T, fewer bool) {
	if fit == nil {
		return rows, false
	}
	n := min(fit(rows), len(rows))
	return rows[:n], n < len(rows)
}
