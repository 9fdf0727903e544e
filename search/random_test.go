package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// draws generates random labels and queries from small sets of values, so that queries match some
// labels but not all.
type draws struct {
	*rand.Rand
	ids     int // upper bound on random IDs
	permits int // upper bound on the numbers at the end of random permit numbers
	words   []string
}

func newDraws(seed uint64, ids, words int) *draws {
	d := &draws{Rand: rand.New(rand.NewPCG(seed, 1)), ids: ids, permits: 12, words: slices.Clone(someWords)}
	for len(d.words) < words {
		w := []byte{}
		for range 2 + d.IntN(6) {
			w = append(w, "aeinorstlc0"[d.IntN(11)])
		}
		d.words = append(d.words, string(w))
	}
	return d
}

var someWords = []string{
	"OAK", "Oak's", "OAKEN", "red", "WINE", "Château", "CHATEAU", "maker’s", "Mark", "straße",
	"Øl", "12",
	"b", "old", "Stone-Brewing", "A.B.", "&", "l", "036000291452", "12345678",
	"and", "y", "s", "d", "oak s", "D OAK", "Oaks", "d'Oak", "DOAK", "dell’Oak", "L’Étés", "rock'n'roll", "don't", "twelve", "berries", "Berry", "roses",
	"geese",
}

func pick[T any](d *draws, of ...T) T { return of[d.IntN(len(of))] }

func (d *draws) chance(percent int) bool { return d.IntN(100) < percent }

// word returns a random word, preferring earlier ones.
func (d *draws) word() string {
	n := len(d.words)
	return d.words[min(d.IntN(n), d.IntN(n))]
}

func (d *draws) name(limit int) string {
	var parts []string
	for range d.IntN(limit + 1) {
		parts = append(parts, d.word())
	}
	return strings.Join(parts, pick(d, " ", "  ", " ", "-", "/"))
}

func (d *draws) id() cola.TTBID {
	n := d.IntN(d.ids)
	return cola.TTBID(uint64(5+n%23)*1e12 + uint64(n%366)*1e9 + uint64(n)*7 + 1)
}

func (d *draws) date() cola.Date {
	if d.chance(10) {
		return 0
	}
	return cola.NewDate(2024, 1, 1) + cola.Date(d.IntN(600))
}

func (d *draws) permit() string {
	return fmt.Sprintf("%s-%s-%d", pick(d, "NJ", "CA", "BW"), pick(d, "I", "CA", "W"), d.IntN(d.permits))
}

var paths = []string{
	"", "Wine", "Wine > Red Wine", "Wine > Red Wine > Zweigelt",
	"Wine > Red", "Beer > Ale", "Liquor", "beer > ale > IPA", "Beer > Märzen",
}

func (d *draws) barcode() string {
	return pick(d, "", "036000291452", "0 36000 29145 2", "0036000291452",
		"04252614", "QR-7", "12345678", fmt.Sprintf("%012d", d.IntN(50)))
}

func (d *draws) label() cola.IndexRecord {
	c := cola.Cola{
		ColaSummary: cola.ColaSummary{
			TTBID:             d.id(),
			BrandName:         pick(d, d.name(3), d.name(3), d.name(3), d.longBrand()),
			ProductName:       cola.Text(d.name(3)),
			ProductType:       pick(d, vocabulary.Wine, vocabulary.Wine, vocabulary.MaltBeverage, vocabulary.DistilledSpirits),
			ClassName:         pick[cola.Text](d, "TABLE RED WINE", "BEER", "STRAIGHT BOURBON WHISKY", ""),
			OriginName:        pick[cola.Text](d, "FRANCE", "CALIFORNIA", "Georgia", "OREGON", ""),
			PermitNumber:      d.permit(),
			ApplicationStatus: pick[cola.Text](d, "approved", "approved", "expired", "revoked", ""),
			ApprovalDate:      pick(d, 0, d.date(), d.date(), d.date()),
		},
		DateEstimate:       d.date(),
		LatestUpdateDate:   pick(d, 0, d.date(), d.date()),
		ApplicationDate:    d.date(),
		DomesticOrImported: pick[cola.Text](d, "domestic", "imported", ""),
		ClassID:            pick[cola.Text](d, "", "80", "902", "990", "none"),
		OriginID:           pick[cola.Text](d, "", "", "08", "6E", "51"),
		AddressRecipient:   cola.Text(d.name(2)),
		AddressState:       pick[cola.Text](d, "CA", "nj", ""),
		LLMContainerType:   pick[cola.Text](d, "bottle", "can", "Keg", ""),
		LLMCategoryPath:    cola.Text(pick(d, paths...)),
		BarcodeValue:       cola.Text(d.barcode()),
		BarcodeType:        "UPC-A",
	}
	if d.chance(70) {
		c.ImageCount = d.IntN(4)
		c.ABV = cola.Some(float64(d.IntN(40)) / 2)
	}
	if d.chance(70) {
		c.Volume, c.VolumeUnit = cola.Some(pick(d, 750, 375, 1, 12, 1.5)), pick[cola.Text](d,
			"milliliters", "liters", "fluid ounces", "hogsheads")
	}
	for range d.IntN(3) {
		grape := pick(d, "Zinfandel", "ZINFANDEL", "Grüner Veltliner", "Gruner Veltliner", "MUSCAT D’ALEXANDRIE", "'")
		c.GrapeVarietals = append(c.GrapeVarietals, grape)
	}
	if d.chance(40) {
		c.WineAppellation = pick[cola.Text](d, "NAPA VALLEY", "Oakville", "to kalon", "California", "Burgenland", "’")
	}
	for range d.IntN(3) {
		c.Barcodes = append(c.Barcodes, cola.Barcode{BarcodeValue: d.barcode(), BarcodeType: "EAN-13"})
	}
	c.Derive()
	return c.IndexRecord()
}

