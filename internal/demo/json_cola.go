package demo

import "github.com/colaregistry/colaregistry/cola"

// appendCola appends a label in the contract's field names, without those that are unknown.
func appendCola(b []byte, c *cola.Cola) []byte {
	o := object{b: b}
	o.open()
	o.summary(&c.ColaSummary)
	o.application(c)
	o.contents(c)
	o.derived(c)
	o.packaging(c)
	o.close()
	return o.b
}

func (o *object) summary(c *cola.ColaSummary) {
	o.id("ttb_id", c.TTBID)
	o.text("brand_name", cola.Text(c.BrandName))
	o.text("product_name", c.ProductName)
	o.text("product_type", cola.Text(c.ProductType))
	o.text("class_name", c.ClassName)
	o.text("origin_name", c.OriginName)
	o.text("permit_number", cola.Text(c.PermitNumber))
	o.text("application_status", c.ApplicationStatus)
	o.date("approval_date", c.ApprovalDate)
	o.integer("image_count", cola.Opt[int]{V: c.ImageCount, OK: c.ImageCount > 0})
	o.flag("has_barcode", cola.Some(c.HasBarcode))
}

func (o *object) application(c *cola.Cola) {
	o.text("application_type", c.ApplicationType)
	o.date("application_date", c.ApplicationDate)
	o.date("expiration_date", c.ExpirationDate)
	o.date("latest_update_date", c.LatestUpdateDate)
	o.text("class_id", c.ClassID)
	o.text("origin_id", c.OriginID)
	o.text("domestic_or_imported", c.DomesticOrImported)
	o.flag("is_distinctive_container", c.IsDistinctiveContainer)
	o.text("for_distinctive_capacity", c.ForDistinctiveCapacity)
	o.flag("is_resubmission", c.IsResubmission)
	o.id("for_resubmission_ttb_id", c.ForResubmissionTTBID)
	o.text("for_exemption_state", c.ForExemptionState)
	o.text("address_recipient", c.AddressRecipient)
	o.text("address_zip_code", c.AddressZipCode)
	o.text("address_state", c.AddressState)
}

func (o *object) contents(c *cola.Cola) {
	o.list("grape_varietals", c.GrapeVarietals)
	o.integer("wine_vintage_year", c.WineVintageYear)
	o.text("wine_appellation", c.WineAppellation)
	o.number("abv", c.ABV)
	o.number("volume", c.Volume)
	o.text("volume_unit", c.VolumeUnit)
}

func (o *object) derived(c *cola.Cola) {
	o.text("llm_container_type", c.LLMContainerType)
	o.text("llm_product_description", c.LLMProductDescription)
	o.integer("llm_brand_established_year", c.LLMBrandEstablishedYear)
	o.text("llm_category", c.LLMCategory)
	o.text("llm_category_path", c.LLMCategoryPath)
	o.list("llm_tasting_note_flavors", c.LLMTastingNoteFlavors)
	o.text("llm_artwork_credit", c.LLMArtworkCredit)
	o.text("llm_wine_designation", c.LLMWineDesignation)
	o.text("llm_beer_ibu", c.LLMBeerIBU)
	o.list("llm_beer_hops_varieties", c.LLMBeerHopsVarieties)
	o.integer("llm_liquor_aged_years", c.LLMLiquorAgedYears)
	o.text("llm_liquor_finishing_process", c.LLMLiquorFinishing)
	o.list("llm_liquor_grains", c.LLMLiquorGrains)
}

func (o *object) packaging(c *cola.Cola) {
	o.text("barcode_type", c.BarcodeType)
	o.text("barcode_value", c.BarcodeValue)
	o.text("qrcode_url", c.QRCodeURL)
	o.flag("has_front_image", c.HasFrontImage)
	o.flag("has_back_image", c.HasBackImage)
	o.flag("has_neck_image", c.HasNeckImage)
	o.flag("has_strip_image", c.HasStripImage)
	o.text("main_image_url", c.MainImageURL)
	o.objects("images", len(c.Images), func(i int) { o.image(&c.Images[i]) })
	o.objects("barcodes", len(c.Barcodes), func(i int) { o.barcode(&c.Barcodes[i]) })
}

func (o *object) image(img *cola.Image) {
	o.text("ttb_image_id", cola.Text(img.TTBImageID))
	o.integer("image_index", cola.Some(img.ImageIndex))
	o.text("container_position", img.ContainerPosition)
	o.text("extension_type", img.ExtensionType)
	o.integer("width_pixels", img.WidthPixels)
	o.integer("height_pixels", img.HeightPixels)
	o.number("width_inches", img.WidthInches)
	o.number("height_inches", img.HeightInches)
	o.number("file_size_mb", img.FileSizeMB)
	o.integer("barcode_count", img.BarcodeCount)
	o.integer("qrcode_count", img.QRCodeCount)
	o.text("image_url", img.ImageURL)
}

func (o *object) barcode(b *cola.Barcode) {
	o.text("barcode_type", b.BarcodeType)
	o.text("barcode_value", cola.Text(b.BarcodeValue))
	o.text("ttb_image_id", b.TTBImageID)
	o.integer("width_pixels", b.WidthPixels)
	o.integer("height_pixels", b.HeightPixels)
	o.text("orientation", b.Orientation)
	o.text("relative_image_position", b.RelativeImagePosition)
}
