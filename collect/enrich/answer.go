package enrich

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Bounds on answers.
const (
	maxItems       = 12 // in a list
	maxItemRunes   = 60
	maxLevels      = 5 // in a category path
	maxNameRunes   = 120
	maxProseRunes  = 600
	firstBrandYear = 1000
	maxAge         = 100
)

// field is a label field that a model fills.
type field struct {
	name  string
	of    func(*cola.Cola) any   // *cola.Text, *cola.Opt[int] or *[]string
	only  vocabulary.ProductType // the product type that has the field; empty for all
	about string                 // description for the model
	words []string               // allowed values of a string, if limited
	limit int                    // maximum characters of a string
	// check returns the stored form of a string. Optional.
	check func(string) (string, error)
	// lowest and highest bound a number; a highest of zero means the current year.
	lowest, highest int
}

// fields lists the fields that a model fills.
var fields = []field{
	{
		name: "llm_category_path", of: func(c *cola.Cola) any { return &c.LLMCategoryPath },
		about: "category path, levels joined by ' > ', from Beer, Wine or Liquor to the most specific level that is " +
			"certain, such as Liquor > Whiskey > Bourbon; extend class_category if it is right",
		limit: maxNameRunes, check: checkCategory,
	},
	{
		name: "llm_container_type", of: func(c *cola.Cola) any { return &c.LLMContainerType },
		about: "container", words: cola.ContainerTypes(), limit: maxNameRunes,
	},
	{
		name: "llm_product_description", of: func(c *cola.Cola) any { return &c.LLMProductDescription },
		about: "what the label says about the product, in one or two plain English sentences", limit: maxProseRunes,
	},
	{
		name: "llm_brand_established_year", of: func(c *cola.Cola) any { return &c.LLMBrandEstablishedYear },
		about: "year in which the brand says it was established", lowest: firstBrandYear,
	},
	{
		name: "llm_tasting_note_flavors", of: func(c *cola.Cola) any { return &c.LLMTastingNoteFlavors },
		about: "flavors and aromas that the label mentions, lower case",
	},
	{
		name: "llm_artwork_credit", of: func(c *cola.Cola) any { return &c.LLMArtworkCredit },
		about: "artist whom the label credits", limit: maxNameRunes,
	},
	{
		name: "llm_wine_designation", of: func(c *cola.Cola) any { return &c.LLMWineDesignation },
		only: vocabulary.Wine, about: "designation of a wine, such as reserve or estate bottled", limit: maxNameRunes,
	},
	{
		name: "llm_beer_ibu", of: func(c *cola.Cola) any { return &c.LLMBeerIBU },
		only: vocabulary.MaltBeverage, about: "international bitterness units of a beer, a number or a range",
		limit: 20,
	},
	{
		name: "llm_beer_hops_varieties", of: func(c *cola.Cola) any { return &c.LLMBeerHopsVarieties },
		only: vocabulary.MaltBeverage, about: "hop varieties of a beer",
	},
	{
		name: "llm_liquor_aged_years", of: func(c *cola.Cola) any { return &c.LLMLiquorAgedYears },
		only: vocabulary.DistilledSpirits, about: "age of a spirit in whole years", highest: maxAge,
	},
	{
		name: "llm_liquor_finishing_process", of: func(c *cola.Cola) any { return &c.LLMLiquorFinishing },
		only: vocabulary.DistilledSpirits, about: "finishing process of a spirit, such as sherry cask",
		limit: maxNameRunes,
	},
	{
		name: "llm_liquor_grains", of: func(c *cola.Cola) any { return &c.LLMLiquorGrains },
		only: vocabulary.DistilledSpirits, about: "grains that a spirit is made from, lower case",
	},
}

