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

// Limits on the lists on a label page, to keep it small. The API returns all entries.
const (
	maxImages   = 40
	maxBarcodes = 60
	maxValues   = 100
)

// labelPage is the full record of a label.
type labelPage struct {
	Row          labelRow
	Facts        []fact // the most important facts
	Timeline     []moment
	Groups       []factGroup // other facts
	Images       []labelImage
	MoreImages   int
	ImageFacts   []fact
	Barcodes     []labelBarcode
	MoreBarcodes int
	Holder       []fact // the permittee; empty if unknown
	Chain        []chainLink
	WatchURL     string // form for a saved search for the brand; empty if no search can express the brand
	TTBURL       string // the label's page on TTB's site
	Cost         pageCost
}

// HasDerived reports whether the group has facts that were extracted from the images.
func (g factGroup) HasDerived() bool {
	return slices.ContainsFunc(g.Facts, func(f fact) bool { return f.Derived })
}

// labelImage is one image of a label with its facts.
type labelImage struct {
	Number  int // from 1
	Picture picture
	Title   string
	Size    string // on the container, in inches; may be empty
	Facts   []fact
}

// labelBarcode is one barcode found in an image.
type labelBarcode struct {
	Value, Kind, Image, Size, Orientation, Place string
	Href                                         string // URL of a search for labels with this barcode
	ImageNumber                                  int    // number of the image on the page, from 1, or 0 if not displayed
}

// chainLink is a label in a chain of resubmissions.
type chainLink struct {
	ID      string
	Current bool      // this is the label on the page
	Row     *labelRow // nil if the registry doesn't have the label
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
	c, links := &l.Label, req.recordLinks()
	p := labelPage{
		Row:   req.newLabelRow(&c.ColaSummary, string(c.MainImageURL)),
		Facts: keyFacts(l), Timeline: timeline(c, cola.DateOf(req.now())), Groups: factGroups(c),
		ImageFacts: imageFacts(c, links), WatchURL: watchBrandURL(c.BrandName), TTBURL: c.TTBID.PageURL(),
		Cost: detailCost(req.quota),
	}
	images := c.Images[:min(len(c.Images), maxImages)]
	barcodes := c.Barcodes[:min(len(c.Barcodes), maxBarcodes)]
	p.MoreImages, p.MoreBarcodes = len(c.Images)-len(images), len(c.Barcodes)-len(barcodes)
	for i := range images {
		p.Images = append(p.Images, newLabelImage(&images[i], i+1, p.Row, links))
	}
	for i := range barcodes {
		p.Barcodes = append(p.Barcodes, newLabelBarcode(&barcodes[i], images))
	}
	if l.Permittee != nil {
		p.Holder = permitteeFacts(l.Permittee)
	}
	for _, link := range l.Chain {
		one := chainLink{ID: link.TTBID.String(), Current: link.TTBID == c.TTBID}
		if link.Summary != nil {
			row := req.newLabelRow(link.Summary, "")
			one.Row = &row
		}
		p.Chain = append(p.Chain, one)
	}
	return p
}

// watchBrandURL returns the URL of the form for a saved search, filled in for a brand, or "".
func watchBrandURL(brand string) string {
	value, ok := cola.QuoteBrand(brand)
	if !ok {
		return ""
	}
	return newSearchURL(url.Values{"brand_name": {value}, "name": {"Brand " + truncate(singleLine(brand), maxShownName)}})
}

