package registry

import (
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// class is a kind of question to the index, as far as what it costs goes. The classes are few and fixed: they are a label of
// metrics.
type class uint8

const (
	browse           class = iota // nothing but dates
	byText                        // words
	byPrefix                      // words, one of them a beginning
	byPhrase                      // words next to one another
	byID                          // a text that is an id
	byBarcode                     // a text in the shape of a barcode, a main barcode, a barcode lookup
	byBrand                       // part of a brand
	byPermit                      // a permit number or part of one
	byFilters                     // anything else that narrows
	permitteeSearch               // a list of permittees
	permitteeDetails              // one permittee with its recent labels
	facetCounts                   // what a search finds by the values of facets
	classes                       // how many there are
)

// String returns the class as it is told.
func (c class) String() string {
	return [classes]string{
		"browse", "text", "prefix", "phrase", "id", "barcode", "brand", "permit", "filters", "permittees", "permittee", "facets",
	}[c]
}

// classOf tells the class of a search for labels. Of several things asked for, that one counts which decides how the index
// works: a text before a brand, a brand before a permit, and those before the filters. The text is not parsed: its shape
// tells.
func classOf(q *cola.Query) class {
	switch {
	case q.Text != "":
		return classOfText(q.Text)
	case q.Barcode != "":
		return byBarcode
	case q.BrandName != "":
		return byBrand
	case q.PermitNumber != "" || q.PermitPart != "":
		return byPermit
	case q.IsFiltered():
		return byFilters
	}
	return browse
}

func classOfText(text string) class {
	if _, ok := cola.ParseTTBID(text); ok {
		return byID
	}
	switch {
	case vocabulary.BarcodeShaped(text):
		return byBarcode
	case strings.ContainsAny(text, `"“”„‟«»`):
		return byPhrase
	case strings.Contains(text, "*"):
		return byPrefix
	}
	return byText
}