// parse returns the fields of an answer about a label. Unknown fields, fields of another product
// type, and a category whose root differs from the root of the label's class are dropped. It fails
// if any other value has the wrong type or is out of bounds, because such an answer can't be
// trusted at all.
func parse(answer []byte, label *cola.Cola, year int) (cola.Cola, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(unfenced(answer), &values); err != nil || values == nil {
		return cola.Cola{}, errors.New("the answer is not a JSON object")
	}
	var c cola.Cola
	known := 0
	for _, f := range fields {
		raw, ok := values[f.name]
		if !ok {
			continue
		}
		known++
		if f.only != "" && f.only != label.ProductType {
			continue
		}
		if err := f.read(raw, f.of(&c), year); err != nil {
			return cola.Cola{}, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if known == 0 {
		return cola.Cola{}, errors.New("the answer has none of the fields")
	}
	class := vocabulary.CategoryRoot(vocabulary.CategoryOfClass(string(label.ClassID), string(label.ClassName)))
	if class != "" && vocabulary.CategoryRoot(string(c.LLMCategoryPath)) != class {
		c.LLMCategoryPath = ""
	}
	return c, cola.CheckCola(&c)
}

// unfenced returns an answer without the Markdown code fence that small models put around JSON.
func unfenced(answer []byte) []byte {
	text := bytes.TrimSpace(answer)
	inside, fenced := bytes.CutPrefix(text, []byte("```"))
	if inside, closed := bytes.CutSuffix(inside, []byte("```")); fenced && closed {
		return bytes.TrimPrefix(inside, []byte("json"))
	}
	return text
}

// read sets a field to a value from an answer.
func (f field) read(raw json.RawMessage, to any, year int) error {
	switch to := to.(type) {
	case *cola.Text:
		var s *string
		if json.Unmarshal(raw, &s) != nil {
			return errors.New("not a string")
		}
		if s == nil {
			return nil
		}
		text, err := cleanText(*s, f.limit)
		if err != nil || text == "" {
			return err
		}
		if f.words != nil {
			if text = strings.ToLower(text); !slices.Contains(f.words, text) {
				return fmt.Errorf("%s is not one of the allowed words", cola.Quoted(text))
			}
		}
		if f.check != nil {
			if text, err = f.check(text); err != nil {
				return err
			}
		}
		*to = cola.Text(text)
	case *cola.Opt[int]:
		var n *int
		if json.Unmarshal(raw, &n) != nil {
			return errors.New("not a whole number")
		}
		if n == nil {
			return nil
		}
		highest := f.highest
		if highest == 0 {
			highest = year
		}
		if *n < f.lowest || *n > highest {
			return fmt.Errorf("%d is not between %d and %d", *n, f.lowest, highest)
		}
		*to = cola.Some(*n)
	case *[]string:
		return readList(raw, to)
	}
	return nil
}

func readList(raw json.RawMessage, to *[]string) error {
	var items []string
	if json.Unmarshal(raw, &items) != nil {
		return errors.New("not a list of strings")
	}
	if len(items) > maxItems {
		return fmt.Errorf("%d items; the limit is %d", len(items), maxItems)
	}
	for _, item := range items {
		text, err := cleanText(item, maxItemRunes)
		if err != nil {
			return err
		}
		if text != "" && !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	return nil
}

// cleanText returns s on one line, or "" if s means that the value is unknown.
func cleanText(s string, limit int) (string, error) {
	text := strings.Join(strings.Fields(s), " ")
	switch strings.ToLower(text) {
	case "unknown", "null", "none", "n/a", "not stated":
		return "", nil
	}
	switch n := utf8.RuneCountInString(text); {
	case n > limit:
		return "", fmt.Errorf("%d characters; the limit is %d", n, limit)
	case strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	}):
		return "", errors.New("invisible or invalid characters")
	}
	return text, nil
}

// checkCategory returns the stored form of a category path.
func checkCategory(path string) (string, error) {
	path = vocabulary.NormalizeCategory(path)
	if root := vocabulary.CategoryRoot(path); !slices.Contains(vocabulary.CategoryRoots(), root) {
		return "", fmt.Errorf("%s is not under %s", cola.Quoted(path), strings.Join(vocabulary.CategoryRoots(), ", "))
	}
	if n := strings.Count(path, ">") + 1; n > maxLevels {
		return "", fmt.Errorf("%d levels; the limit is %d", n, maxLevels)
	}
	return path, nil
}

// schema returns the JSON schema of answers. All fields are required, and strings and numbers are
// nullable, because strict modes don't allow optional fields. They don't allow bounds either; parse
// checks those.
func schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range fields {
		property := map[string]any{"description": f.about}
		switch f.of(new(cola.Cola)).(type) {
		case *cola.Text:
			property["type"] = []string{"string", "null"}
			if f.words != nil {
				words := []any{nil}
				for _, w := range f.words {
					words = append(words, w)
				}
				property["enum"] = words
			}
		case *cola.Opt[int]:
			property["type"] = []string{"integer", "null"}
		case *[]string:
			property["type"], property["items"] = "array", map[string]any{"type": "string"}
		}
		properties[f.name] = property
		required = append(required, f.name)
	}
	return map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
}
