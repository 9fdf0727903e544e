package demo

import (
	"math"
	"slices"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// describeContents sets the fields that describe the contents. Wine applicants state grapes,
// appellation and vintage themselves. The other fields are read from the label, and are missing if
// the label is illegible.
func describeContents(d *rng, c *cola.Cola, p *product) {
	if p.kind == vocabulary.Wine {
		c.GrapeVarietals = slices.Clone(p.varietals)
		if p.region != nil {
			c.WineAppellation = cola.Text(p.region.Name)
		}
		if v := vintage(d, p, yearOf(c.ApplicationDate)); v != 0 {
			c.WineVintageYear = cola.Some(v)
		}
	}
	if d.chance(0.91) {
		strength := p.abv
		if p.kind == vocabulary.Wine && d.chance(0.5) {
			strength = min(max(p.abv+float64(d.between(-3, 3))/10, p.style.ABV[0]), p.style.ABV[1]) // varies by vintage
		}
		c.ABV = cola.Some(math.Round(strength*10) / 10)
	}
	if d.chance(0.93) {
		c.Volume, c.VolumeUnit = cola.Some(p.contents.Volume), p.contents.Unit
	}
}

// vintage returns the vintage of a wine whose application was received in the given year, or 0 for
// a nonvintage wine.
func vintage(d *rng, p *product, year int) int {
	noVintage := 0.12
	switch p.style.Grapes {
	case noGrapes:
		return 0
	case sparkling, fortified:
		noVintage = 0.7
	}
	if d.chance(noVintage) {
		return 0
	}
	if p.style.Grapes == reds {
		return year - d.between(1, 4)
	}
	return year - d.between(1, 2)
}

// enrich sets the fields derived from the label images.
func (m *labelMaker) enrich(d *rng, c *cola.Cola, p *product) {
	c.LLMContainerType = p.contents.Kind
	c.LLMCategoryPath = cola.Text(p.path)
	if d.chance(0.72) {
		c.LLMTastingNoteFlavors = some(d, p.style.Flavors, 2, 4)
	}
	if d.chance(0.8) {
		c.LLMProductDescription = describe(d, c, p)
	}
	if p.brand.established != 0 && d.chance(0.8) {
		c.LLMBrandEstablishedYear = cola.Some(int(p.brand.established))
	}
	if d.chance(0.02) {
		c.LLMArtworkCredit = cola.Text(title(pick(d, p.brand.lang.Given) + " " + pick(d, p.brand.lang.Surnames)))
	}
	switch p.kind {
	case vocabulary.Wine:
		if p.style.Grapes != noGrapes && d.chance(0.2) {
			c.LLMWineDesignation = cola.Text(pick(d, table().Lists["designations"]))
		}
	case vocabulary.MaltBeverage:
		enrichBeer(d, c, p)
	default:
		enrichSpirits(d, c, p)
	}
	if yearOf(c.ApplicationDate) >= 2014 && d.chance(0.09) {
		c.QRCodeURL = cola.Text("https://labels.example.com/" + c.TTBID.String())
	}
}

func enrichBeer(d *rng, c *cola.Cola, p *product) {
	if p.style.IBU[1] == 0 {
		return
	}
	if d.chance(0.3) {
		ibu := d.between(p.style.IBU[0], p.style.IBU[1])
		c.LLMBeerIBU = cola.Text(strconv.Itoa(ibu))
		if d.chance(0.08) {
			c.LLMBeerIBU += cola.Text("-" + strconv.Itoa(ibu+d.between(3, 10)))
		}
	}
	if d.chance(0.34) {
		c.LLMBeerHopsVarieties = some(d, table().Lists["hops"], 1, 4)
	}
}

func enrichSpirits(d *rng, c *cola.Cola, p *product) {
	if p.style.Aged[1] > 0 && d.chance(0.5) {
		if years := d.between(p.style.Aged[0], p.style.Aged[1]); years > 0 {
			c.LLMLiquorAgedYears = cola.Some(years)
		}
	}
	if p.style.Aged[1] > 0 && d.chance(0.14) {
		c.LLMLiquorFinishing = cola.Text(pick(d, table().Lists["finishes"]))
	}
	if len(p.style.Grains) > 0 && d.chance(0.45) {
		c.LLMLiquorGrains = some(d, p.style.Grains, 1, 3)
	}
}

var characters = map[vocabulary.ProductType][]string{
	vocabulary.Wine: {
		"A bright", "A dry", "A medium-bodied", "A full-bodied",
		"A fresh", "A supple", "An elegant", "A structured", "A layered",
	},
	vocabulary.MaltBeverage: {
		"A crisp", "A balanced", "A juicy",
		"A hop-forward", "A malty", "A refreshing", "A bold", "An easy-drinking",
	},
	vocabulary.DistilledSpirits: {
		"A smooth", "A rich", "A warming",
		"A bold", "A delicate", "A small-batch", "A complex", "An aromatic",
	},
}

// describe returns one sentence about the product.
func describe(d *rng, c *cola.Cola, p *product) cola.Text {
	b := make([]byte, 0, 160)
	b = append(b, pick(d, characters[p.kind])...)
	b = append(b, ' ')
	if len(p.varietals) == 1 {
		b = append(b, p.varietals[0]...)
	} else {
		b = append(b, vocabulary.CategoryLeaf(p.style.Path)...)
	}
	b = append(b, " from "...)
	if p.region != nil {
		b = append(b, title(p.region.Name)...)
	} else {
		b = append(b, placeName(c.OriginName)...)
	}
	if n := len(c.LLMTastingNoteFlavors); n > 0 {
		b = append(b, ", with notes of "...)
		for i, flavor := range c.LLMTastingNoteFlavors {
			if i > 0 && i == n-1 {
				b = append(b, " and "...)
			} else if i > 0 {
				b = append(b, ", "...)
			}
			b = append(b, flavor...)
		}
	}
	return cola.Text(append(b, '.'))
}

// placeName returns an origin as written in a sentence.
func placeName(origin cola.Text) string {
	if origin == "AMERICAN" {
		return "the United States"
	}
	return title(string(origin))
}
