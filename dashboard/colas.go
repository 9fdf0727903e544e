package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/registry"
)

// Limits on the lists of a label page, to keep it small. The API returns all entries.
const (
	maxImages   = 40
	maxBarcodes = 60
	maxValues   = 100
)

// labelPage is the full record of a label.
type labelPage struct {
	Row          labelRow
	Main         picture
	Groups       []factGroup
	Images       []labelImage
	MoreImages   int
	Barcodes     []labelBarcode
	MoreBarcodes int
	Holder       *permitteeLink
	Permit       string
	PermitSearch string // URL of a search for the permit's labels
	Chain        []chainLink
	Cost         pageCost
}

// HasDerived reports whether the page shows facts that were extracted from the images.
func (p labelPage) HasDerived() bool {
	return slices.ContainsFunc(p.Groups, func(g factGroup) bool {
		return slices.ContainsFunc(g.Facts, func(f fact) bool { return f.Derived })
	})
}

// labelImage is one image of a label with its facts.
type labelImage struct {
	Number  int // from 1
	Picture picture
	Title   string
	Facts   []fact
}

// labelBarcode is one barcode found in an image.
type labelBarcode struct {
	Value, Kind, Image, Size, Orientation, Place string
	Href                                         string // URL of a search for labels with it
	ImageNumber                                  int    // number of the image on the page, from 1, or 0 if not displayed
}

// chainLink is a label in a chain of resubmissions.
type chainLink struct {
	ID   string
	Here bool      // the label of this page
	Row  *labelRow // nil if the registry doesn't have the label
}

func (req *request) label() error {
	if answered, err := req.guardCharge(recordPrice()); answered || err != nil {
		return err
	}
	id := req.path("ttb_id")
	l, state, err := req.svc.LabelPage(req.ctx(), req.caller, id)
	req.recordQuota(state)
	if cola.CodeOf(err) == cola.CodeNotFound {
		return req.showNotFound(err, "Label not found", id)
	}
	if err != nil {
		return err
	}
	req.allowBackCache()
	p := req.labelPage(&l)
	call := req.call("GET", "/colas/"+p.Row.ID,
		"Costs one detail view; free if the label doesn’t exist.").
		forTool("get_cola", map[string]any{"ttb_id": p.Row.ID, "response_format": "detailed"})
	return req.show(http.StatusOK, "label", page{
		Title: strings.TrimSpace(p.Row.Brand + " " + p.Row.Product),
		Data:  p,
		Call:  call,
	})
}

// labelPage prepares a label for the page.
func (req *request) labelPage(l *registry.LabelPage) labelPage {
	c := &l.Label
	p := labelPage{
		Row: req.newLabelRow(&c.ColaSummary, string(c.MainImageURL)), Groups: factGroups(c, req.recordLinks()),
		Permit: singleLine(c.PermitNumber), Cost: detailCost(req.quota),
		PermitSearch: allHistory("permit_number", c.PermitNumber),
	}
	images := c.Images[:min(len(c.Images), maxImages)]
	barcodes := c.Barcodes[:min(len(c.Barcodes), maxBarcodes)]
	p.MoreImages, p.MoreBarcodes = len(c.Images)-len(images), len(c.Barcodes)-len(barcodes)
	for i := range images {
		p.Images = append(p.Images, newLabelImage(&images[i], i+1, p.Row, req.recordLinks()))
	}
	for i := range barcodes {
		p.Barcodes = append(p.Barcodes, newLabelBarcode(&barcodes[i], images))
	}
	if l.Permittee != nil {
		p.Holder = newPermitteeLink(l.Permittee)
	}
	for _, link := range l.Chain {
		one := chainLink{ID: link.TTBID.String(), Here: link.TTBID == c.TTBID}
		if link.Summary != nil {
			row := req.newLabelRow(link.Summary, "")
			one.Row = &row
		}
		p.Chain = append(p.Chain, one)
	}
	return p
}

