package column

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEachContaining compares EachContaining with strings.Contains. The alphabet is small so that
// matches across the end of a string are likely.
func TestEachContaining(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.StringMatching(`[ab ]{0,6}`)).Draw(t, "strings")
		part := rapid.StringMatching(`[ab ]{1,3}`).Draw(t, "part")
		b := NewDictBuilder()
		var want, got []uint32
		for i, s := range all {
			b.Add(s)
			if strings.Contains(s, part) {
				want = append(want, uint32(i))
			}
		}
		d := b.Dict()
		d.EachContaining(part, func(i uint32) { got = append(got, i) })
		if !slices.Equal(got, want) {
			t.Errorf("%q in %q: %v, want %v", part, all, got, want)
		}
	})
}
