package cola

import (
	"math"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Ways in which two brand names can be similar.
const (
	SimilarExact       = "exact"
	SimilarSameWords   = "same_words"
	SimilarPlural      = "plural"
	SimilarSoundsAlike = "sounds_alike"
	SimilarOneEdit     = "one_edit"
	SimilarPrefix      = "prefix"
	SimilarContains    = "contains"
)

// Similarities lists every way in which two brand names can be similar, strongest first.
func Similarities() []string {
	return []string{
		SimilarExact, SimilarSameWords, SimilarPlural, SimilarSoundsAlike, SimilarOneEdit, SimilarPrefix,
		SimilarContains,
	}
}

// SimilarityName returns the display name of a similarity, or the similarity itself if it is
// unknown.
func SimilarityName(similarity string) string {
	switch similarity {
	case SimilarExact:
		return "Identical"
	case SimilarSameWords:
		return "Same words"
	case SimilarPlural:
		return "Word variants"
	case SimilarSoundsAlike:
		return "Sounds similar"
	case SimilarOneEdit:
		return "Spelled almost the same"
	case SimilarPrefix:
		return "Begins the same way"
	case SimilarContains:
		return "Shares the main words"
	}
	return similarity
}

// WholeBrand returns the brand in a quoted value of brand_name. Such a filter matches only this
// brand, in any spelling. ok is false for an unquoted value, which is part of a name.
func WholeBrand(value string) (brand string, ok bool) {
	runes := []rune(strings.TrimSpace(value))
	last := len(runes) - 1
	if last < 1 || !vocabulary.IsQuote(runes[0]) || !vocabulary.IsQuote(runes[last]) {
		return "", false
	}
	return strings.TrimSpace(string(runes[1:last])), true
}

// QuoteBrand returns the value of brand_name that stands for a whole brand. ok is false if the brand
// is too long for a parameter or has characters that no parameter accepts.
func QuoteBrand(brand string) (value string, ok bool) {
	value = `"` + brand + `"`
	return value, AcceptsText(value)
}

// MaxBrandHolders is the maximum number of permits that a BrandMatch lists.
const MaxBrandHolders = 5

// BrandMatch is a brand with a name similar to the requested one, with statistics about its labels.
// If the search filters by product type, the statistics cover only labels of those types.
type BrandMatch struct {
	BrandName     string        `json:"brand_name" doc:"Brand in its most frequent spelling." example:"RAVEN & OAK"`
	Similarity    string        `json:"similarity" enum:"exact,same_words,plural,sounds_alike,one_edit,prefix,contains" doc:"How the name is similar." example:"sounds_alike"`
	Score         int           `json:"score" minimum:"1" maximum:"100" doc:"How similar the name is, up to 100." example:"91"`
	ProductTypes  []string      `json:"product_types" nullable:"false" doc:"Product types of its labels." example:"[\"wine\"]"`
	Colas         int           `json:"colas" minimum:"1" doc:"Number of labels." example:"7"`
	Statuses      BrandStatuses `json:"statuses" doc:"Number of labels by status."`
	FirstApproval Date          `json:"first_approval_date" nullable:"true" format:"date" doc:"Earliest approval date of the labels, known or estimated." example:"2012-04-02"`
	LastApproval  Date          `json:"last_approval_date" nullable:"true" format:"date" doc:"Latest approval date of the labels, known or estimated." example:"2025-11-20"`
	TotalHolders  int           `json:"total_holders" minimum:"1" doc:"Number of permits that have labels for the brand." example:"1"`
	Holders       []BrandHolder `json:"holders" nullable:"false" maxItems:"5" doc:"The permits with the most labels for the brand; at most 5."`
	ExampleTTBID  TTBID         `json:"example_ttb_id" doc:"TTB ID of the newest label." example:"25324001000049"`
}

// BrandStatuses counts a brand's labels by status.
type BrandStatuses struct {
	Approved    int `json:"approved" doc:"Approved." example:"5"`
	Expired     int `json:"expired" doc:"Expired." example:"2"`
	Surrendered int `json:"surrendered" doc:"Surrendered." example:"0"`
	Revoked     int `json:"revoked" doc:"Revoked." example:"0"`
	Unknown     int `json:"unknown" doc:"Status unknown." example:"0"`
}

// BrandHolder is a permit with labels for a brand.
type BrandHolder struct {
	PermitNumber string `json:"permit_number" doc:"Permit number." example:"NJ-I-721"`
	CompanyName  Text   `json:"company_name" nullable:"true" doc:"Company that holds the permit." example:"NIEDERHOFF IMPORTS INC"`
	Colas        int    `json:"colas" doc:"Number of labels for the brand." example:"7"`
}

// DefaultMinScore is the default value of min_score.
const DefaultMinScore = 50

// BrandParams are the parameters of GET /brands and of the check_brand tool, as sent.
type BrandParams struct {
	Decoded
	Q           string   `json:"q" required:"true" doc:"Brand name to check." maxLength:"100" example:"Ravin and Oak"`
	ProductType []string `json:"product_type" enum:"wine,malt beverage,distilled spirits" doc:"Only labels of these product types. Default: all, because names can conflict across product types." example:"wine"`
	Strategies  []string `json:"strategies" enum:"exact,same_words,plural,sounds_alike,one_edit,prefix,contains" doc:"Only names that are similar in one of these ways. Default: all." example:"exact,sounds_alike"`
	MinScore    Opt[int] `json:"min_score" minimum:"1" maximum:"100" default:"50" doc:"Minimum score." example:"60"`
	Page        Opt[int] `json:"page" minimum:"1" default:"1" doc:"Page number." example:"1"`
	PerPage     Opt[int] `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records per page." example:"20"`
}

// BrandSearch is a normalized request for one page of similar brands.
type BrandSearch struct {
	Name         string
	ProductTypes []string
	Similarities []string // accepted kinds of similarity; empty for all
	MinScore     int
	Page         int
	PerPage      int
}

// maxBrandLength is the maximum length of a brand name to check, in characters.
const maxBrandLength = 100

// Normalize returns the search, or a validation Error that lists all problems. There is no page
// limit, but a page number must fit in 32 bits.
func (p BrandParams) Normalize() (BrandSearch, error) {
	problems := p.Decoded.problems()
	s := BrandSearch{
		Name:         problems.brand("q", p.Q),
		ProductTypes: problems.Choices("product_type", p.ProductType, vocabulary.ProductTypes()),
		Similarities: problems.Choices("strategies", p.Strategies, Similarities()),
		MinScore:     problems.integer("min_score", p.MinScore, DefaultMinScore, 1, 100),
		Page:         problems.integer("page", p.Page, 1, 1, math.MaxInt32),
		PerPage:      problems.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
	}
	if err := problems.Err(); err != nil {
		return BrandSearch{}, err
	}
	return s, nil
}

// similarTo checks the brand name of a filter, which may be empty.
func (p *Problems) similarTo(name, value string) string {
	if strings.TrimSpace(value) == "" {
		return ""
	}
	return p.brand(name, value)
}

// brand checks a brand name, which must have a letter or digit.
func (p *Problems) brand(name, value string) string {
	value = p.textUpTo(name, value, maxBrandLength)
	if !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		p.require(name, "Enter a brand name with letters or digits.")
	}
	return value
}
