package cola

import (
	"cmp"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// ContainerTypes lists every searchable value of llm_container_type.
func ContainerTypes() []string {
	return []string{"bag", "bottle", "box", "can", "carton", "cask", "jug", "keg", "pod", "pouch"}
}

// ContainerPositions lists the positions on a container that a label image can have.
func ContainerPositions() []string { return []string{"front", "back", "neck", "strip", "other"} }

// ColaSummary is the list record for a label.
type ColaSummary struct {
	TTBID                TTBID                  `json:"ttb_id" pattern:"^[0-9]{14}$" doc:"TTB ID of the label, 14 digits." example:"11054001000049"`
	BrandName            string                 `json:"brand_name" doc:"Brand name on the label." example:"LENZ MOSER"`
	ProductName          Text                   `json:"product_name" nullable:"true" doc:"Fanciful name." example:"PRESTIGE"`
	ProductType          vocabulary.ProductType `json:"product_type" enum:"wine,malt beverage,distilled spirits" doc:"Product type." example:"wine"`
	ClassName            Text                   `json:"class_name" nullable:"true" doc:"TTB class and type of the product." example:"TABLE RED WINE"`
	OriginName           Text                   `json:"origin_name" nullable:"true" doc:"Country or US state of origin." example:"AUSTRIA"`
	PermitNumber         string                 `json:"permit_number" doc:"Permit number of the applicant; see GET /permittees/{permit_number}." example:"NJ-I-721"`
	ApplicationStatus    Text                   `json:"application_status" nullable:"true" enum:"approved,expired,surrendered,revoked" doc:"Status of the approval." example:"surrendered"`
	ApprovalDate         Date                   `json:"approval_date" nullable:"true" format:"date" doc:"Approval date; null if unknown." example:"2011-03-18"`
	ApprovalDateEstimate Date                   `json:"approval_date_estimate,omitempty" format:"date" doc:"Estimated approval date; only present if approval_date is null and an estimate is possible." example:"2011-03-15"`
	DateIsEstimated      bool                   `json:"date_is_estimated,omitempty" doc:"true if approval_date_estimate is used as the label's date; otherwise absent." example:"true"`
	ImageCount           int                    `json:"image_count" minimum:"0" doc:"Number of label images; 0 if unknown." example:"2"`
	HasBarcode           bool                   `json:"has_barcode" doc:"Whether the label has a known barcode." example:"true"`
}

// Cola is a complete label: the payload of GET /colas/{ttb_id} and the record in stores.
type Cola struct {
	ColaSummary

	// DateEstimate is the stored estimate, which remains when the approval date becomes known. The
	// store computes it; Derive sets ApprovalDateEstimate from it.
	DateEstimate Date `json:"-"`

	ApplicationType        Text      `json:"application_type" nullable:"true" doc:"Application type, as TTB names it." example:"LABEL APPROVAL"`
	ApplicationDate        Date      `json:"application_date" nullable:"true" format:"date" doc:"Application date." example:"2011-02-23"`
	ExpirationDate         Date      `json:"expiration_date" nullable:"true" format:"date" doc:"Expiration date, if the approval expires." example:"2025-10-23"`
	LatestUpdateDate       Date      `json:"latest_update_date" nullable:"true" format:"date" doc:"Date of the latest change in TTB's registry." example:"2025-07-16"`
	ClassID                Text      `json:"class_id" nullable:"true" doc:"TTB class and type code." example:"80"`
	OriginID               Text      `json:"origin_id" nullable:"true" doc:"TTB origin code." example:"64"`
	DomesticOrImported     Text      `json:"domestic_or_imported" nullable:"true" enum:"domestic,imported" doc:"Whether the product is made in the United States." example:"imported"`
	IsDistinctiveContainer Opt[bool] `json:"is_distinctive_container" nullable:"true" doc:"Whether the approval covers a distinctive container." example:"false"`
	ForDistinctiveCapacity Text      `json:"for_distinctive_capacity" nullable:"true" doc:"Capacity of the distinctive container, free text." example:"750 MILLILITERS"`
	IsResubmission         Opt[bool] `json:"is_resubmission" nullable:"true" doc:"Whether this resubmits an earlier application." example:"false"`
	ForResubmissionTTBID   TTBID     `json:"for_resubmission_ttb_id" nullable:"true" doc:"TTB ID of the earlier label, for a resubmission." example:"11024001000092"`
	ForExemptionState      Text      `json:"for_exemption_state" nullable:"true" doc:"State of sale, for a certificate of exemption." example:"NJ"`
	AddressRecipient       Text      `json:"address_recipient" nullable:"true" doc:"Name in the applicant's business address." example:"NIEDERHOFF IMPORTS INC"`
	AddressZipCode         Text      `json:"address_zip_code" nullable:"true" doc:"ZIP code of the applicant's business address." example:"07927"`
	AddressState           Text      `json:"address_state" nullable:"true" doc:"State of the applicant's business address." example:"NJ"`
	TradeName              Text      `json:"trade_name" nullable:"true" doc:"Applicant's trade name used on the label, if it differs." example:"NIEDERHOFF WINES"`
	SerialNumber           Text      `json:"serial_number" nullable:"true" doc:"Serial number that the applicant assigned to the application." example:"11NI11"`
	Formula                Text      `json:"formula" nullable:"true" doc:"Approved formula numbers." example:"1007041"`
	Qualifications         Text      `json:"qualifications" nullable:"true" doc:"Conditions of the approval, one per line." example:"NO MORE USE-UPS WILL BE GRANTED."`

	GrapeVarietals  []string `json:"grape_varietals" nullable:"false" doc:"Grape varietals, for wine." example:"[\"Zweigelt\"]"`
	WineVintageYear Opt[int] `json:"wine_vintage_year" nullable:"true" doc:"Vintage, for wine." example:"2009"`
	WineAppellation Text     `json:"wine_appellation" nullable:"true" doc:"Appellation, for wine." example:"BURGENLAND"`

	ABV        Opt[float64] `json:"abv" nullable:"true" minimum:"0" maximum:"100" doc:"Alcohol by volume, percent." example:"12.5"`
	Volume     Opt[float64] `json:"volume" nullable:"true" minimum:"0" doc:"Net contents, in volume_unit." example:"750"`
	VolumeUnit Text         `json:"volume_unit" nullable:"true" enum:"beer barrels,fluid ounces,gallons,liters,milliliters,pints,quarts" doc:"Unit of volume." example:"milliliters"`

	LLMContainerType        Text     `json:"llm_container_type" nullable:"true" doc:"Container type, derived from the label." example:"bottle"`
	LLMProductDescription   Text     `json:"llm_product_description" nullable:"true" doc:"Description, derived from the label." example:"A dry red wine from Burgenland."`
	LLMBrandEstablishedYear Opt[int] `json:"llm_brand_established_year" nullable:"true" doc:"Year the brand was established, derived from the label." example:"1849"`
	LLMCategory             Text     `json:"llm_category" nullable:"true" doc:"Last level of llm_category_path; null if the path is derived from the class." example:"Zweigelt"`
	LLMCategoryPath         Text     `json:"llm_category_path" nullable:"true" doc:"Category path, levels joined by ' > '; may stop short of the lowest level. Derived from the class/type if no other is known. Independent of product_type." example:"Wine > Red Wine > Zweigelt"`
	LLMTastingNoteFlavors   []string `json:"llm_tasting_note_flavors" nullable:"false" doc:"Flavors in the tasting notes." example:"[\"cherry\",\"pepper\"]"`
	LLMArtworkCredit        Text     `json:"llm_artwork_credit" nullable:"true" doc:"Artist credited on the label." example:"J. Huber"`
	LLMWineDesignation      Text     `json:"llm_wine_designation" nullable:"true" doc:"Wine designation, such as reserve." example:"reserve"`
	LLMBeerIBU              Text     `json:"llm_beer_ibu" nullable:"true" doc:"International bitterness units, for beer; text, because it may be a range." example:"45"`
	LLMBeerHopsVarieties    []string `json:"llm_beer_hops_varieties" nullable:"false" doc:"Hop varieties, for beer." example:"[\"Citra\"]"`
	LLMLiquorAgedYears      Opt[int] `json:"llm_liquor_aged_years" nullable:"true" minimum:"0" doc:"Age in years, for spirits." example:"12"`
	LLMLiquorFinishing      Text     `json:"llm_liquor_finishing_process" nullable:"true" doc:"Finishing process, for spirits." example:"sherry cask"`
	LLMLiquorGrains         []string `json:"llm_liquor_grains" nullable:"false" doc:"Grains, for spirits." example:"[\"rye\"]"`

	BarcodeType  Text `json:"barcode_type" nullable:"true" doc:"Type of the main barcode." example:"UPC-A"`
	BarcodeValue Text `json:"barcode_value" nullable:"true" doc:"Value of the main barcode: the one in the source data, or else the first value in the barcodes array." example:"036000291452"`
	QRCodeURL    Text `json:"qrcode_url" nullable:"true" doc:"URL in a QR code on the label." example:"https://example.com/wine"`

	HasFrontImage Opt[bool] `json:"has_front_image" nullable:"true" doc:"Whether a front image exists." example:"true"`
	HasBackImage  Opt[bool] `json:"has_back_image" nullable:"true" doc:"Whether a back image exists." example:"true"`
	HasNeckImage  Opt[bool] `json:"has_neck_image" nullable:"true" doc:"Whether a neck image exists." example:"false"`
	HasStripImage Opt[bool] `json:"has_strip_image" nullable:"true" doc:"Whether a strip image exists." example:"false"`

	MainImageURL Text      `json:"main_image_url" nullable:"true" doc:"URL of the front image, or of the first image." example:"https://example.com/images/11054001000049-1"`
	Images       []Image   `json:"images" nullable:"false" doc:"All label images."`
	Barcodes     []Barcode `json:"barcodes" nullable:"false" doc:"Barcodes extracted from the images."`
}

// Image is one label image. Package store/images stores its file, if it was fetched.
type Image struct {
	TTBImageID        string       `json:"ttb_image_id" doc:"ID of the image." example:"11054001000049-1"`
	ImageIndex        int          `json:"image_index" doc:"Position among the label's images, from 0." example:"0"`
	ContainerPosition Text         `json:"container_position" enum:"front,back,neck,strip,other" doc:"Position on the container; other if unknown." example:"front"`
	FileName          Text         `json:"file_name" nullable:"true" doc:"File name that the applicant chose; null if unknown." example:"front label.jpg"`
	ExtensionType     Text         `json:"extension_type" doc:"File name extension, or the string \"unknown\" if neither stated nor in image_url." example:"jpg"`
	WidthPixels       Opt[int]     `json:"width_pixels" nullable:"true" doc:"Width in pixels." example:"900"`
	HeightPixels      Opt[int]     `json:"height_pixels" nullable:"true" doc:"Height in pixels." example:"1200"`
	WidthInches       Opt[float64] `json:"width_inches" nullable:"true" doc:"Printed width in inches." example:"3"`
	HeightInches      Opt[float64] `json:"height_inches" nullable:"true" doc:"Printed height in inches." example:"4"`
	FileSizeMB        Opt[float64] `json:"file_size_mb" nullable:"true" doc:"File size in megabytes." example:"0.42"`
	BarcodeCount      Opt[int]     `json:"barcode_count" nullable:"true" doc:"Barcodes found in the image." example:"1"`
	QRCodeCount       Opt[int]     `json:"qrcode_count" nullable:"true" doc:"QR codes found in the image." example:"0"`
	ImageURL          Text         `json:"image_url" nullable:"true" doc:"URL of the image. If this server has the file, ?width=320 returns a smaller one." example:"https://example.com/images/11054001000049-1"`
}

// Barcode is one barcode extracted from a label image.
type Barcode struct {
	BarcodeType           Text     `json:"barcode_type" doc:"Symbology, or the string \"unknown\" if neither stated nor implied by the digits." example:"UPC-A"`
	BarcodeValue          string   `json:"barcode_value" doc:"Value as read." example:"036000291452"`
	TTBImageID            Text     `json:"ttb_image_id" doc:"Image it was read from; the label's ttb_id if unknown." example:"11054001000049-2"`
	WidthPixels           Opt[int] `json:"width_pixels" nullable:"true" doc:"Width in pixels." example:"210"`
	HeightPixels          Opt[int] `json:"height_pixels" nullable:"true" doc:"Height in pixels." example:"90"`
	Orientation           Text     `json:"orientation" nullable:"true" doc:"Orientation, such as horizontal." example:"horizontal"`
	RelativeImagePosition Text     `json:"relative_image_position" nullable:"true" doc:"Position in the image." example:"bottom right"`
}

// BarcodeResult is the payload of GET /barcode/{barcode_value}.
type BarcodeResult struct {
	BarcodeValue string        `json:"barcode_value" doc:"The requested value." example:"036000291452"`
	BarcodeType  Text          `json:"barcode_type" nullable:"true" doc:"Symbology of the barcode on these labels." example:"UPC-A"`
	Colas        []ColaSummary `json:"colas" nullable:"false" maxItems:"100" doc:"Labels with the barcode, newest approval first; at most 100."`
	TotalColas   int           `json:"total_colas" doc:"Number of labels with the barcode." example:"2"`

	TruncatedByQuota bool `json:"truncated_by_quota" doc:"Whether colas was truncated because the monthly quota of list records is used up." example:"false"`
}

// EffectiveDate returns the approval date or else its estimate; zero if the label is undated.
func (c *ColaSummary) EffectiveDate() Date { return cmp.Or(c.ApprovalDate, c.ApprovalDateEstimate) }

// SetEstimate sets the estimated date, unless the approval date is known.
func (c *ColaSummary) SetEstimate(estimate Date) {
	if c.ApprovalDate != 0 {
		estimate = 0
	}
	c.ApprovalDateEstimate, c.DateIsEstimated = estimate, estimate != 0
}

// EffectiveCategory returns the category path of the label: the stored one, or else the one that
// its class implies; empty if neither is known. An implied path is never stored, so that
// improvements to the class table apply to every label.
func (c *Cola) EffectiveCategory() string {
	return effectiveCategory(string(c.LLMCategoryPath), string(c.ClassID), string(c.ClassName))
}

// EffectiveCategory returns the category path of the label (see Cola.EffectiveCategory).
func (r *IndexRecord) EffectiveCategory() string {
	return effectiveCategory(r.CategoryPath, r.ClassID, string(r.Summary.ClassName))
}

func effectiveCategory(stored, classID, className string) string {
	if stored != "" {
		return stored
	}
	return vocabulary.CategoryOfClass(classID, className)
}

// Derive sets the fields that are derived from others: estimated date, image count and positions,
// main image, main barcode, has_barcode, category name, and required fields of images and barcodes.
// It replaces nil lists with empty ones. Derive is idempotent.
func (c *Cola) Derive() {
	c.SetEstimate(c.DateEstimate)
	c.completeImages()
	c.completeBarcodes()
	if len(c.Images) > 0 {
		c.ImageCount = len(c.Images)
		at := func(position Text) Opt[bool] {
			for i := range c.Images {
				if c.Images[i].ContainerPosition == position {
					return Some(true)
				}
			}
			return Some(false)
		}
		c.HasFrontImage, c.HasBackImage = at("front"), at("back")
		c.HasNeckImage, c.HasStripImage = at("neck"), at("strip")
		c.MainImageURL = mainImageURL(c.Images)
	}
	if c.BarcodeValue == "" && len(c.Barcodes) > 0 {
		c.BarcodeValue, c.BarcodeType = Text(c.Barcodes[0].BarcodeValue), c.Barcodes[0].BarcodeType
	}
	c.HasBarcode = c.BarcodeValue != ""
	if c.LLMCategory == "" && c.LLMCategoryPath != "" {
		c.LLMCategory = Text(vocabulary.CategoryLeaf(string(c.LLMCategoryPath)))
	}
	for _, list := range []*[]string{&c.GrapeVarietals, &c.LLMTastingNoteFlavors, &c.LLMBeerHopsVarieties, &c.LLMLiquorGrains} {
		if *list == nil {
			*list = []string{}
		}
	}
	if c.Images == nil {
		c.Images = []Image{}
	}
	if c.Barcodes == nil {
		c.Barcodes = []Barcode{}
	}
}

func mainImageURL(images []Image) Text {
	for i := range images {
		if images[i].ContainerPosition == "front" && images[i].ImageURL != "" {
			return images[i].ImageURL
		}
	}
	for i := range images {
		if images[i].ImageURL != "" {
			return images[i].ImageURL
		}
	}
	return ""
}

// Revision identifies a change to a store. Every record has the revision of its last change. A
// revision is the time in microseconds since 1970, but always greater than the previous one, so
// diverging copies of a store get different revisions.
type Revision int64

// IndexRecord is the part of a label that the search index needs.
type IndexRecord struct {
	Summary            ColaSummary
	ApplicationDate    Date
	LatestUpdateDate   Date
	DateEstimate       Date // set even if the approval date is known
	ClassID            string
	OriginID           string
	DomesticOrImported string
	AddressRecipient   string
	AddressState       string
	ContainerType      string
	CategoryPath       string // as stored; see EffectiveCategory
	GrapeVarietals     []string
	WineAppellation    string
	ABV                Opt[float64]
	Volume             Opt[float64] // in VolumeUnit
	VolumeUnit         string
	MainBarcode        string         // may be empty
	Barcodes           []IndexBarcode // the main barcode and every extracted one, distinct by value
}

// IndexBarcode is one barcode of a label.
type IndexBarcode struct{ Value, Type string }

// IndexRecord returns the part of the label that the search index needs.
func (c *Cola) IndexRecord() IndexRecord {
	r := IndexRecord{
		Summary:            c.ColaSummary,
		ApplicationDate:    c.ApplicationDate,
		LatestUpdateDate:   c.LatestUpdateDate,
		DateEstimate:       c.DateEstimate,
		ClassID:            string(c.ClassID),
		OriginID:           string(c.OriginID),
		DomesticOrImported: string(c.DomesticOrImported),
		AddressRecipient:   string(c.AddressRecipient),
		AddressState:       string(c.AddressState),
		ContainerType:      string(c.LLMContainerType),
		CategoryPath:       string(c.LLMCategoryPath),
		GrapeVarietals:     c.GrapeVarietals,
		WineAppellation:    string(c.WineAppellation),
		ABV:                c.ABV,
		Volume:             c.Volume,
		VolumeUnit:         string(c.VolumeUnit),
		MainBarcode:        string(c.BarcodeValue),
	}
	r.AddBarcode(string(c.BarcodeValue), string(c.BarcodeType))
	for _, b := range c.Barcodes {
		r.AddBarcode(b.BarcodeValue, string(b.BarcodeType))
	}
	return r
}

// AddBarcode adds a barcode unless it is empty or already present. An empty type is derived from
// the digits.
func (r *IndexRecord) AddBarcode(value, kind string) {
	if value == "" {
		return
	}
	if kind == "" {
		kind = vocabulary.BarcodeType(value)
	}
	for _, b := range r.Barcodes {
		if b.Value == value {
			return
		}
	}
	r.Barcodes = append(r.Barcodes, IndexBarcode{Value: value, Type: kind})
}

// ColaRow is the list record that tools return: a summary and fields that distinguish similar
// products.
type ColaRow struct {
	ColaSummary
	CompanyName Text         `json:"company_name" nullable:"true" doc:"Company that holds the permit." example:"NIEDERHOFF IMPORTS INC"`
	ABV         Opt[float64] `json:"abv" nullable:"true" doc:"Alcohol by volume, percent." example:"12.5"`
	VolumeML    Opt[float64] `json:"volume_ml" nullable:"true" doc:"Net contents in milliliters." example:"750"`
}
