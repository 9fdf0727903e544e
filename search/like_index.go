package search

import (
	"cmp"
	"slices"

	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/similar"
)

// likeIndex finds the words that may sound like a given word or differ from it by a few letters.
type likeIndex struct {
	start   []uint32 // words of n characters are items[start[n]:start[n+1]]
	items   []uint32
	letters []similar.Letters // of each item

	sounds  []uint32 // hashes of pronunciations, ascending
	sounded []uint32 // the word for each entry in sounds
}

// candidates calls yield with the words that may be similar to w, some of them more than once.
// limit returns the number of edits by which words of two lengths may differ.
func (x *likeIndex) candidates(w *similar.Form, limit func(a, b int) int, yield func(word uint32)) {
	for i, hash := range w.Sounds {
		if hash == 0 || i > 0 && hash == w.Sounds[0] {
			continue
		}
		from, _ := slices.BinarySearch(x.sounds, hash)
		for ; from < len(x.sounds) && x.sounds[from] == hash; from++ {
			yield(x.sounded[from])
		}
	}
	shortest, longest := max(w.Length-similar.MaxEdits, 0), min(w.Length+similar.MaxEdits, len(x.start)-2)
	for length := shortest; length <= longest; length++ {
		edits := limit(w.Length, length)
		if length < w.Length-edits || length > w.Length+edits {
			continue
		}
		items := x.items[x.start[length]:x.start[length+1]]
		for i, letters := range x.letters[x.start[length]:x.start[length+1]] {
			if letters.MayDiffer(w.Letters, edits) {
				yield(items[i])
			}
		}
	}
}

func (x *likeIndex) serialize(c codec.Codec) {
	codec.Slice(c, &x.start)
	codec.Slice(c, &x.items)
	codec.Slice(c, &x.letters)
	codec.Slice(c, &x.sounds)
	codec.Slice(c, &x.sounded)
}

// likeBuilder collects the words of a likeIndex.
type likeBuilder struct {
	words   []uint32
	lengths []uint8
	letters []similar.Letters
	sounds  []soundedWord
}

type soundedWord struct{ hash, word uint32 }

// add adds the word with the given number.
func (b *likeBuilder) add(number uint32, w *similar.Form) {
	b.words, b.lengths = append(b.words, number), append(b.lengths, uint8(w.Length))
	b.letters = append(b.letters, w.Letters)
	for i, hash := range w.Sounds {
		if hash != 0 && (i == 0 || hash != w.Sounds[0]) {
			b.sounds = append(b.sounds, soundedWord{hash, number})
		}
	}
}

// index returns the index of the words.
func (b *likeBuilder) index() (x likeIndex) {
	x.start = make([]uint32, similar.MaxLength+2)
	for _, length := range b.lengths {
		x.start[length+1]++
	}
	for i := range similar.MaxLength + 1 {
		x.start[i+1] += x.start[i]
	}
	next := slices.Clone(x.start)
	x.items, x.letters = make([]uint32, len(b.lengths)), make([]similar.Letters, len(b.lengths))
	for i, length := range b.lengths {
		at := next[length]
		x.items[at], x.letters[at] = b.words[i], b.letters[i]
		next[length]++
	}
	slices.SortFunc(b.sounds, func(a, b soundedWord) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.word, b.word))
	})
	x.sounds, x.sounded = make([]uint32, len(b.sounds)), make([]uint32, len(b.sounds))
	for i, s := range b.sounds {
		x.sounds[i], x.sounded[i] = s.hash, s.word
	}
	return x
}
