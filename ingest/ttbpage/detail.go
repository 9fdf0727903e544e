package ttbpage

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// detail reads a detail page: a name in bold, ending in a colon, and its value after it in the same cell or, for
// blocks, in the rows below.
func (p *Page) detail() Label {
	var l Label
	values := map[string]*string{
		"TTB ID": &l.TTBID, "Status": &l.Status, "Serial #": &l.SerialNumber, "Class/Type Code": &l.ClassName,
		"Origin Code": &l.OriginName, "Brand Name": &l.BrandName, "Fanciful Name": &l.FancifulName,
		"Type of Application": &l.ApplicationType, "For Sale In": &l.ForSaleIn, "Total Bottle Capacity": &l.BottleCapacity,
		"Grape Varietal(s)": &l.Varietals, "Wine Vintage": &l.Vintage, "Formula": &l.Formula, "Approval Date": &l.Approval,
		"Wine Appellation": &l.Appellation,
	}
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "strong" {
			continue
		}
		name := strings.TrimSpace(strings.TrimSuffix(textOf(n), ":"))
		switch {
		case values[name] != nil:
			*values[name] = textAfter(n)
		case name == "Qualifications":
			l.Qualifications = block(n)
		case strings.HasSuffix(name, "(Principal Place of Business)"):
			l.setApplicant(block(n))
		}
	}
	return l
}

// textAfter returns the text that follows a name in its cell, leaving out help links.
func textAfter(name *html.Node) string {
	var b strings.Builder
	for s := name.NextSibling; s != nil; s = s.NextSibling {
		if s.Type != html.ElementNode || s.Data != "a" {
			writeText(&b, s)
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "\u00a0", " ")), " ")
}

// block returns the lines of the rows below the row of a name, up to the next row with a name.
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

// place is the last line of an address: "PORTLAND, ME 04101", or without the comma on printable forms.
var place = regexp.MustCompile(`^(.*?),? ([A-Z]{2}) (\d{5}(?:-?\d{4})?)$`)

// setApplicant reads the permit number, the business name and the address.
func (l *Label) setApplicant(lines []string) {
	if len(lines) > 0 {
		l.PermitNumber = lines[0]
		l.setAddress(lines[1:])
	}
}

// setAddress reads the business name, the address and, on printable forms, the trade name used on the label.
func (l *Label) setAddress(lines []string) {
	if len(lines) == 0 {
		return
	}
	l.Applicant = lines[0]
	for i, line := range lines[1:] {
		if m := place.FindStringSubmatch(line); m != nil {
			l.City, l.State, l.ZIP = m[1], m[2], m[3]
			l.Street = lines[1 : 1+i]
		}
		if name, ok := strings.CutSuffix(line, "(Used on label)"); ok {
			l.TradeName = strings.TrimSpace(name)
		}
	}
}
