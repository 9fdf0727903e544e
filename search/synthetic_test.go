package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// synthetic generates labels with the proportions of the real registry: skewed brands, permittees,
// classes and origins, names made of common and rare words, and dates over two decades, with most
// labels recent.
type synthetic struct {
	*rand.Rand
	newest  cola.Date
	words   []string
	brands  []string
	classes []vocabulary.Class
	origins []vocabulary.Origin
	permits []cola.Permittee
	paths   []string
	codes   int
}

const commonWords = `vineyards winery oak estate cellars brewing company red the stone reserve family château valley hill creek
river old black white blue golden ridge mountain farm house distillery spirits domaine de la casa bodegas villa rosso bianco
imperial pale ale ipa stout lager pilsner hazy double dry hopped cabernet sauvignon pinot noir chardonnay merlot syrah blend
rosé brut cuvée grand cru single barrel small batch bourbon rye whiskey whisky gin vodka rum tequila añejo blanco cider honey
peach apple cherry vanilla coffee chocolate barrel aged limited edition special selection private napa sonoma coast willamette
columbia paso robles north south east west sun moon star king queen lion eagle wolf bear fox dog cat bird rock water fire
ghost angel devil saint san santa monte castello tenuta quinta weingut maker's mark brothers sons daughters crossing bridge`

func newSynthetic(seed uint64, labels int) *synthetic {
	g := &synthetic{Rand: rand.New(rand.NewPCG(seed, 2)), newest: cola.NewDate(2026, 11, 20)}
	g.words = strings.Fields(commonWords)
	for range max(2000, labels/25) {
		g.words = append(g.words, g.invented())
	}
	for range max(1000, labels/10) {
		g.brands = append(g.brands, strings.ToUpper(g.phrase(1+g.IntN(3))))
	}
	g.classes, g.origins = vocabulary.Classes(), vocabulary.Origins()
	g.Shuffle(len(g.classes), func(i, j int) { g.classes[i], g.classes[j] = g.classes[j], g.classes[i] })
	g.Shuffle(len(g.origins), func(i, j int) { g.origins[i], g.origins[j] = g.origins[j], g.origins[i] })
	for i := range max(500, labels/30) {
		g.permits = append(g.permits, g.permittee(i))
	}
	for _, root := range vocabulary.CategoryRoots() {
		for a := range 12 {
			for b := range 10 {
				g.paths = append(g.paths, fmt.Sprintf("%s > %s %d > %s %d", root, root, a, g.words[a*7], b))
			}
		}
	}
	return g
}

func (g *synthetic) invented() string {
	const onsets, vowels = "b br c ch d dr f fr g gr h j k l m n p pr qu r s sh st t tr v w z", "a e i o u ai ea ie ou"
	on, vo := strings.Fields(onsets), strings.Fields(vowels)
	var b strings.Builder
	for range 2 + g.IntN(2) {
		b.WriteString(on[g.IntN(len(on))] + vo[g.IntN(len(vo))])
	}
	return b.String() + []string{"", "n", "r", "s", "l", "tt", "ing", "er", "son"}[g.IntN(9)]
}

// skewed returns a random number below n, strongly favoring small ones.
func (g *synthetic) skewed(n int) int {
	return min(n-1, int(math.Pow(float64(n), g.Float64())*1.2-1))
}

func (g *synthetic) phrase(words int) string {
	var p []string
	for range words {
		p = append(p, g.words[max(0, g.skewed(len(g.words)))])
	}
	return strings.Join(p, " ")
}

func (g *synthetic) permittee(i int) cola.Permittee {
	state := []string{"CA", "NY", "NJ", "OR", "WA", "TX", "FL", "IL", "VA", "KY"}[max(0, g.skewed(10))]
	forms := []string{"%[1]s-I-%[2]d", "BWN-%[1]s-%[2]d", "BR-%[1]s-%[2]d", "DSP-%[1]s-%[2]d", "%[1]s-P-%[2]d"}
	form := forms[g.IntN(5)]
	number := fmt.Sprintf(form, state, i+1)
	return cola.Permittee{
		PermitNumber: number,
		CompanyName: cola.Text(strings.ToUpper(g.phrase(2)) +
			[]string{" LLC", " INC", " COMPANY", " WINERY"}[g.IntN(4)]),
		OperatingName: cola.Text(strings.ToUpper(g.phrase(g.IntN(3)))),
		CompanyState:  cola.Text(state),
		PermitteeType: cola.Text(vocabulary.PermitteeTypeOf(number)),
		Listed:        g.IntN(3) > 0,
	}
}