func newLabelImage(img *cola.Image, number int, label labelRow, links recordLinks) labelImage {
	position := truncate(singleLine(string(img.ContainerPosition)), maxShownName)
	title := "Image"
	if position != "" {
		first, size := utf8.DecodeRuneInString(position)
		title = string(unicode.ToUpper(first)) + position[size:] + " image"
	}
	inches := dimensions(img.WidthInches, img.HeightInches, " × ")
	one := labelImage{Number: number, Size: inches, Picture: links.picture(string(img.ImageURL), labelPicture), Title: title}
	one.Picture.Alt = title + " of " + strings.TrimSpace(label.Brand+" "+label.Product)
	if w, h := img.WidthPixels.V, img.HeightPixels.V; w > 0 && h > 0 && w <= maxSide && h <= maxSide {
		one.Picture.Width, one.Picture.Height = w, h
	}
	one.Facts = facts(
		textFact("Position", img.ContainerPosition), intFact("Index", cola.Some(img.ImageIndex)),
		textFact("File type", img.ExtensionType), textFact("File name", img.FileName),
		wordsFact("Size (px)", dimensions(img.WidthPixels, img.HeightPixels, " × ")),
		wordsFact("Size (in)", inches),
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

// keyFacts returns the facts that identify a label. The brand and permittee link to all of their
// labels.
func keyFacts(l *registry.LabelPage) []fact {
	c := &l.Label
	brand := wordsFact("Brand", c.BrandName)
	if value, ok := cola.QuoteBrand(c.BrandName); ok && l.BrandLabels > 1 {
		brand = brand.with(labelsLink(l.BrandLabels, allHistory("brand_name", value)))
	}
	strength := decimalFact("Alcohol by volume", c.ABV)
	if c.ABV.OK {
		strength.Values[0] += "%"
	}
	contents := textFact("Net contents unit", c.VolumeUnit)
	if c.Volume.OK {
		contents = wordsFact("Net contents", strings.TrimSpace(formatDecimal(c.Volume.V)+" "+string(c.VolumeUnit)))
	}
	permitLabels := allHistory("permit_number", c.PermitNumber)
	holder := wordsFact("Permittee", c.PermitNumber).with(link{permitLabels, "All labels"})
	if p := l.Permittee; p != nil {
		holder = wordsFact("Permittee", permitteeName(p)).linkedTo(permitHref(p.PermitNumber)).
			with(labelsLink(p.Colas, permitLabels))
	}
	return facts(
		brand, textFact("Product name", c.ProductName), textFact("Class/type", c.ClassName),
		listFact("Grapes", c.GrapeVarietals), intFact("Vintage", c.WineVintageYear),
		textFact("Appellation", c.WineAppellation), textFact("Origin", c.OriginName),
		strength, contents, holder, approvedFact(&c.ColaSummary),
	)
}

// labelsLink returns a link to a search that finds n labels. Its text is the count.
func labelsLink(n int, href string) link {
	return link{href, plural(n, "label", "labels")}
}

// factGroups returns the other facts of a label, except those about its images.
func factGroups(c *cola.Cola) []factGroup {
	var known []factGroup
	for _, g := range []factGroup{{"Product details", productFacts(c)}, {"Application", applicationFacts(c)}} {
		if len(g.Facts) > 0 {
			known = append(known, g)
		}
	}
	return known
}

func productFacts(c *cola.Cola) []fact {
	path := textFact("Category", c.LLMCategoryPath).linkedTo(
		allHistory("derived_subcategory", string(c.LLMCategoryPath)))
	path.Derived = c.LLMCategory != "" // otherwise TTB's class implies it
	return facts(
		textFact("Domestic or imported", c.DomesticOrImported),
		path, textFact("Category name", c.LLMCategory).derived(),
		textFact("Designation", c.LLMWineDesignation).derived(),
		textFact("Bitterness (IBU)", c.LLMBeerIBU).derived(), listFact("Hops", c.LLMBeerHopsVarieties).derived(),
		agedFact(c.LLMLiquorAgedYears).derived(), textFact("Finish", c.LLMLiquorFinishing).derived(),
		listFact("Grains", c.LLMLiquorGrains).derived(),
		textFact("Description", c.LLMProductDescription).derived(),
		listFact("Tasting notes", c.LLMTastingNoteFlavors).derived(),
		textFact("Container", c.LLMContainerType).derived(),
		intFact("Brand established", c.LLMBrandEstablishedYear).derived(),
		textFact("Artwork credit", c.LLMArtworkCredit).derived(),
	)
}

func applicationFacts(c *cola.Cola) []fact {
	return facts(
		textFact("Type", c.ApplicationType), textFact("Serial number", c.SerialNumber), textFact("Formula", c.Formula),
		textFact("Class code", c.ClassID), textFact("Origin code", c.OriginID),
		boolFact("Distinctive container", c.IsDistinctiveContainer),
		textFact("Container capacity", c.ForDistinctiveCapacity),
		wordsFact("Permit number", c.PermitNumber), textFact("Recipient", c.AddressRecipient),
		textFact("Trade name", c.TradeName), textFact("State", c.AddressState), textFact("ZIP code", c.AddressZipCode),
		textFact("For sale only in", c.ForExemptionState), linesFact("Qualifications", c.Qualifications),
		boolFact("Resubmission", c.IsResubmission), resubmissionFact(c.ForResubmissionTTBID),
	)
}

// imageFacts returns the facts about images and barcodes in the record.
func imageFacts(c *cola.Cola, links recordLinks) []fact {
	barcode := wordsFact("Main barcode", string(c.BarcodeValue)).linkedTo(barcodeHref(string(c.BarcodeValue)))
	if c.BarcodeValue == "" && c.HasBarcode {
		barcode = wordsFact("Main barcode", "Unknown")
	}
	return facts(
		wordsFact("Barcode", map[bool]string{true: "Yes", false: "No"}[c.HasBarcode]), barcode,
		textFact("Barcode type", c.BarcodeType), linkFact("QR code", c.QRCodeURL, links),
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
