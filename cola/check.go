package cola

import (
	"errors"
	"math"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// CheckCola returns an error that lists each invalid field with its value. It accepts complete
// labels and patches: fields without a value are valid. See CheckNew for required fields.
func CheckCola(c *Cola) error {
	var f recordErrors
	c.checkIdentity(&f)
	c.checkApplication(&f)
	c.checkProduct(&f)
	c.checkEnrichment(&f)
	c.checkImages(&f)
	c.checkBarcodes(&f)
	return f.err()
}

// CheckNew returns an error for a new label that lacks a required field. No patch may clear these
// fields.
func CheckNew(c *Cola) error {
	var missing []string
	for _, field := range []struct {
		name  string
		known bool
	}{
		{"ttb_id", c.TTBID != 0},
		{"brand_name", c.BrandName != ""},
		{"product_type", c.ProductType != ""},
		{"permit_number", c.PermitNumber != ""},
	} {
		if !field.known {
			missing = append(missing, field.name)
		}
	}
	if missing == nil {
		return nil
	}
	return errors.New("missing required fields: " + strings.Join(missing, ", "))
}

func (c *Cola) checkIdentity(f *recordErrors) {
	if c.TTBID > maxTTBID {
		f.add("ttb_id", "%d has more than 14 digits", uint64(c.TTBID))
	}
	f.name("brand_name", c.BrandName)
	f.name("product_name", string(c.ProductName))
	f.oneOf("product_type", string(c.ProductType), vocabulary.ProductTypes())
	f.name("class_id", string(c.ClassID))
	f.name("class_name", string(c.ClassName))
	f.name("origin_id", string(c.OriginID))
	f.name("origin_name", string(c.OriginName))
	f.oneOf("domestic_or_imported", string(c.DomesticOrImported), []string{vocabulary.Domestic, vocabulary.Imported})
	f.name("permit_number", c.PermitNumber)
	if c.PermitNumber != vocabulary.NormalizePermit(c.PermitNumber) {
		f.add("permit_number", "%s must be uppercase, without leading or trailing whitespace", Quoted(c.PermitNumber))
	}
	f.name("address_recipient", string(c.AddressRecipient))
	f.name("address_zip_code", string(c.AddressZipCode))
	f.name("address_state", string(c.AddressState))
	f.name("trade_name", string(c.TradeName))
}

func (c *Cola) checkApplication(f *recordErrors) {
	f.oneOf("application_status", string(c.ApplicationStatus), vocabulary.Statuses())
	f.name("application_type", string(c.ApplicationType))
	f.name("serial_number", string(c.SerialNumber))
	f.name("formula", string(c.Formula))
	f.prose("qualifications", string(c.Qualifications))
	f.date("application_date", c.ApplicationDate)
	f.date("approval_date", c.ApprovalDate)
	f.date("expiration_date", c.ExpirationDate)
	f.date("latest_update_date", c.LatestUpdateDate)
	f.name("for_distinctive_capacity", string(c.ForDistinctiveCapacity))
	f.name("for_exemption_state", string(c.ForExemptionState))
	switch id := c.ForResubmissionTTBID; {
	case id > maxTTBID:
		f.add("for_resubmission_ttb_id", "%d has more than 14 digits", uint64(id))
	case id != 0 && id == c.TTBID:
		f.add("for_resubmission_ttb_id", "must not be the label's own TTB ID (%s)", id)
	}
}

func (c *Cola) checkProduct(f *recordErrors) {
	f.list("grape_varietals", c.GrapeVarietals)
	f.year("wine_vintage_year", c.WineVintageYear, 1700) // very old wine has been approved
	f.name("wine_appellation", string(c.WineAppellation))
	f.amount("abv", c.ABV, 100)
	f.amount("volume", c.Volume, math.MaxFloat64)
	f.oneOf("volume_unit", string(c.VolumeUnit), vocabulary.VolumeUnits())
}

func (c *Cola) checkEnrichment(f *recordErrors) {
	f.name("llm_container_type", string(c.LLMContainerType))
	f.prose("llm_product_description", string(c.LLMProductDescription))
	f.year("llm_brand_established_year", c.LLMBrandEstablishedYear, 1)
	f.name("llm_category", string(c.LLMCategory))
	f.name("llm_category_path", string(c.LLMCategoryPath))
	f.category("llm_category_path", string(c.LLMCategoryPath))
	f.list("llm_tasting_note_flavors", c.LLMTastingNoteFlavors)
	f.name("llm_artwork_credit", string(c.LLMArtworkCredit))
	f.name("llm_wine_designation", string(c.LLMWineDesignation))
	f.name("llm_beer_ibu", string(c.LLMBeerIBU))
	f.list("llm_beer_hops_varieties", c.LLMBeerHopsVarieties)
	f.count("llm_liquor_aged_years", c.LLMLiquorAgedYears, 1000)
	f.name("llm_liquor_finishing_process", string(c.LLMLiquorFinishing))
	f.list("llm_liquor_grains", c.LLMLiquorGrains)
}

func (c *Cola) checkImages(f *recordErrors) {
	f.count("image_count", Some(c.ImageCount), math.MaxInt32)
	f.prose("main_image_url", string(c.MainImageURL))
	f.length("images", len(c.Images))
	for i := range c.Images {
		f.in, f.at = "images", i
		c.Images[i].check(f)
	}
	f.in = ""
}

func (m *Image) check(f *recordErrors) {
	f.required("ttb_image_id", m.TTBImageID)
	f.name("ttb_image_id", m.TTBImageID)
	f.count("image_index", Some(m.ImageIndex), math.MaxInt32)
	f.oneOf("container_position", string(m.ContainerPosition), ContainerPositions())
	f.name("file_name", string(m.FileName))
	f.name("extension_type", string(m.ExtensionType))
	if m.ExtensionType == "" && extensionOf(m.ImageURL) == "" {
		f.add("extension_type", "needs a value such as jpg, because image_url has no image file name")
	}
	f.count("width_pixels", m.WidthPixels, math.MaxInt32)
	f.count("height_pixels", m.HeightPixels, math.MaxInt32)
	f.amount("width_inches", m.WidthInches, math.MaxFloat64)
	f.amount("height_inches", m.HeightInches, math.MaxFloat64)
	f.amount("file_size_mb", m.FileSizeMB, math.MaxFloat64)
	f.count("barcode_count", m.BarcodeCount, math.MaxInt32)
	f.count("qrcode_count", m.QRCodeCount, math.MaxInt32)
	f.prose("image_url", string(m.ImageURL))
}

func (c *Cola) checkBarcodes(f *recordErrors) {
	f.name("barcode_type", string(c.BarcodeType))
	f.name("barcode_value", string(c.BarcodeValue))
	f.prose("qrcode_url", string(c.QRCodeURL))
	f.length("barcodes", len(c.Barcodes))
	for i := range c.Barcodes {
		f.in, f.at = "barcodes", i
		c.Barcodes[i].check(f)
	}
	f.in = ""
}

func (b *Barcode) check(f *recordErrors) {
	f.name("barcode_type", string(b.BarcodeType))
	if b.BarcodeType == "" && b.BarcodeValue != "" && vocabulary.BarcodeType(b.BarcodeValue) == "" {
		f.add("barcode_type", "needs a value such as CODE-128, because %s is not an EAN or UPC", Quoted(b.BarcodeValue))
	}
	f.required("barcode_value", b.BarcodeValue)
	f.name("barcode_value", b.BarcodeValue)
	f.name("ttb_image_id", string(b.TTBImageID))
	f.count("width_pixels", b.WidthPixels, math.MaxInt32)
	f.count("height_pixels", b.HeightPixels, math.MaxInt32)
	f.name("orientation", string(b.Orientation))
	f.name("relative_image_position", string(b.RelativeImagePosition))
}
