package labelart

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// content contains the text of a label, ready for layout.
type content struct {
	brand, fanciful    string
	designation        string // kind of product
	place              string // appellation or origin
	vintage            string
	age                string // age of spirits
	strength, contents string
	established        string
	description        string
	details            string // grapes, hops, grains
	producer           string
	origin             string // "PRODUCT OF" statement for imports
	credit             string
	sulfites           bool
}

// warning is the statement that federal law requires on every label (27 CFR 16.21). Its first words
// are set in bold.
const (
	warningLead = "GOVERNMENT WARNING:"
	warning     = "(1) According to the Surgeon General, women should not drink alcoholic beverages during pregnancy because of the risk of birth defects. " +
		"(2) Consumption of alcoholic beverages impairs your ability to drive a car or operate machinery, and may cause health problems."
)

func contentOf(c *cola.Cola) content {
	w := content{
		brand:       clean(c.BrandName, 90),
		fanciful:    clean(string(c.ProductName), 90),
		designation: designation(c),
		strength:    strength(c),
		contents:    contents(c),
		description: clean(string(c.LLMProductDescription), 420),
		details:     details(c),
		producer:    producer(c),
		sulfites:    c.ProductType == vocabulary.Wine,
	}
	imported := c.DomesticOrImported == vocabulary.Imported
	origin := clean(string(c.OriginName), 60)
	w.place = clean(string(c.WineAppellation), 60)
	if w.place == "" && origin != "AMERICAN" {
		w.place = origin
	}
	if imported && origin != "" {
		w.origin = "PRODUCT OF " + origin
	}
	if v := c.WineVintageYear; v.OK {
		w.vintage = strconv.Itoa(v.V)
	}
	if v := c.LLMBrandEstablishedYear; v.OK {
		w.established = "EST. " + strconv.Itoa(v.V)
	}
	if v := c.LLMLiquorAgedYears; v.OK && v.V > 0 {
		w.age = "AGED " + strconv.Itoa(v.V) + " YEARS"
		if v.V == 1 {
			w.age = "AGED 1 YEAR"
		}
	}
	if credit := clean(string(c.LLMArtworkCredit), 60); credit != "" {
		w.credit = "Label art: " + credit
	}
	if strings.EqualFold(w.designation, w.fanciful) {
		w.designation = ""
	}
	if w.brand == "" {
		w.brand = "UNNAMED"
	}
	return w
}

// designation returns the kind of product as written on a label, rather than in TTB's shorthand.
func designation(c *cola.Cola) string {
	if c.ProductType == vocabulary.Wine && len(c.GrapeVarietals) == 1 {
		return clean(strings.ToUpper(c.GrapeVarietals[0]), 60)
	}
	if leaf := string(c.LLMCategory); leaf != "" && c.ProductType != vocabulary.DistilledSpirits &&
		c.LLMCategoryPath != c.LLMCategory {
		return clean(strings.ToUpper(leaf), 60)
	}
	name := string(c.ClassName)
	for _, end := range []string{" FB", " USB", " (", "(", "/", " - ", " BIB"} {
		if i := strings.Index(name, end); i > 0 {
			name = name[:i]
		}
	}
	if i := strings.IndexFunc(name, unicode.IsDigit); i > 0 && name[i-1] == ' ' {
		name = name[:i]
	}
	return clean(strings.TrimPrefix(strings.TrimSpace(name), "OTHER "), 60)
}

// strength returns the alcohol by volume and, for spirits, the proof.
func strength(c *cola.Cola) string {
	if !c.ABV.OK {
		return ""
	}
	s := strconv.FormatFloat(c.ABV.V, 'f', -1, 64) + "% ALC./VOL."
	if c.ProductType == vocabulary.DistilledSpirits {
		s += " (" + strconv.FormatFloat(2*c.ABV.V, 'f', -1, 64) + " PROOF)"
	}
	return clean(s, 60)
}

// unitNames abbreviates the units of contents as labels do.
var unitNames = map[cola.Text]string{
	"milliliters": "ML", "liters": "L", "fluid ounces": "FL. OZ.",
	"pints": "PINT", "quarts": "QUART", "gallons": "GAL.", "beer barrels": "BBL",
}

func contents(c *cola.Cola) string {
	if !c.Volume.OK {
		return ""
	}
	unit, ok := unitNames[c.VolumeUnit]
	if !ok {
		unit = string(c.VolumeUnit)
	}
	return clean(strconv.FormatFloat(c.Volume.V, 'f', -1, 64)+" "+unit, 40)
}

// details returns the ingredients and other particulars, at most six of each kind.
func details(c *cola.Cola) string {
	var parts []string
	add := func(name string, values []string) {
		if len(values) > 0 {
			parts = append(parts, name+": "+strings.Join(values[:min(len(values), 6)], ", "))
		}
	}
	if len(c.GrapeVarietals) > 1 {
		add("Grapes", c.GrapeVarietals)
	}
	add("Hops", c.LLMBeerHopsVarieties)
	if c.LLMBeerIBU != "" {
		parts = append(parts, "IBU "+string(c.LLMBeerIBU))
	}
	add("Grains", c.LLMLiquorGrains)
	if c.LLMLiquorFinishing != "" {
		parts = append(parts, "Finish: "+string(c.LLMLiquorFinishing))
	}
	if c.LLMWineDesignation != "" {
		parts = append(parts, "Designation: "+string(c.LLMWineDesignation))
	}
	return clean(strings.Join(parts, "  ·  "), 200)
}

// producer returns the statement that names the producer or importer.
func producer(c *cola.Cola) string {
	company := clean(string(c.AddressRecipient), 90)
	if company == "" {
		return ""
	}
	role := map[vocabulary.ProductType]string{
		vocabulary.Wine:             "PRODUCED & BOTTLED BY ",
		vocabulary.MaltBeverage:     "BREWED & PACKAGED BY ",
		vocabulary.DistilledSpirits: "DISTILLED & BOTTLED BY ",
	}[c.ProductType]
	if c.DomesticOrImported == vocabulary.Imported {
		role = "IMPORTED BY "
	}
	where := strings.TrimSpace(clean(string(c.AddressState), 20) + " " + clean(string(c.AddressZipCode), 12))
	if where != "" {
		where = ", " + where
	}
	return role + company + where
}
