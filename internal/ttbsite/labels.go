package ttbsite

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Label is a label on the site.
type Label struct {
	ID                            cola.TTBID
	Completed, Applied, Approved  cola.Date
	Status                        string // such as APPROVED
	Permit, Serial                string
	Brand, Fanciful               string
	Class                         vocabulary.Class
	Origin                        vocabulary.Origin
	Company, Street, City, State  string
	ZIP                           string
	Varietal, Appellation         string
	Vintage, NetContents, Alcohol string // only on older versions of the form
	Old                           bool   // uses an older version of the form
	Paper                         bool   // filed on paper: the site has no form
	ForSaleIn                     string // state in which a product with an exempt label may be sold, or empty
	Images                        []LabelImage

	real *realPages // nil for a generated label
}

// Real reports whether a label has real pages and images.
func (l *Label) Real() bool { return l.real != nil }

// LabelImage is an image of a label.
type LabelImage struct {
	FileName      string
	Position      string // as TTB names it
	Width, Height int    // size of a generated image, in both pixels and hundredths of an inch
	Barcode       string // EAN-13 that scans from the image, or empty
	Missing       bool   // listed on the form but absent from the site
	Failing       bool   // requests for it fail with status 500

	file string // path of a real image
}

// CompletedText returns the completion date in the site's format.
func (l *Label) CompletedText() string { return day(l.Completed) }

// AppliedText returns the application date in the site's format.
func (l *Label) AppliedText() string { return day(l.Applied) }

// ApprovedText returns the approval date in the site's format.
func (l *Label) ApprovedText() string { return day(l.Approved) }

func day(d cola.Date) string { return d.Time().Format("01/02/2006") }

// Imported reports whether the product is imported.
func (l *Label) Imported() bool { return !l.Origin.Domestic }

// TypeOfProduct returns the type of product as the form names it.
func (l *Label) TypeOfProduct() string {
	switch l.Class.ProductType {
	case vocabulary.Wine:
		return "Wine"
	case vocabulary.MaltBeverage:
		return "Malt Beverage"
	}
	return "Distilled Spirits"
}

// ApplicationType returns the type of application as the detail page names it.
func (l *Label) ApplicationType() string {
	if l.ForSaleIn != "" {
		return "EXEMPTION FROM LABEL APPROVAL"
	}
	return "LABEL APPROVAL"
}

// Inches formats hundredths of an inch as inches.
func (LabelImage) Inches(hundredths int) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", float64(hundredths)/100), "0"), ".")
}

// page returns a label's form or detail page.
func (l *Label) page(kind Kind) response {
	if l.real != nil {
		file := l.real.detail
		if kind == Form {
			file = l.real.form
		}
		body, err := os.ReadFile(file)
		if err != nil {
			return htmlPage(http.StatusInternalServerError, err.Error())
		}
		return htmlPage(http.StatusOK, string(body))
	}
	if kind == Form {
		return render("form", l)
	}
	return render("detail", l)
}

// Values of generated labels.
var (
	brands    = strings.Fields("CEDAR HARBOR NORTHWIND OAKEN BLUEBIRD GRANITE WILLOW COPPER LANTERN SADDLE JUNIPER FALCON RIVER")
	nouns     = strings.Fields("RIDGE CREEK CELLARS BARREL HOLLOW ESTATE WORKS BRIDGE MILL FIELD HOUSE POINT")
	fancies   = strings.Fields("RESERVE HARVEST SUNSET MIDNIGHT ORCHARD SINGLE SPECIAL LIMITED FIRST OLD WILD GOLDEN")
	varietals = []string{"MERLOT", "PINOT NOIR", "CHARDONNAY", "60% Malbec, 40% Merlot", "ALBARIÑO"}
	// common contains the class/type codes of most labels.
	common   = strings.Fields("80 80 80 81 81 88 88 906 906 902 901 905 101 141 140 301 649 699 84 80A 82 339 977")
	statuses = []string{"APPROVED", "APPROVED", "APPROVED", "APPROVED", "SURRENDERED", "EXPIRED", "REVOKED"}
)

// generate returns labels that were completed on the given days.
func generate(o Options, days []cola.Date) (labels []*Label) {
	random := rand.New(rand.NewPCG(o.Seed, 0))
	classes, origins := vocabulary.Classes(), vocabulary.Origins()
	received := map[cola.Date]int{}
	for d, n := range perDay(random, o, len(days)) {
		for range n {
			l := &Label{Completed: days[d], Class: pickClass(random, classes), Origin: pick(random, origins)}
			if random.IntN(2) == 0 {
				l.Origin = pick(random, origins[:60]) // most of these are domestic
			}
			l.Applied = l.Completed.AddDays(-3 - random.IntN(40))
			received[l.Applied]++
			t := l.Applied.Time()
			l.ID = cola.TTBID(uint64(t.Year()%100*1000+t.YearDay())*1e9 + 1e6 + uint64(received[l.Applied]))
			l.describe(random, len(labels))
			labels = append(labels, l)
		}
	}
	for i := range min(o.Ambiguous, len(labels)) {
		l := labels[i*len(labels)/o.Ambiguous]
		l.Brand, l.Fanciful = "1,000 "+l.Brand, "FIRST"
	}
	return labels
}

