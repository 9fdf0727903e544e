package ttbpage

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// detail reads a detail page: a name in bold, ending in a colon, and its value after it in the same
// cell or, for blocks, in the rows below. A name that occurs again is ignored, which bounds the
// time spent on a hostile page.
func (p *Page) detail() Label {
	var l Label
	text := func(to *string) func(*html.Node) { return func(n *html.Node) { *to = textAfter(n) } }
	items := map[string]func(name *html.Node){
		"TTB ID": text(&l.TTBID), "Status": text(&l.Status), "Serial #": text(&l.SerialNumber), "Class/Type Code": text(&l.ClassName),
		"Origin Code": text(&l.OriginName), "Brand Name": text(&l.BrandName), "Fanciful Name": text(&l.FancifulName),
		"Type of Application": text(&l.ApplicationType), "For Sale In": text(&l.ForSaleIn),
		"Total Bottle Capacity": text(&l.BottleCapacity), "Grape Varietal(s)": text(&l.Varietals), "Wine Vintage": text(&l.Vintage),
		"Formula": text(&l.Formula), "Approval Date": text(&l.Approval), "Wine Appellation": text(&l.Appellation),
		"Qualifications": func(n *html.Node) { l.Qualifications = block(n) },
		placeOfBusiness:  func(n *html.Node) { l.setApplicant(block(n)) },
	}
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "strong" {
			continue
		}
		name := strings.TrimSpace(strings.TrimSuffix(textOf(n), ":"))
		if strings.HasSuffix(name, placeOfBusiness) {
			name = placeOfBusiness
		}
		if read := items[name]; read != nil {
			delete(items, name)
			read(n)
		}
	}
	return l
}

// placeOfBusiness is the end of the applicant block's heading. The heading begins with the kinds of
// permits.
const placeOfBusiness = "(Principal Place of Business)"

// textAfter returns the text that follows a name in its cell, up to the next name, leaving out help
// links.
func textAfter(name *html.Node) string {
	var b strings.Builder
	for s := name.NextSibling; s != nil && (s.Type != html.ElementNode || s.Data != "strong"); s = s.NextSibling {
		if s.Type != html.ElementNode || s.Data != "a" {
			writeText(&b, s)
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "\u00a0", " ")), " ")
}

// block returns the lines of the rows that follow a name's row, up to the next row with a name.
func block(name *html.Node) (lines []string) {
	row := ancestor(name, "tr")
	if row == nil {
		return nil
	}
	isName := func(n *html.Node) bool { return n.Data == "strong" }
	for row = nextElement(row, "tr"); row != nil && find(row, isName) == nil; row = nextElement(row, "tr") {
		lines = append(lines, linesOf(row)...)
	}
	return lines
}

// place matches the state and ZIP code at the end of an address: "PORTLAND, ME 04101", or without
// the comma on printable forms.
var place = regexp.MustCompile(` ([A-Z]{2}) (\d{5}(?:-?\d{4})?)$`)

// setApplicant reads the permit number, and the business name, state and ZIP code.
func (l *Label) setApplicant(lines []string) {
	if len(lines) > 0 {
		l.PermitNumber = lines[0]
		l.setAddress(lines[1:])
	}
}

// setAddress reads the business name, state and ZIP code and, on printable forms, the trade name
// used on the label.
func (l *Label) setAddress(lines []string) {
	if len(lines) == 0 {
		return
	}
	l.Applicant = lines[0]
	for _, line := range lines[1:] {
		if m := place.FindStringSubmatch(line); m != nil {
			l.State, l.ZIP = m[1], m[2]
		}
		if name, ok := strings.CutSuffix(line, "(Used on label)"); ok {
			l.TradeName = strings.TrimSpace(name)
		}
	}
}