// label returns label i of n, oldest first.
func (g *synthetic) label(i, n int) cola.IndexRecord {
	age := int(float64(21*365) * (1 - math.Sqrt(float64(i)/float64(n))))
	day := g.newest.AddDays(-age)
	p := &g.permits[max(0, g.skewed(len(g.permits)))]
	class := &g.classes[max(0, g.skewed(len(g.classes)))]
	c := cola.Cola{
		ColaSummary: cola.ColaSummary{
			TTBID: cola.TTBID(uint64(day.Time().Year()%100)*1e12 + uint64(day.Time().YearDay())*1e9 + 1e6 +
				uint64(i)%1_000_000 + uint64(i)/1_000_000*1e7),
			BrandName:         g.brands[max(0, g.skewed(len(g.brands)))],
			ProductType:       class.ProductType,
			ClassName:         cola.Text(class.Name),
			OriginName:        cola.Text(g.origins[max(0, g.skewed(len(g.origins)))].Name),
			PermitNumber:      p.PermitNumber,
			ApplicationStatus: []cola.Text{"approved", "approved", "approved", "expired", "surrendered"}[g.IntN(5)],
			ApprovalDate:      day,
			ImageCount:        1 + g.IntN(4),
		},
		ApplicationDate:    day.AddDays(-g.IntN(20)),
		DomesticOrImported: []cola.Text{"domestic", "imported"}[g.IntN(2)],
		AddressRecipient:   p.CompanyName,
		AddressState:       p.CompanyState,
		LLMContainerType:   cola.Text(cola.ContainerTypes()[max(0, g.skewed(10))]),
	}
	c.LatestUpdateDate, c.DateEstimate = day.AddDays(g.IntN(400)), day.AddDays(g.IntN(60)-20)
	if g.IntN(50) == 0 {
		c.ApprovalDate, c.DateEstimate, c.ApplicationStatus = 0, 0, ""
	}
	g.details(&c)
	return c.IndexRecord()
}

// details sets the optional fields of a label.
func (g *synthetic) details(c *cola.Cola) {
	if g.IntN(5) > 0 {
		c.ProductName = cola.Text(strings.ToUpper(g.phrase(1 + g.IntN(4))))
		if g.IntN(4) == 0 {
			c.ProductName += cola.Text(fmt.Sprintf(" %d", 1990+g.IntN(35)))
		}
	}
	if g.IntN(6) > 0 {
		c.LLMCategoryPath = cola.Text(g.paths[max(0, g.skewed(len(g.paths)))])
		c.ABV = cola.Some(float64(40+g.IntN(160)) / 10)
		if c.ProductType == vocabulary.DistilledSpirits {
			c.ABV = cola.Some(float64(350+g.IntN(200)) / 10)
		}
		sizes := []float64{750, 1500, 375, 1000, 50, 187, 200}
		c.Volume, c.VolumeUnit = cola.Some(sizes[max(0, g.skewed(7))]), "milliliters"
		if c.ProductType == vocabulary.MaltBeverage {
			c.Volume, c.VolumeUnit = cola.Some([]float64{12, 16, 22, 32, 64, 19.2}[max(0, g.skewed(6))]), "fluid ounces"
		}
	}
	if g.IntN(10) < 7 {
		g.codes++
		code := g.codes * 97
		switch g.IntN(40) {
		case 0:
			code = 0 // real labels have such values too
		case 1, 2, 3, 4:
			code -= 97 * g.IntN(min(g.codes, 50))
		}
		digits := fmt.Sprintf("0%010d", code)
		c.BarcodeValue, c.BarcodeType = cola.Text(digits+string(vocabulary.CheckDigit(digits))), "UPC-A"
	}
	c.HasBarcode = c.BarcodeValue != ""
}
