package main

import (
	"slices"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
)

// sampleSize is how many labels the words of the questions are taken from, at least, when there are as many.
const sampleSize = 20_000

// vocabulary is what questions are made of: labels that are there. Words drawn from them come as often as labels have them.
type vocabulary struct {
	labels []cola.IndexRecord
	coded  []int // of them, those with a barcode that is a number
	every  uint64
}

func newVocabulary(labels int) *vocabulary {
	return &vocabulary{every: uint64(max(1, labels/sampleSize))}
}

// offer takes a label into the sample, or not. What is taken depends on its id alone, not on the order of the offers.
func (v *vocabulary) offer(r *cola.IndexRecord) {
	if uint64(r.Summary.TTBID)*0x9e3779b97f4a7c15>>20%v.every == 0 {
		kept := *r
		kept.Barcodes = nil // the caller's
		v.labels = append(v.labels, kept)
	}
}

// settle puts the sample in order, so that equal labels make equal questions.
func (v *vocabulary) settle() {
	slices.SortFunc(v.labels, func(a, b cola.IndexRecord) int { return int(int64(a.Summary.TTBID) - int64(b.Summary.TTBID)) })
	for i := range v.labels {
		if cola.BarcodeShaped(v.labels[i].MainBarcode) {
			v.coded = append(v.coded, i)
		}
	}
}

// wordsOf returns the words of a text that are letters only, at least three of them. A shorter one is not what people search
// for, and digits may be an id or a barcode, which are questions of their own.
func wordsOf(text string) []string {
	all := strings.FieldsFunc(search.Fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(all, func(w string) bool {
		return len(w) < 3 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' })
	})
}

// popular are words that many brands have, as parts of a brand and as what a long walk is through.
var popular = [...]string{"oak", "creek", "river", "valley", "golden", "black", "mountain", "estate", "stone", "ridge", "fox", "bear", "sun", "moon", "blue"}
