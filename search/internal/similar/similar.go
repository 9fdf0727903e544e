// Package similar scores how similar two brand names are.
//
// A Name is a list of words without connectors. Words that describe the trade, such as VINEYARDS,
// are generic; the others are the core of the name. Two names are similar if every word of one core
// has a counterpart in the other core: the same word, one that sounds similar, or one that differs
// by a letter or two. They are also similar if their cores, each written as one word, are similar.
//
// The score depends only on the two names, not on the other brands in the registry, so it is the
// same in every process and at any time. docs/SEARCH.md has the formula and examples.
//
// Index snapshots contain words and names as analyzed here. If the analysis changes, snapshotMagic
// in package search must change too.
package similar

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Kind is a way in which two names are similar.
type Kind uint8

// The kinds, strongest first.
const (
	Exact       Kind = iota // the same name
	SameWords               // the same words in a different order, or joined or split
	Plural                  // the same words in other forms: plurals, possessives, numbers
	SoundsAlike             // names with words that sound alike
	OneEdit                 // names with a word that differs by a letter, or by two if it is long
	Prefix                  // one begins with the other
	Contains                // one contains the other
	NumKinds
)

// Set is a set of kinds.
type Set uint16

// All contains every kind.
const All Set = 1<<NumKinds - 1

// With returns the set with a kind added.
func (s Set) With(k Kind) Set { return s | 1<<k }

// Has reports whether the set contains a kind.
func (s Set) Has(k Kind) bool { return s>>k&1 != 0 }

// Word is a word of a name in two forms.
type Word struct {
	Form         // its key, which other forms of the word share; see vocabulary.WordKey
	Written Form // as it is written
}

// NewWord returns the word with the given spelling.
func NewWord(written string) Word {
	w := Word{Form: NewForm(vocabulary.WordKey(written))}
	if w.Written = w.Form; written != w.Text {
		w.Written = NewForm(written)
	}
	return w
}

// Form is a form of a word, with data that makes comparisons fast.
type Form struct {
	Text    string
	Length  int // in characters, at most MaxLength
	Letters Letters
	Sounds  Sounds
}

// MaxLength is the largest Length of a form.
const MaxLength = 255

// NewForm returns the form with the given text.
func NewForm(text string) Form {
	f := Form{Text: text, Length: min(utf8.RuneCountInString(text), MaxLength), Letters: lettersOf(text)}
	f.Sounds = newSounds(doubleMetaphone(text))
	return f
}

// Letters is a bitmap of the characters of a word, modulo 32. The lower half contains every
// character, the upper half the repeated ones.
type Letters uint64

// lettersOf returns the letters of a string.
func lettersOf(text string) (l Letters) {
	for _, r := range text {
		l = l.with(r)
	}
	return l
}

// with adds a character.
func (l Letters) with(r rune) Letters {
	bit := Letters(1) << (r & 31)
	if l&bit != 0 {
		bit <<= 32
	}
	return l | bit
}

// MayDiffer reports whether the given number of edits may turn one word into the other. An edit
// changes at most two bits.
func (l Letters) MayDiffer(o Letters, edits int) bool {
	return bits.OnesCount64(uint64(l^o)) <= 2*edits
}

// Sounds are the hashes of a pronunciation's primary and alternate codes. Both are zero for a word
// without a code or with only vowels.
type Sounds [2]uint32

// minCode is the minimum length of a code that identifies a pronunciation. A shorter code is a
// single sound. It is used only for words without a longer code, and then the vowels must be the
// same.
const minCode = 2

// newSounds returns the sounds of a word with the given codes.
func newSounds(primary, alternate string) Sounds {
	if len(primary) < minCode && len(alternate) < minCode {
		return Sounds{hashConsonant(primary), hashConsonant(alternate)}
	}
	return Sounds{hashCode(primary), hashCode(alternate)}
}

// brief reports whether the codes are single consonants.
func (s Sounds) brief() bool { return max(s[0], s[1]) <= math.MaxUint8 }

// hashConsonant returns the hash of a code with one consonant.
func hashConsonant(code string) uint32 {
	if code == "" || code == "A" { // A is any vowel at the beginning
		return 0
	}
	return uint32(code[0])
}

