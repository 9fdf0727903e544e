package ttbpage

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// itemNumber matches the number of a form item, which differs between versions of the form.
var itemNumber = regexp.MustCompile(`^\d+[a-z]?\.\s*`)

// printable reads a printable form: a caption and a value in two blocks of one cell. Contact and
// signature items are not in the items map, so they are not read. A caption that occurs again is
// ignored, which bounds the time spent on a hostile page.
func (p *Page) printable() Label {
	l := Label{HasImages: true}
	text := func(to *string) func(*html.Node) {
		return func(n *html.Node) { *to = strings.Join(valueLines(n), " ") }
	}
	items := map[string]func(caption *html.Node){
		"TTB ID": text(&l.TTBID), "CT": text(&l.ClassCode), "OR": text(&l.OriginCode), "SERIAL NUMBER": text(&l.SerialNumber),
		"BRAND NAME": text(&l.BrandName), "FANCIFUL NAME": text(&l.FancifulName), "GRAPE VARIETAL(S)": text(&l.Varietals),
		"FORMULA": text(&l.Formula), "ALCOHOL CONTENT": text(&l.AlcoholContent), "WINE APPELLATION": text(&l.Appellation),
		"WINE APPELLATION IF ON LABEL": text(&l.Appellation), "WINE VINTAGE DATE IF ON LABEL": text(&l.Vintage),
		"DATE OF APPLICATION": text(&l.Application), "DATE ISSUED": text(&l.Approval),
		"CLASS/TYPE DESCRIPTION": text(&l.ClassName), "EXPIRATION DATE": text(&l.Expiration),
		"STATUS": func(n *html.Node) {
			l.Status = strings.TrimSuffix(strings.TrimPrefix(strings.Join(valueLines(n), " "), "THE STATUS IS "), ".")
		},
		"QUALIFICATIONS": func(n *html.Node) { l.Qualifications = valueLines(n) },
		"NET CONTENTS":   func(n *html.Node) { l.NetContents = valueLines(n) },
		"PLANT REGISTRY": func(n *html.Node) {
			if lines := valueLines(n); len(lines) > 0 {
				l.PermitNumber = lines[0]
			}
		},
		"NAME AND ADDRESS OF APPLICANT": func(n *html.Node) { l.setAddress(valueLines(n)) },
		"SOURCE OF PRODUCT":             func(n *html.Node) { l.Source = checked(ancestor(n, "td"), "Source of Product: ") },
		"TYPE OF PRODUCT":               func(n *html.Node) { l.ProductType = checked(ancestor(n, "td"), "Type of Product: ") },
		"TYPE OF APPLICATION":           func(n *html.Node) { l.readApplicationTypes(ancestor(n, "td")) },
	}
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "div" || !hasClass(n, "label", "boldlabel") {
			continue
		}
		name := caption(n)
		if read := items[name]; read != nil {
			delete(items, name)
			read(n)
		}
	}
	l.Images = p.images()
	return l
}

// longCaptions are the beginnings of captions that are followed by instructions.
var longCaptions = []string{
	"PLANT REGISTRY", "NAME AND ADDRESS OF APPLICANT", "SOURCE OF PRODUCT", "TYPE OF PRODUCT", "TYPE OF APPLICATION",
}

// caption returns the name of an item without its number, remarks and instructions.
func caption(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			b.WriteString(c.Data + " ")
		}
	}
	name := strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "\u00a0", " ")), " ")
	name = strings.TrimSuffix(itemNumber.ReplaceAllString(name, ""), " (If any)")
	for _, start := range longCaptions {
		if strings.HasPrefix(name, start) {
			return start
		}
	}
	return name
}

// valueLines returns the text of the value blocks after a caption, up to the next caption.
func valueLines(caption *html.Node) (lines []string) {
	for s := nextElement(caption, "div"); s != nil && hasClass(s, "data"); s = nextElement(s, "div") {
		lines = append(lines, linesOf(s)...)
	}
	return lines
}

// checked finds the checked box whose alt text starts with prefix and returns the alt text without
// prefix, or "" if there is none.
func checked(cell *html.Node, prefix string) string {
	if cell == nil {
		return ""
	}
	box := find(cell, func(n *html.Node) bool {
		return n.Data == "input" && hasAttribute(n, "checked") && strings.HasPrefix(attribute(n, "alt"), prefix)
	})
	if box == nil {
		return ""
	}
	return strings.TrimPrefix(attribute(box, "alt"), prefix)
}

// readApplicationTypes reads the application type checkboxes and the values filled in next to them.
func (l *Label) readApplicationTypes(cell *html.Node) {
	if cell == nil {
		return
	}
	read, checked := map[string]bool{}, map[string]bool{}
	for n := range cell.Descendants() {
		name := attribute(n, "alt")
		if n.Type != html.ElementNode || n.Data != "input" || read[name] {
			continue
		}
		read[name] = true
		written := func() string {
			return textOf(find(ancestor(n, "tr"), func(n *html.Node) bool { return n.Data == "strong" }))
		}
		if checked[name] = hasAttribute(n, "checked"); !checked[name] {
			continue
		}
		switch name {
		case boxExemption:
			l.ForSaleIn = written()
		case boxDistinctive:
			l.DistinctiveChecked, l.BottleCapacity = true, written()
		case "Previous TTB Id":
			l.ResubmissionChecked, l.ResubmissionOf = true, written()
		}
	}
	l.ApplicationType = applicationType(checked)
}

// The alt text of the application type boxes.
const (
	boxApproval    = "Type of Application"
	boxExemption   = "Certificate of label Approval" // sic
	boxDistinctive = "Distinctive Liquor Bottle Approval"
)

// applicationType returns the type of application in the wording of the detail page. That wording
// is known only for a label approval without an exemption or a distinctive bottle, resubmitted or
// not. Nearly all labels have such an approval. For other types, it returns "".
func applicationType(checked map[string]bool) string {
	if checked[boxApproval] && !checked[boxExemption] && !checked[boxDistinctive] {
		return "LABEL APPROVAL"
	}
	return ""
}

// dimensions matches the line above an image.
var dimensions = regexp.MustCompile(`Actual Dimensions: ([\d.]+) inches W X ([\d.]+) inches H`)

// attachment matches the URL of an image. The site escapes neither spaces nor ampersands in file
// names.
var attachment = regexp.MustCompile(`/publicViewAttachment\.do\?filename=(.*)&filetype=`)

// images returns the label images in the order of the form.
func (p *Page) images() (images []Image) {
	width, height := 0., 0.
	for n := range p.root.Descendants() {
		switch {
		case n.Type == html.TextNode:
			if m := dimensions.FindStringSubmatch(strings.Join(strings.Fields(n.Data), " ")); m != nil {
				width, _ = strconv.ParseFloat(m[1], 64)
				height, _ = strconv.ParseFloat(m[2], 64)
			}
		case n.Type == html.ElementNode && n.Data == "img":
			m := attachment.FindStringSubmatch(attribute(n, "src"))
			if m == nil {
				continue
			}
			images = append(images, Image{
				Position: strings.TrimPrefix(attribute(n, "alt"), "Label Image: "), FileName: m[1], Width: width, Height: height,
			})
			width, height = 0, 0
		}
	}
	return images
}
