package dashboard

import (
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// fact is one thing that is known of a record.
type fact struct {
	Name    string
	Values  []string
	More    int       // values that are left out
	Day     cola.Date // in place of values
	Href    string    // what the value leads to; empty: nothing
	Outside bool      // the link leads to another site
	Derived bool      // a model has read it from the pictures
}

// factGroup is facts under a heading.
type factGroup struct {
	Title string
	Facts []fact
}

// Known reports whether there is anything to tell.
func (f fact) Known() bool { return len(f.Values) > 0 || f.Day != 0 }

// facts leaves out what is not known.
func facts(all ...fact) []fact {
	var known []fact
	for _, f := range all {
		if f.Known() {
			known = append(known, f)
		}
	}
	return known
}

func wordsFact(name, value string) fact {
	if value = plainText(value); value == "" {
		return fact{}
	}
	return fact{Name: name, Values: []string{value}}
}

func textFact(name string, value cola.Text) fact { return wordsFact(name, string(value)) }

func listFact(name string, values []string) fact {
	f := fact{Name: name}
	for _, v := range values[:min(len(values), mostValues)] {
		f.Values = append(f.Values, plainText(v))
	}
	f.More = len(values) - len(f.Values)
	return f
}

func dayFact(name string, d cola.Date) fact { return fact{Name: name, Day: d} }

func wholeFact(name string, n cola.Opt[int]) fact {
	if !n.OK {
		return fact{}
	}
	return wordsFact(name, strconv.Itoa(n.V))
}

func decimalFact(name string, n cola.Opt[float64]) fact {
	if !n.OK {
		return fact{}
	}
	return wordsFact(name, decimalOf(n.V))
}

func yesFact(name string, b cola.Opt[bool]) fact {
	switch {
	case !b.OK:
		return fact{}
	case b.V:
		return wordsFact(name, "yes")
	}
	return wordsFact(name, "no")
}

// to makes a fact a link.
func (f fact) to(href string) fact { f.Href = href; return f }

// derived marks a fact as one that a model has read.
func (f fact) derived() fact { f.Derived = true; return f }

// bySides writes two sizes, such as "900 × 1200"; it is empty unless one of them is known.
func bySides[T int | float64](a, b cola.Opt[T], between string) string {
	one := func(n cola.Opt[T]) string {
		if !n.OK {
			return "?"
		}
		return decimalOf(float64(n.V))
	}
	if !a.OK && !b.OK {
		return ""
	}
	return one(a) + between + one(b)
}

// codedFact writes a name with its code.
func codedFact(name string, value, code cola.Text) fact {
	switch {
	case value == "" && code != "":
		return wordsFact(name, "code "+string(code))
	case code != "":
		return wordsFact(name, string(value)+" (code "+string(code)+")")
	}
	return textFact(name, value)
}

// factGroups returns all facts of a label except its images and the barcodes in them.
func factGroups(c *cola.Cola, links recordLinks) []factGroup {
	all := []factGroup{
		{Title: "Label", Facts: labelFacts(c, links)},
		{Title: "Product", Facts: productFacts(c)},
		{Title: "Dates", Facts: facts(
			dayFact("Applied for", c.ApplicationDate), dayFact("Approved", c.ApprovalDate), dayFact("Expires or expired", c.ExpirationDate),
			dayFact("Latest change", c.LatestUpdateDate))},
		{Title: "Applicant", Facts: facts(
			wordsFact("Permit number", c.PermitNumber), textFact("Name in the address", c.AddressRecipient), textFact("State", c.AddressState), textFact("ZIP code", c.AddressZipCode))},
		{Title: "Wine", Facts: facts(
			listFact("Grapes", c.GrapeVarietals), wholeFact("Vintage", c.WineVintageYear), textFact("Appellation", c.WineAppellation),
			textFact("Designation", c.LLMWineDesignation).derived())},
		{Title: "Beer", Facts: facts(textFact("Bitterness (IBU)", c.LLMBeerIBU).derived(), listFact("Hops", c.LLMBeerHopsVarieties).derived())},
		{Title: "Spirits", Facts: facts(
			agedFact(c.LLMLiquorAgedYears).derived(), textFact("Finished in", c.LLMLiquorFinishing).derived(), listFact("Grains", c.LLMLiquorGrains).derived())},
		{Title: "Read from the label", Facts: facts(
			textFact("Description", c.LLMProductDescription).derived(), listFact("Tasting notes", c.LLMTastingNoteFlavors).derived(),
			textFact("Container", c.LLMContainerType).derived(), wholeFact("Brand established", c.LLMBrandEstablishedYear).derived(),
			textFact("Artwork", c.LLMArtworkCredit).derived())},
		{Title: "Exemption and resubmission", Facts: facts(
			textFact("Certificate of exemption for sale in", c.ForExemptionState), yesFact("Submitted again", c.IsResubmission), earlierFact(c.ForResubmissionTTBID))},
		{Title: "Pictures", Facts: pictureFacts(c, links)},
	}
	var told []factGroup
	for _, g := range all {
		if len(g.Facts) > 0 {
			told = append(told, g)
		}
	}
	return told
}

func labelFacts(c *cola.Cola, links recordLinks) []fact {
	barcode := wordsFact("Main barcode", string(c.BarcodeValue)).to(barcodeHref(string(c.BarcodeValue)))
	if c.BarcodeValue == "" && c.HasBarcode {
		barcode = wordsFact("Main barcode", "known, not its value")
	}
	return facts(
		wordsFact("TTB id", c.TTBID.String()), wordsFact("Brand", c.BrandName), textFact("Product name", c.ProductName), textFact("Status", c.ApplicationStatus),
		textFact("Application", c.ApplicationType), yesFact("Distinctive container", c.IsDistinctiveContainer), textFact("Its capacity", c.ForDistinctiveCapacity),
		barcode, textFact("Type of the barcode", c.BarcodeType), outsideFact("QR code", c.QRCodeURL, links),
	)
}

func productFacts(c *cola.Cola) []fact {
	path := textFact("Category", c.LLMCategoryPath).derived().to(allHistory("derived_subcategory", string(c.LLMCategoryPath)))
	name := textFact("Name of the category", c.LLMCategory).derived()
	strength := decimalFact("Alcohol by volume", c.ABV)
	if c.ABV.OK {
		strength.Values[0] += " %"
	}
	contents := decimalFact("Net contents", c.Volume)
	if c.Volume.OK {
		contents = wordsFact("Net contents", contents.Values[0]+" "+string(c.VolumeUnit))
	} else {
		contents = textFact("Unit of the contents", c.VolumeUnit)
	}
	return facts(
		wordsFact("Product type", string(c.ProductType)), codedFact("Class", c.ClassName, c.ClassID), codedFact("Origin", c.OriginName, c.OriginID),
		textFact("Made", madeWords(c.DomesticOrImported)), path, name, strength, contents,
	)
}

// pictureFacts returns the images and barcodes listed in the record.
func pictureFacts(c *cola.Cola, links recordLinks) []fact {
	return facts(
		wordsFact("Barcode", map[bool]string{true: "known", false: "none known"}[c.HasBarcode]), wholeFact("Images", cola.Opt[int]{V: c.ImageCount, OK: c.ImageCount > 0}),
		yesFact("Front image", c.HasFrontImage), yesFact("Back image", c.HasBackImage), yesFact("Neck image", c.HasNeckImage), yesFact("Strip image", c.HasStripImage),
		outsideFact("Main image", c.MainImageURL, links),
	)
}

// madeWords says where a product was made.
func madeWords(t cola.Text) cola.Text {
	switch t {
	case vocabulary.Domestic:
		return "in the United States (domestic)"
	case vocabulary.Imported:
		return "abroad (imported)"
	}
	return t
}

func agedFact(years cola.Opt[int]) fact {
	if !years.OK {
		return fact{}
	}
	return wordsFact("Aged", plural(years.V, "year", "years"))
}

// earlierFact is the label that was submitted again.
func earlierFact(id cola.TTBID) fact {
	return wordsFact("Earlier label", id.String()).to(explorePath + "/" + id.String())
}

// outsideFact is an address from a record, as a link if allowed.
func outsideFact(name string, address cola.Text, links recordLinks) fact {
	f := textFact(name, address)
	f.Href = links.href(string(address))
	f.Outside = f.Href != "" && f.Href[0] != '/'
	return f
}
