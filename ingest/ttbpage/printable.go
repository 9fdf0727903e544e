package ttbpage

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// itemNumber is the number of a form item, which differs between versions of the form.
var itemNumber = regexp.MustCompile(`^\d+[a-z]?\.\s*`)

// printable reads a printable form: a caption and a value in two blocks of one cell. Items for the contact and for
// signatures are not in the table, so they are not read.
func (p *Page) printable() Label {
	l := Label{HasImages: true}
	values := map[string]*string{
		"TTB ID": &l.TTBID, "CT": &l.ClassCode, "OR": &l.OriginCode, "SERIAL NUMBER": &l.SerialNumber,
		"BRAND NAME": &l.BrandName, "FANCIFUL NAME": &l.FancifulName, "GRAPE VARIETAL(S)": &l.Varietals,
		"FORMULA": &l.Formula, "ALCOHOL CONTENT": &l.AlcoholContent, "WINE APPELLATION": &l.Appellation,
		"WINE APPELLATION IF ON LABEL": &l.Appellation, "WINE VINTAGE DATE IF ON LABEL": &l.Vintage,
		"DATE OF APPLICATION": &l.Application, "DATE ISSUED": &l.Approval,
		"CLASS/TYPE DESCRIPTION": &l.ClassName, "EXPIRATION DATE": &l.Expiration,
	}
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "div" || !hasClass(n, "label", "boldlabel") {
			continue
		}
		name := caption(n)
		lines := valueLines(n)
		switch {
		case values[name] != nil:
			*values[name] = strings.Join(lines, " ")
		case name == "STATUS":
			l.Status = strings.TrimSuffix(strings.TrimPrefix(strings.Join(lines, " "), "THE STATUS IS "), ".")
		case name == "QUALIFICATIONS":
			l.Qualifications = lines
		case name == "NET CONTENTS":
			l.NetContents = lines
		case strings.HasPrefix(name, "PLANT REGISTRY") && len(lines) > 0:
			l.PermitNumber = lines[0]
		case strings.HasPrefix(name, "NAME AND ADDRESS OF APPLICANT"):
			l.setAddress(lines)
		case strings.HasPrefix(name, "SOURCE OF PRODUCT"):
			l.Source = checked(ancestor(n, "td"), "Source of Product: ")
		case strings.HasPrefix(name, "TYPE OF PRODUCT"):
			l.ProductType = checked(ancestor(n, "td"), "Type of Product: ")
		case strings.HasPrefix(name, "TYPE OF APPLICATION"):
			l.readApplicationTypes(ancestor(n, "td"))
		}
	}
	l.Images = p.images()
	return l
}

// caption returns the name of an item without its number and remarks.
func caption(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			b.WriteString(c.Data + " ")
		}
	}
	name := strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "\u00a0", " ")), " ")
	return strings.TrimSuffix(itemNumber.ReplaceAllString(name, ""), " (If any)")
}

// valueLines returns the text of the value blocks after a caption, up to the next caption.
func valueLines(caption *html.Node) (lines []string) {
	for s := nextElement(caption, "div"); s != nil && hasClass(s, "data"); s = nextElement(s, "div") {
		lines = append(lines, linesOf(s)...)
	}
	return lines
}

// checked returns the rest of the alternative text of the checked box whose text has a prefix.
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

// readApplicationTypes reads the boxes of the types of application and the values written into their texts.
func (l *Label) readApplicationTypes(cell *html.Node) {
	if cell == nil {
		return
	}
	for n := range cell.Descendants() {
		if n.Type != html.ElementNode || n.Data != "input" {
			continue
		}
		written := textOf(find(ancestor(n, "tr"), func(n *html.Node) bool { return n.Data == "strong" }))
		switch on := hasAttribute(n, "checked"); attribute(n, "alt") {
		case "Certificate of label Approval": // sic: the box of the exemption
			if on {
				l.ForSaleIn = written
			}
		case "Distinctive Liquor Bottle Approval":
			l.DistinctiveChecked = on
			if on {
				l.BottleCapacity = written
			}
		case "Previous TTB Id":
			l.ResubmissionChecked = on
			if on {
				l.ResubmissionOf = written
			}
		}
	}
}

// dimensions is the line above an image.
var dimensions = regexp.MustCompile(`Actual Dimensions: ([\d.]+) inches W X ([\d.]+) inches H`)

// attachment is the address of an image. The site escapes neither spaces nor ampersands in file names.
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
