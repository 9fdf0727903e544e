package collect

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// contains reports whether a range contains a code, compared as text and as numbers.
func contains(r store.ClassRange, code string) (text, number bool) {
	n, _ := splitCode(code)
	from, _ := splitCode(r.From)
	to, _ := splitCode(r.To)
	return r.From <= code && code <= r.To, from <= n && n <= to
}

// TestSplitClasses checks that every code is in exactly one part, however often a range is split
// and whether codes are compared as text or as numbers. Parts that were split by letter are exempt
// from the numeric comparison.
func TestSplitClasses(t *testing.T) {
	var codes []string
	for _, class := range vocabulary.Classes() {
		codes = append(codes, class.ID)
	}
	for _, n := range []int{80, 85, 89, 100, 101, 450, 799, 900, 999} {
		codes = append(codes, fmt.Sprint(n), fmt.Sprintf("%dA", n), fmt.Sprintf("%dM", n), fmt.Sprintf("%dZ", n))
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := []store.ClassRange{{}}
		for range rapid.IntRange(1, 40).Draw(t, "splits") {
			i := rapid.IntRange(0, len(parts)-1).Draw(t, "part")
			more := splitClasses(parts[i])
			if more == nil {
				continue
			}
			if err := (store.FetchWindow{Class: parts[i]}).CheckParts(more); err != nil {
				t.Fatalf("split of %v: %v", parts[i], err)
			}
			parts = append(append(parts[:i:i], more...), parts[i+1:]...)
		}
		for _, code := range codes {
			texts, numbers, shared := 0, 0, false
			for _, p := range parts {
				text, number := contains(p, code)
				from, _ := splitCode(p.From)
				to, _ := splitCode(p.To)
				shared = shared || number && from == to // codes that differ only in the letter
				texts += count(text)
				numbers += count(number)
			}
			if texts != 1 || numbers != 1 && !shared {
				t.Fatalf("code %s is in %d parts by text and in %d by number; parts: %v", code, texts, numbers, parts)
			}
		}
	})
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSplitEnds checks that repeated splits end at single codes.
func TestSplitEnds(t *testing.T) {
	for _, code := range []string{"80", "84C", "101", "999"} {
		part, splits := store.ClassRange{}, 0
		for ; splits < 50; splits++ {
			parts := splitClasses(part)
			if parts == nil {
				break
			}
			for _, p := range parts {
				if in, _ := contains(p, code); in {
					part = p
				}
			}
		}
		if part != (store.ClassRange{From: code, To: code}) {
			t.Errorf("splits for %s end at %v", code, part)
		}
		if splits > 16 {
			t.Errorf("%d splits for %s", splits, code)
		}
	}
}