// hashCode returns the hash of a code that identifies a pronunciation (FNV-1a).
func hashCode(code string) uint32 {
	if len(code) < minCode {
		return 0
	}
	h := uint32(2166136261)
	for i := range len(code) {
		h = (h ^ uint32(code[i])) * 16777619
	}
	return max(h, math.MaxUint8+1)
}

// Overlap reports whether two words have a pronunciation in common.
func (s Sounds) Overlap(o Sounds) bool {
	return s[0] != 0 && (s[0] == o[0] || s[0] == o[1]) || s[1] != 0 && (s[1] == o[0] || s[1] == o[1])
}

// Name is a brand name, prepared for comparison.
type Name struct {
	Key        string // normalized by text.BrandKey
	Reading    bool   // whether Key is an alternative reading of the name, which is never an exact match
	Words      []Word // without connectors
	Joined     Form   // the core written as one word, normalized by vocabulary.WordKey
	core       []bool // whether each word is in the core
	first      int    // the first word of the core, or -1
	size       int    // words in the core
	weight     int    // weight of all words, in quarters of a letter
	coreWeight int    // weight of the core
	plain      string // the words as written
}

// NewName returns the name with the given key, as normalized by text.BrandKey.
func NewName(key string) Name {
	words := nameWords(key)
	n := Name{Key: key, core: make([]bool, len(words)), first: -1, plain: strings.Join(words, " ")}
	for i, w := range words {
		n.Words = append(n.Words, NewWord(w))
		if n.core[i] = !IsGeneric(n.Words[i].Text); n.core[i] {
			n.size++
		}
	}
	if n.size == 0 { // all are generic
		n.size = len(words)
		for i := range n.core {
			n.core[i] = true
		}
	}
	joined := ""
	for i, w := range words {
		n.weight += weight(n.Words[i].Length, n.core[i])
		if !n.core[i] {
			continue
		}
		joined += w
		n.coreWeight += 4 * n.Words[i].Length
		if n.first < 0 {
			n.first = i
		}
	}
	n.Joined = NewForm(vocabulary.WordKey(joined))
	return n
}

// full returns all words, written as one.
func (n *Name) full() string { return strings.ReplaceAll(n.plain, " ", "") }

// Full returns all words of the name, written as one and normalized like Word.Text.
func (n *Name) Full() string { return vocabulary.WordKey(n.full()) }

// GenericSplits splits a one-word name that begins or ends with a generic word, such as
// MERCERWINERY, and calls yield with the rest (MERCER), normalized like Word.Text.
func (n *Name) GenericSplits(yield func(rest string)) {
	if len(n.Words) != 1 {
		return
	}
	for i := range n.plain {
		before, after := vocabulary.WordKey(n.plain[:i]), vocabulary.WordKey(n.plain[i:])
		if IsGeneric(before) {
			yield(after)
		}
		if IsGeneric(after) {
			yield(before)
		}
	}
}

// SameWords reports whether two names have the same words, compared by Word.Text.
func (n *Name) SameWords(o *Name) bool {
	return slices.EqualFunc(n.Words, o.Words, func(a, b Word) bool { return a.Text == b.Text })
}

// Size returns the number of words in the core.
func (n *Name) Size() int { return n.size }

// InCore reports whether word i is in the core.
func (n *Name) InCore(i int) bool { return n.core[i] }

// MaxWords is the maximum number of words of a name that are compared.
const MaxWords = 32

// nameWords returns the words of a key, at most MaxWords. It drops connectors unless there are only
// connectors, and joins initials into one word.
func nameWords(key string) []string {
	all := strings.Fields(key)
	if len(all) > 1 && !slices.ContainsFunc(all, func(w string) bool { return len(w) > 1 || w[0] < 'a' }) {
		return []string{strings.Join(all, "")}
	}
	kept := make([]string, 0, len(all))
	for _, w := range all {
		if !vocabulary.IsConnector(w) {
			kept = append(kept, w)
		}
	}
	if len(kept) == 0 {
		kept = all
	}
	return kept[:min(len(kept), MaxWords)]
}

// weight returns the weight of a word, in quarters of a letter. A letter outside the core counts as
// a quarter.
func weight(length int, core bool) int {
	if core {
		return 4 * length
	}
	return length
}