// perDay returns the number of labels per day. The busiest day gets o.Busy labels; the remaining
// labels are spread randomly over the other days.
func perDay(random *rand.Rand, o Options, days int) []int {
	counts := make([]int, days)
	busiest, rest := days/2, o.Labels-o.Busy
	if o.Busy == 0 || days == 1 {
		busiest, rest = -1, o.Labels
	} else {
		counts[busiest] = o.Busy
	}
	for range rest {
		d := random.IntN(days)
		if d == busiest {
			d = (d + 1) % days
		}
		counts[d]++
	}
	return counts
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

func pickClass(random *rand.Rand, classes []vocabulary.Class) vocabulary.Class {
	for {
		c := pick(random, classes)
		if random.IntN(10) < 7 {
			code := pick(random, common)
			c = classes[slices.IndexFunc(classes, func(c vocabulary.Class) bool { return c.ID == code })]
		}
		if c.ProductType != "" {
			return c
		}
	}
}

// describe fills in the other fields of the nth label.
func (l *Label) describe(random *rand.Rand, n int) {
	l.Brand = pick(random, brands) + " " + pick(random, nouns)
	if random.IntN(5) < 3 {
		l.Fanciful = pick(random, fancies) + " " + pick(random, nouns)
	}
	switch n % 60 {
	case 7:
		l.Brand += " & SONS"
	case 17: // the import can still parse a row with these commas
		l.Brand, l.Fanciful = l.Brand+", FATHER & CO", ""
	case 27:
		l.Fanciful = "RED, VERY RED"
	case 37: // a line break in the row
		l.Brand = strings.Replace(l.Brand, " ", "\n", 1)
	case 47:
		l.Brand = `THE "` + l.Brand + `" CO`
	case 57:
		l.Brand = "CHÂTEAU " + l.Brand
	}
	state := "CA"
	l.Permit = fmt.Sprintf("CA-I-%d", 15000+random.IntN(900))
	switch {
	case l.Imported():
	case l.Class.ProductType == vocabulary.Wine:
		l.Permit = fmt.Sprintf("BWN-CA-%d", 1000+random.IntN(900))
	case l.Class.ProductType == vocabulary.MaltBeverage:
		state, l.Permit = "ME", fmt.Sprintf("BR-ME-%d", 20000+random.IntN(900))
	default:
		state, l.Permit = "KY", fmt.Sprintf("DSP-KY-%d", 20000+random.IntN(900))
	}
	year := l.Applied.Time().Year()
	l.Serial = fmt.Sprintf("%02d%04d", year%100, n%10000)
	l.Status, l.Approved = pick(random, statuses), l.Completed
	l.Company = strings.ReplaceAll(l.Brand, "\n", " ") + ", EXAMPLE COMPANY LLC"
	l.Street, l.City, l.State, l.ZIP = "1  EXAMPLE RD", "SPRINGFIELD", state, "90001"
	l.Old, l.Paper = n%6 == 5, n%50 == 49
	if l.Class.ProductType == vocabulary.Wine {
		l.Varietal, l.Appellation = pick(random, varietals), "NAPA VALLEY"
	}
	if l.Old {
		l.NetContents, l.Alcohol = "750 MILLILITERS", fmt.Sprintf("%d.5", 5+random.IntN(40))
	}
	if l.Old && l.Varietal != "" {
		l.Vintage = []string{strconv.Itoa(year - 2), "NV"}[n/6%2]
	}
	if n%97 == 96 {
		l.ForSaleIn = l.State
	}
	l.addImages(random, n)
}

func (l *Label) addImages(random *rand.Rand, n int) {
	if l.Paper {
		return
	}
	add := func(name, position string, width, height int) {
		l.Images = append(l.Images, LabelImage{FileName: name, Position: position, Width: width, Height: height})
	}
	fronts := []string{"front.jpg", "Front Label 1.png", "AGED & OLD front.jpg", "50%+front.jpeg"}
	add(pick(random, fronts), "Brand (front) or keg collar", 180, 240)
	switch {
	case n%20 == 10:
		add("barcode back.png", "Back", 450, 600)
		l.Images[1].Barcode = ean13(n)
	case n%10 < 8:
		add(pick(random, []string{"back.jpg", "Back  Label.png"}), "Back", 150, 200)
	}
	if n%10 == 3 {
		add("neck #1.png", "Neck", 200, 60)
	}
	if n%200 == 150 {
		l.Images[len(l.Images)-1].Missing = true
	}
}
