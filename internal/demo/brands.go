package demo

import (
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// brand is a permittee's brand name.
type brand struct {
	name        string
	holder      int32  // index of the permittee
	products    int32  // number of products
	origin      string // TTB code
	lang        *language
	country     *country  // nil if domestic
	from, to    cola.Date // active period
	established int16     // year on the label, or 0
}

// brandLine contains all brands of one product type, most active first, with their weights.
type brandLine struct {
	kind   vocabulary.ProductType
	brands []brand
	weights
}

// kindNumber returns a number for a product type, used to seed random streams.
func kindNumber(kind vocabulary.ProductType) uint64 {
	switch kind {
	case vocabulary.MaltBeverage:
		return 1
	case vocabulary.DistilledSpirits:
		return 2
	}
	return 0
}

// lineShare returns a product type's share of all labels over the years. labelKind varies it by
// year.
func lineShare(kind vocabulary.ProductType) float64 {
	switch kind {
	case vocabulary.MaltBeverage:
		return 0.21
	case vocabulary.DistilledSpirits:
		return 0.19
	}
	return 0.60
}

// labelKind picks the product type of a label received on the given day. The share of wine declines
// slowly and that of beer grows.
func labelKind(d *rng, day cola.Date) vocabulary.ProductType {
	years := float64(day-firstReceipt) / 365.25
	wine := 0.645 - 0.004*years
	beer := 0.175 + 0.003*years
	switch at := d.unit(); {
	case at < wine:
		return vocabulary.Wine
	case at < wine+beer:
		return vocabulary.MaltBeverage
	}
	return vocabulary.DistilledSpirits
}

// newLine generates the brands of a product type and assigns them to permittees.
func newLine(o Options, kind vocabulary.ProductType, holders []permittee) brandLine {
	colas := float64(o.Colas) * lineShare(kind)
	count := max(20, int(0.9*math.Pow(float64(o.Colas), 0.85)*lineShare(kind)))
	l := brandLine{kind: kind, brands: make([]brand, count), weights: ranked(count, 12+float64(count)/2500)}
	owners := make(weights, 0, len(holders))
	flatten := 9 + float64(len(holders))/1500
	for rank := range holders {
		owners.add(holders[rank].affinity(kind) / (float64(rank) + 1 + flatten))
	}
	countries := weightedBy(table().Countries, func(c country) float64 { return *c.of(kind) })
	for rank := range l.brands {
		d := newRNG(o.Seed, streamBrand, uint64(rank)<<2|kindNumber(kind))
		b := &l.brands[rank]
		b.holder = int32(owners.draw(&d))
		b.products = 1 + int32(colas*l.share(rank)/2.6)
		b.setOrigin(&d, &holders[b.holder], countries)
		b.name = b.lang.fill(&d, pick(&d, *b.lang.of(kind)))
		b.name = spelling(&d, b.name)
		b.setActivePeriod(&d, rank, count, o.AsOf)
	}
	return l
}

// setOrigin sets the origin of a brand's products. Importers' brands and half of the wholesalers'
// are foreign. All other brands are domestic, but the products of some come from another state or
// are blended from several.
func (b *brand) setOrigin(d *rng, p *permittee, countries weights) {
	b.origin, b.lang = p.home.Origin, english()
	switch {
	case p.trade == importer, p.trade == wholesaler && d.chance(0.5):
		b.country = &table().Countries[countries.draw(d)]
		b.origin, b.lang = b.country.Origin, table().Languages[b.country.Language]
		return
	case p.trade == winery && d.chance(0.06), d.chance(0.02):
		b.origin = originAmerican
	case d.chance(0.03):
		b.origin = pick(d, table().States).Origin
	}
	if p.trade == winery && d.chance(0.09) {
		b.lang = table().Languages[pick(d, []string{"french", "italian", "spanish", "german"})]
	}
}

// setActivePeriod sets the period in which a brand files labels. The most active brands file
// throughout the date range; most others come and go.
func (b *brand) setActivePeriod(d *rng, rank, count int, last cola.Date) {
	b.from, b.to = firstReceipt, last
	if rank > count/50 {
		span := int(last - firstReceipt)
		b.from = firstReceipt.AddDays(d.between(-span/3, span*9/10))
		b.to = b.from.AddDays(d.between(400, 400+span*2/3))
	}
	if d.chance(0.16) {
		year := max(b.from, firstReceipt).Time().Year()
		b.established = int16(year - 1 - int(math.Pow(d.unit(), 3)*170))
	}
}

// plain replaces accented letters with plain ones, as many applicants do.
var plain = strings.NewReplacer(
	"À", "A", "Á", "A", "Â", "A", "Ã", "A", "Ä", "A", "Ç", "C", "Ć", "C", "Č", "C",
	"È", "E", "É", "E", "Ê", "E", "Í", "I", "Î", "I", "Ï", "I", "Ņ", "N", "Ñ", "N",
	"Ò", "O", "Ó", "O", "Ô", "O", "Õ", "O", "Ö", "O", "Š", "S", "Ú", "U", "Û", "U", "Ü", "U", "Ý", "Y", "Ž", "Z",
)

// spelling writes a name as an applicant would: almost always in upper case, usually with accents.
func spelling(d *rng, name string) string {
	if d.chance(0.35) {
		name = plain.Replace(name)
	}
	if d.chance(0.02) {
		name = title(name)
	}
	return name
}

// title converts upper-case words to title case: NAPA VALLEY to Napa Valley, D'ALBA to D'Alba.
func title(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	first := true
	for i, r := range s {
		if first || !unicode.IsLetter(r) {
			b.WriteRune(r)
		} else {
			b.WriteRune(unicode.ToLower(r))
		}
		first = !unicode.IsLetter(r) && !strings.HasPrefix(s[i:], "'S ") && s[i:] != "'S" // MAKER'S becomes Maker's
	}
	return particles.Replace(b.String())
}

// particles stay in lower case inside a name: Côtes du Rhône.
var particles = strings.NewReplacer(" Du ", " du ", " De ", " de ", " Des ", " des ",
	" Del ", " del ", " Di ", " di ", " Of ", " of ", " And ", " and ", " La ", " la ")

func yearOf(day cola.Date) int { return day.Time().Year() }

func firstOfMonth(year int, month time.Month) cola.Date { return cola.NewDate(year, month, 1) }

// language contains the material for names in one language: words, syllables for coined names, and
// patterns. In a pattern, a placeholder in braces stands for a word:
//
//	{s} surname  {g} given name  {c} coined name  {a} adjective  {n} land or thing  {t} tree or plant  {k} creature
//	{p} place    {#} number word  {m} plural noun
type language struct {
	Surnames, Given      []string
	Coin                 [3][]string // first, middle (may be empty) and last syllables
	Adjectives, Things   []string
	Trees, Creatures     []string
	Places, Numbers      []string
	Several              []string // plural nouns
	Cuvees               []string // patterns for fanciful names
	Companies, Importers []string // patterns for company names; set only for English, the permittees' language
	perKind[[]string]             // patterns for brand names
}

// word returns a random word for a placeholder.
func (t *language) word(d *rng, placeholder byte) string {
	switch placeholder {
	case 's':
		return pick(d, t.Surnames)
	case 'g':
		return pick(d, t.Given)
	case 'c':
		return pick(d, t.Coin[0]) + pick(d, t.Coin[1]) + pick(d, t.Coin[2])
	case 'a':
		return pick(d, t.Adjectives)
	case 'n':
		return pick(d, t.Things)
	case 't':
		return pick(d, t.Trees)
	case 'k':
		return pick(d, t.Creatures)
	case 'p':
		return pick(d, t.Places)
	case 'm':
		return pick(d, t.Several)
	case '#':
		return pick(d, t.Numbers)
	}
	panic("demo: unknown placeholder: " + string(placeholder))
}

// fill replaces the placeholders in a pattern with words.
func (t *language) fill(d *rng, pattern string) string {
	b := make([]byte, 0, 48)
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '{' {
			b = append(b, pattern[i])
			continue
		}
		b = append(b, t.word(d, pattern[i+1])...)
		i += 2
	}
	return string(b)
}
