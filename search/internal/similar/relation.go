package similar

import (
	"slices"
	"strings"
)

// Relation describes how similar two words are.
type Relation struct {
	Percent uint8 // 100 if they are the same, 0 if they are not similar
	Kind    Kind  // SoundsAlike or OneEdit, if they are similar but not the same
	Begins  bool  // one word begins with the other
}

// Query is a name that other names are compared with.
type Query struct {
	Name
	allowed Set
}

// NewQuery returns a query for names that are similar to the given name in one of the allowed ways.
func NewQuery(name Name, allowed Set) *Query { return &Query{name, allowed} }

// Minimum lengths of words, in characters.
const (
	minSwapped      = 3 // two words that differ by a swap of neighbors
	minEdited       = 4 // the shorter of two words that differ by another edit
	minTwiceEdited  = 8 // the longer of two words that differ by two edits
	minJoinedEdited = 5 // the shorter of two joined words that differ by one edit
	minBegins       = 4 // both words if one is a prefix of the other
)

// MaxEdits is the largest EditLimit.
const MaxEdits = 2

// EditLimit returns the number of edits by which similar words of the given lengths may differ.
func EditLimit(a, b int) int {
	switch {
	case a == b && a == minSwapped: // only a swap
		return 1
	case min(a, b) < minEdited:
		return 0
	case max(a, b) < minTwiceEdited:
		return 1
	}
	return MaxEdits
}

// JoinedEditLimit is like EditLimit for joined words.
func JoinedEditLimit(a, b int) int {
	if min(a, b) < minJoinedEdited {
		return 0
	}
	return 1
}

// MayBegin reports whether word i of the query may be a prefix of another word, or have one as its
// prefix.
func (q *Query) MayBegin(i int) bool { return i == q.first && q.Words[i].Length >= minBegins }

// Relate compares word i of the query with a word, by their keys and as written. It does not use
// the letters of w.
func (q *Query) Relate(i int, w *Word) (r Relation) {
	have := &q.Words[i]
	if have.Text == w.Text {
		return Relation{Percent: 100}
	}
	if !q.core[i] {
		return r
	}
	r = q.compare(&have.Form, &w.Form, EditLimit(have.Length, w.Length), minSameLetters)
	if have.Written.Text != have.Text || w.Written.Text != w.Text {
		limit := EditLimit(have.Written.Length, w.Written.Length)
		if written := q.compare(&have.Written, &w.Written, limit, minSameLetters); written.Percent > r.Percent {
			r = written
		}
	}
	r.Begins = q.MayBegin(i) && w.Length >= minBegins &&
		(strings.HasPrefix(w.Text, have.Text) || strings.HasPrefix(have.Text, w.Text))
	return r
}

// editPercent returns the similarity of two words of the given lengths that differ by the given
// number of edits.
func editPercent(edits, a, b int) uint8 { return uint8(100 - 80*edits/max(a, b)) }

// compare compares two different words. limit is the number of edits by which they may differ;
// minSame is the percentage of the longer word's letters that similar-sounding words must share.
func (q *Query) compare(a, b *Form, limit, minSame int) (r Relation) {
	if q.allowed.Has(OneEdit) && limit > 0 {
		d := distance(a.Text, b.Text, limit)
		if d <= limit && (a.Length >= minEdited || lettersOf(a.Text) == lettersOf(b.Text)) && digits(a.Text) == digits(b.Text) {
			r = Relation{Percent: editPercent(d, a.Length, b.Length), Kind: OneEdit}
		}
	}
	if q.allowed.Has(SoundsAlike) && a.Sounds.Overlap(b.Sounds) {
		if percent := soundPercent(a, b, minSame); percent >= r.Percent && percent > 0 {
			r = Relation{Percent: percent, Kind: SoundsAlike}
		}
	}
	return r
}

// digits returns the digits of a word. Words with different numbers, such as 1920 and 1921, are not
// misspellings of each other.
func digits(word string) string {
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	if strings.IndexFunc(word, isDigit) < 0 {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if isDigit(r) {
			return r
		}
		return -1
	}, word)
}

// Minimum percentages of the longer word's letters that similar-sounding words must share.
const (
	minSameLetters   = 30
	minJoinedLetters = 70 // sound says little about names written as one word
)

const (
	maxSound      = 96 // highest percentage for words that sound alike
	maxShortSound = 4  // words up to this length must have the same number of vowel groups
)

// soundPercent returns how similar two words with a common code are. Codes barely distinguish
// vowels, so it returns 0 unless the words also have similar vowels.
func soundPercent(a, b *Form, minSame int) uint8 {
	x, y := vowelGroups(a.Text), vowelGroups(b.Text)
	most, shared := max(len(x), len(y)), 0
	for i := range min(len(x), len(y)) {
		if x[i]&y[i] != 0 {
			shared++
		}
	}
	if a.Sounds.brief() && (most == 0 || !slices.Equal(x, y)) { // RYE, RAY
		return 0
	}
	longer := max(a.Length, b.Length)
	same := longer - distance(a.Text, b.Text, longer) // letters
	switch {
	case 100*same < minSame*longer, len(x)-len(y) > 1, len(y)-len(x) > 1:
		return 0
	case len(x) != len(y) && longer <= maxShortSound: // OAK, AOKI
		return 0
	case most == 0:
		most, shared = 1, 1
	case shared == 0, x[0]&y[0] == 0 && longer < minTwiceEdited:
		return 0
	}
	return uint8(min(maxSound, 60+25*same/longer+15*shared/most))
}

// Bits in the sets that vowelGroups returns, one per vowel in the order of "aeiou".
const (
	vowelI = 1 << 2
	vowelU = 1 << 4
)

// vowelGroups returns the sets of vowels between the consonants of a word, without a silent e at
// the end. An initial y is a consonant; otherwise, y counts as i, and w after a vowel as u. ee
// includes i and oo includes u: TEETO sounds like TITO, and LOOPO like LUPO.
func vowelGroups(word string) (groups []uint8) {
	within := false
	for i := range len(word) {
		c := word[i]
		switch {
		case c == 'y' && i+1 < len(word) && i == 0:
			c = 0 // a consonant
		case c == 'y':
			c = 'i'
		case c == 'w' && within:
			c = 'u'
		}
		v := strings.IndexByte("aeiou", c)
		if v < 0 || c == 0 {
			within = false
			continue
		}
		if !within {
			groups = append(groups, 0)
		}
		if within {
			switch word[i-1 : i+1] {
			case "ee":
				groups[len(groups)-1] |= vowelI
			case "oo":
				groups[len(groups)-1] |= vowelU
			}
		}
		groups[len(groups)-1] |= 1 << v
		within = true
	}
	if n := len(groups); n > 1 && within && strings.HasSuffix(word, "e") && groups[n-1] == 1<<1 {
		groups = groups[:n-1]
	}
	return groups
}