// longBrand returns a brand longer than cola.MaxBrandPosition.
func (d *draws) longBrand() string {
	return strings.Repeat(d.words[0]+" ", 30) + d.word()
}

func (d *draws) permittee() cola.Permittee {
	return cola.Permittee{
		PermitNumber:   d.permit(),
		CompanyName:    cola.Text(d.name(3)),
		OperatingName:  cola.Text(d.name(1)),
		CompanyState:   pick[cola.Text](d, "CA", "NJ", ""),
		PermitteeType:  pick[cola.Text](d, "Importer (Alcohol)", "Bonded Winery", ""),
		CompanyZipCode: pick[cola.Text](d, "07927", ""),
		Listed:         d.chance(20),
	}
}

// text returns a random query text and the phrases that it must be parsed into.
func (d *draws) text() (q string, want []text.Phrase) {
	switch d.IntN(10) {
	case 0:
		id := d.id().String()
		return id, []text.Phrase{{Words: []string{id}}}
	case 1:
		return d.permit(), nil
	}
	var parts []string
	for range 1 + d.IntN(3) {
		p := text.Phrase{}
		for range 1 + d.IntN(10)/8 {
			p.Words = append(p.Words, wordPattern.FindAllString(plain(d.word()), -1)...)
		}
		if len(p.Words) == 0 {
			continue
		}
		p.Words = sequenceOf(strings.Join(p.Words, " "))
		query := strings.Join(p.Words, " ")
		if p.Prefix = d.chance(30); p.Prefix {
			last := &p.Words[len(p.Words)-1]
			*last = (*last)[:1+d.IntN(len(*last))]
			query = strings.Join(p.Words, " ") + "*"
			p.Words = sequenceOf(strings.Join(p.Words, " ")) // single letters may have become initials
		}
		if p.Exact = strings.Contains(query, " ") || d.chance(20); p.Exact {
			query = `"` + query + `"`
		}
		want = append(want, p)
		parts = append(parts, strings.ToUpper(query))
	}
	orAttached(want)
	isConnector := func(p text.Phrase) bool { return !p.Exact && !p.Prefix && vocabulary.IsConnector(p.Words[0]) }
	if others := slices.DeleteFunc(slices.Clone(want), isConnector); len(others) > 0 {
		want = others
	}
	return strings.Join(parts, " "), want
}

// orAttached makes single words of a query also match as one, if the space between them may stand
// for an apostrophe.
func orAttached(want []text.Phrase) {
	single := func(p text.Phrase) bool { return len(p.Words) == 1 && !p.Exact && !p.Prefix }
	joined := ""
	for i, b := range want {
		switch {
		case !single(b):
			joined = ""
			continue
		case !attaches(joined, b.Words[0]):
			joined = b.Words[0]
			continue
		}
		joined += b.Words[0]
		for j, p := range want {
			if single(p) && p.Also == "" && (p.Words[0] == want[i-1].Words[0] || p.Words[0] == b.Words[0]) {
				want[j].Also = joined
			}
		}
	}
}