func newLabelImage(img *cola.Image, number int, of labelRow, links recordLinks) labelImage {
	position := truncate(singleLine(string(img.ContainerPosition)), maxShownName)
	title := "Image"
	if position != "" {
		first, size := utf8.DecodeRuneInString(position)
		title = string(unicode.ToUpper(first)) + position[size:] + " image"
	}
	one := labelImage{Number: number, Picture: links.picture(string(img.ImageURL), labelPicture), Title: title}
	one.Picture.Alt = title + " of " + strings.TrimSpace(of.Brand+" "+of.Product)
	if w, h := img.WidthPixels.V, img.HeightPixels.V; w > 0 && h > 0 && w <= maxSide && h <= maxSide {
		one.Picture.Width, one.Picture.Height = w, h
	}
	one.Facts = facts(
		textFact("Position", img.ContainerPosition), intFact("Index", cola.Some(img.ImageIndex)),
		textFact("File type", img.ExtensionType), textFact("File name", img.FileName),
		wordsFact("Size (px)", dimensions(img.WidthPixels, img.HeightPixels, " × ")),
		wordsFact("Size (in)", dimensions(img.WidthInches, img.HeightInches, " × ")),
		decimalFact("File size (MB)", img.FileSizeMB), intFact("Barcodes", img.BarcodeCount),
		intFact("QR codes", img.QRCodeCount),
		textFact("Image ID", cola.Text(img.TTBImageID)),
	)
	return one
}

// maxSide is the largest plausible side of an image, in pixels. Larger sizes are errors in the
// record and would break the layout.
const maxSide = 20_000

func newLabelBarcode(b *cola.Barcode, images []cola.Image) labelBarcode {
	cell := func(s string) string { return truncate(singleLine(s), maxShownName) }
	return labelBarcode{
		Value: cell(b.BarcodeValue), Kind: cell(string(b.BarcodeType)), Image: cell(string(b.TTBImageID)),
		Size:        dimensions(b.WidthPixels, b.HeightPixels, " × "),
		Orientation: cell(string(b.Orientation)), Place: cell(string(b.RelativeImagePosition)),
		Href: barcodeHref(b.BarcodeValue),
		ImageNumber: 1 + slices.IndexFunc(images,
			func(img cola.Image) bool { return img.TTBImageID != "" && img.TTBImageID == string(b.TTBImageID) }),
	}
}

// barcodeHref returns the URL of a search for all labels with a barcode. It uses q if the value
// looks like a barcode and is not also a TTB ID, otherwise barcode_value.
func barcodeHref(value string) string {
	if _, isID := cola.ParseTTBID(value); vocabulary.BarcodeShaped(value) && !isID {
		return allHistory("q", value)
	}
	return allHistory("barcode_value", value)
}

// allHistory returns the URL of a search by one parameter across all dates.
func allHistory(name, value string) string {
	return exploreURL(url.Values{name: {value}, "date_range": {cola.AllDates}})
}

// factGroups returns all facts of a label except its images and the barcodes in them.
func factGroups(c *cola.Cola, links recordLinks) []factGroup {
	all := []factGroup{
		{Title: "Label", Facts: labelFacts(c, links)},
		{Title: "Product", Facts: productFacts(c)},
		{Title: "Dates", Facts: facts(
			dateFact("Applied", c.ApplicationDate), approvedFact(&c.ColaSummary),
			dateFact("Expires", c.ExpirationDate),
			dateFact("Last updated", c.LatestUpdateDate))},
		{Title: "Applicant", Facts: facts(
			wordsFact("Permit number", c.PermitNumber), textFact("Recipient", c.AddressRecipient),
			textFact("Trade name", c.TradeName),
			textFact("State", c.AddressState), textFact("ZIP code", c.AddressZipCode))},
		{Title: "Wine", Facts: facts(
			listFact("Grapes", c.GrapeVarietals), intFact("Vintage", c.WineVintageYear),
			textFact("Appellation", c.WineAppellation),
			textFact("Designation", c.LLMWineDesignation).derived())},
		{Title: "Beer", Facts: facts(textFact("Bitterness (IBU)", c.LLMBeerIBU).derived(),
			listFact("Hops", c.LLMBeerHopsVarieties).derived())},
		{Title: "Spirits", Facts: facts(
			agedFact(c.LLMLiquorAgedYears).derived(), textFact("Finish", c.LLMLiquorFinishing).derived(),
			listFact("Grains", c.LLMLiquorGrains).derived())},
		{Title: "Extracted from images", Facts: facts(
			textFact("Description", c.LLMProductDescription).derived(),
			listFact("Tasting notes", c.LLMTastingNoteFlavors).derived(),
			textFact("Container", c.LLMContainerType).derived(),
			intFact("Brand established", c.LLMBrandEstablishedYear).derived(),
			textFact("Artwork credit", c.LLMArtworkCredit).derived())},
		{Title: "Conditions and resubmission", Facts: facts(
			textFact("For sale only in", c.ForExemptionState),
			linesFact("Qualifications", c.Qualifications),
			boolFact("Resubmission", c.IsResubmission), resubmissionFact(c.ForResubmissionTTBID))},
		{Title: "Image and barcode data", Facts: pictureFacts(c, links)},
	}
	var known []factGroup
	for _, g := range all {
		if len(g.Facts) > 0 {
			known = append(known, g)
		}
	}
	return known
}