// cut returns a random part of a name.
func (d *draws) cut(s string) string {
	if s = strings.TrimSpace(s); len(s) < 2 || d.chance(10) {
		return s
	}
	i := d.IntN(len(s))
	j := i + 1 + d.IntN(min(5, len(s)-i))
	return strings.ToValidUTF8(strings.TrimSpace(s[i:j]), "")
}

func (d *draws) bounds(limit int) (minV, maxV cola.Opt[float64]) {
	a, b := float64(d.IntN(limit))/2, float64(d.IntN(limit))/2
	if d.chance(70) {
		minV = cola.Some(min(a, b))
	}
	if d.chance(70) {
		maxV = cola.Some(max(a, b))
	}
	return minV, maxV
}

// search returns a random query with a few filters, and the phrases that its text must be parsed
// into.
func (d *draws) search() (s cola.ColaSearch, want []text.Phrase) {
	for range 1 + d.IntN(3) {
		switch d.IntN(5) {
		case 0:
			s.Text, want = d.text()
		case 1:
			s.Text, want = d.barcode(), nil
		default:
			d.filter(&s.Query)
		}
	}
	if want == nil && s.Text != "" { // one phrase per word; hyphenated words form one phrase
		want = []text.Phrase{}
		for _, chunk := range strings.Fields(s.Text) {
			if found := sequenceOf(chunk); len(found) > 0 {
				want = append(want, text.Phrase{Words: found})
			}
		}
	}
	s.Page, s.PerPage = 1, 1+d.IntN(10)
	s.Sort = pick(d, cola.SortNewest, cola.SortOldest, cola.SortBrand)
	return s, want
}

// filter sets one random filter.
func (d *draws) filter(q *cola.Query) {
	switch d.IntN(21) {
	case 20:
		q.Class = pick(d, "table red wine", "BEER", "Table", "STRAIGHT BOURBON WHISKY")
	case 19:
		q.BrandName = `"` + d.name(2) + `"`
	case 18:
		q.PermitteeFirstSeen = d.date()
	case 17:
		q.BrandFirstSeen = d.date()
	case 16:
		q.SimilarTo = d.brandSearch().Name
	case 15:
		q.NoEstimates = true
	case 14:
		q.Appellation = pick(d, "napa valley", "Oakville", "TO KÂLON", "california", "burgenland", "Valley", "’")
	case 13:
		q.Grape = pick(d, "Zinfandel", "GRÜNER VELTLINER", "gruner  veltliner", "Grüner", "Muscat d'Alexandrie", "’")
	case 0:
		q.ProductTypes = []string{"wine", "malt beverage"}[:1+d.IntN(2)]
	case 1:
		q.Categories = []string{"Wine", "Beer"}[:1+d.IntN(2)]
	case 2:
		q.CategoryPath = pick(d, "wine > red wine", "Wine > Red",
			"Wine > Rouge", "Old", "Liquor > None", "beer > MARZEN")
	case 3:
		q.OriginNames = pick(d, []string{"FRANCE", "GEORGIA", "CANADA"}[d.IntN(3):], vocabulary.OriginNames("georgia"),
			vocabulary.OriginNames("GE"), vocabulary.OriginNames("american"),
			append(vocabulary.OriginNames("american"), "FRANCE"), []string{"CALIFORNIA"})
	case 4:
		q.Domestic = pick(d, "domestic", "imported")
	case 5:
		q.Status = pick(d, "approved", "expired", "surrendered")
	case 6, 7:
		q.BrandName = d.cut(d.name(3))
	case 8:
		q.PermitNumber = d.permit()
	case 9:
		q.PermitPart, q.AddressState = d.cut(d.permit()), pick(d, "", "", "CA", "NJ")
	case 10:
		q.Barcode = d.barcode()
	case 11:
		q.From, q.To = d.date(), d.date()
	case 12:
		q.ABVMin, q.ABVMax = d.bounds(40)
		q.Containers = pick(d, nil, []string{"bottle"}, []string{"can", "keg"})
		if d.chance(30) {
			q.VolumeMin, q.VolumeMax = d.bounds(3000)
		}
	}
}

func (d *draws) permitteeSearch() cola.PermitteeSearch {
	s := cola.PermitteeSearch{Today: cola.NewDate(2025, 6, 1), Page: 1 + d.IntN(3), PerPage: 1 + d.IntN(6)}
	if d.chance(50) {
		s.Name = d.cut(d.name(2))
	}
	if d.chance(30) {
		s.State = "CA"
	}
	if d.chance(30) {
		s.Type = pick(d, "import", "WINERY", "(", "x")
	}
	if d.chance(40) {
		s.Active = cola.Some(d.chance(50))
	}
	return s
}