func labelFacts(c *cola.Cola, links recordLinks) []fact {
	barcode := wordsFact("Main barcode", string(c.BarcodeValue)).linkedTo(barcodeHref(string(c.BarcodeValue)))
	if c.BarcodeValue == "" && c.HasBarcode {
		barcode = wordsFact("Main barcode", "Unknown")
	}
	return facts(
		wordsFact("TTB ID", c.TTBID.String()), wordsFact("Brand", c.BrandName), textFact("Product name", c.ProductName),
		textFact("Status", c.ApplicationStatus),
		textFact("Application", c.ApplicationType), textFact("Serial number", c.SerialNumber),
		textFact("Formula", c.Formula), boolFact("Distinctive container", c.IsDistinctiveContainer),
		textFact("Container capacity", c.ForDistinctiveCapacity),
		barcode, textFact("Barcode type", c.BarcodeType), linkFact("QR code", c.QRCodeURL, links),
	)
}

func productFacts(c *cola.Cola) []fact {
	path := textFact("Category", c.LLMCategoryPath).linkedTo(
		allHistory("derived_subcategory", string(c.LLMCategoryPath)))
	path.Derived = c.LLMCategory != "" // otherwise TTB's class implies it
	name := textFact("Category name", c.LLMCategory).derived()
	strength := decimalFact("Alcohol by volume", c.ABV)
	if c.ABV.OK {
		strength.Values[0] += "%"
	}
	contents := decimalFact("Net contents", c.Volume)
	if c.Volume.OK {
		contents = wordsFact("Net contents", contents.Values[0]+" "+string(c.VolumeUnit))
	} else {
		contents = textFact("Net contents unit", c.VolumeUnit)
	}
	return facts(
		wordsFact("Product type", string(c.ProductType)), codedFact("Class/type", c.ClassName, c.ClassID),
		codedFact("Origin", c.OriginName, c.OriginID),
		textFact("Domestic or imported", c.DomesticOrImported), path, name, strength, contents,
	)
}

// pictureFacts returns the facts about images and barcodes in the record.
func pictureFacts(c *cola.Cola, links recordLinks) []fact {
	return facts(
		wordsFact("Barcode", map[bool]string{true: "Yes", false: "No"}[c.HasBarcode]),
		intFact("Images", cola.Opt[int]{V: c.ImageCount, OK: c.ImageCount > 0}),
		boolFact("Front image", c.HasFrontImage), boolFact("Back image", c.HasBackImage),
		boolFact("Neck image", c.HasNeckImage), boolFact("Strip image", c.HasStripImage),
		linkFact("Main image", c.MainImageURL, links),
	)
}

func agedFact(years cola.Opt[int]) fact {
	if !years.OK {
		return fact{}
	}
	return wordsFact("Aged", plural(years.V, "year", "years"))
}

// resubmissionFact links to the label that this one resubmits.
func resubmissionFact(id cola.TTBID) fact {
	return wordsFact("Earlier label", id.String()).linkedTo(explorePath + "/" + id.String())
}
