package ingest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// grapeShare matches the share of a grape in a blend, as in "60% Malbec".
var grapeShare = regexp.MustCompile(`^\d{1,3}(\.\d+)?\s*%\s*(?:of\s+)?\b`)

// colaSynonyms maps other names for label fields, mostly those on TTB's forms and pages, to the
// API's names.
var colaSynonyms = map[string]string{
	"ttbid":                  "ttb_id",
	"fanciful_name":          "product_name",
	"type_of_product":        "product_type",
	"source_of_product":      "domestic_or_imported",
	"status":                 "application_status",
	"type_of_application":    "application_type",
	"permit_no":              "permit_number",
	"serial_no":              "serial_number",
	"date_of_application":    "application_date",
	"date_issued":            "approval_date",
	"completed_date":         "latest_update_date",
	"class_code":             "class_id",
	"class_type_code":        "class_id",
	"class_type_desc":        "class_name",
	"class_type_description": "class_name",
	"origin_code":            "origin_id",
	"origin_desc":            "origin_name",
	"applicant_name":         "address_recipient",
	"for_sale_in":            "for_exemption_state",
	"total_bottle_capacity":  "for_distinctive_capacity",
	"grape_varietal":         "grape_varietals",
	"grape_varietal_s":       "grape_varietals", // "Grape Varietal(s)", folded
	"wine_vintage":           "wine_vintage_year",
	"alcohol_content":        "abv",
	"alcohol_by_volume":      "abv",
	"net_contents":           "volume",
}

// normalizeVocabulary converts a label's controlled-vocabulary values, which may use TTB's terms, to
// their stored form.
func normalizeVocabulary(c *cola.Cola) {
	c.PermitNumber = vocabulary.NormalizePermit(c.PermitNumber)
	c.ProductType = vocabulary.ProductTypeNamed(string(c.ProductType))
	c.LLMCategoryPath = cola.Text(vocabulary.NormalizeCategory(string(c.LLMCategoryPath)))
	c.WineAppellation = cola.Text(vocabulary.NormalizeAppellation(string(c.WineAppellation)))
	for _, word := range []*cola.Text{&c.ApplicationStatus, &c.DomesticOrImported, &c.VolumeUnit, &c.LLMContainerType} {
		lower(word)
	}
	if unit, ok := vocabulary.VolumeUnitNamed(string(c.VolumeUnit)); ok {
		c.VolumeUnit = cola.Text(unit)
	}
}

// setPosition converts the position of an image on the container to its stored form. TTB's form has
// one value for the front of a bottle and the collar of a keg.
func setPosition(image *cola.Image) {
	lower(&image.ContainerPosition)
	if image.ContainerPosition == "brand (front) or keg collar" {
		image.ContainerPosition = "front"
	}
}

func lower(t *cola.Text) { *t = cola.Text(strings.ToLower(string(*t))) }

// setUnit sets volume_unit to the unit that was part of the volume text.
func setUnit(r *recordReader, c *cola.Cola, present cola.Fields) cola.Fields {
	switch {
	case r.unit == "":
		return present
	case c.VolumeUnit != "" && string(c.VolumeUnit) != r.unit:
		r.problems.add("volume_unit", fmt.Errorf("%s differs from the unit in volume, %s", quote(c.VolumeUnit), r.unit))
		return present
	}
	c.VolumeUnit = cola.Text(r.unit)
	return present.With(volumeUnit)
}

// The fields that deriveCodes sets.
var (
	classID            = cola.FieldIndex[cola.Cola]("class_id")
	className          = cola.FieldIndex[cola.Cola]("class_name")
	originID           = cola.FieldIndex[cola.Cola]("origin_id")
	originName         = cola.FieldIndex[cola.Cola]("origin_name")
	productType        = cola.FieldIndex[cola.Cola]("product_type")
	domesticOrImported = cola.FieldIndex[cola.Cola]("domestic_or_imported")
)

// deriveCodes sets the fields that a label's class and origin imply, unless the row has them: code
// and name imply each other, the class implies the product type, and the origin implies whether the
// product is imported. A name shared by several codes implies only the values that all of them
// imply.
func deriveCodes(c *cola.Cola, present cola.Fields) cola.Fields {
	set := func(field int, to *cola.Text, value string) {
		if value != "" && !present.Has(field) {
			*to = cola.Text(value)
			present = present.With(field)
		}
	}
	var kind vocabulary.ProductType
	if c.ClassID != "" {
		kind, _ = vocabulary.ProductTypeOfClass(string(c.ClassID))
		set(className, &c.ClassName, ttbClasses[string(c.ClassID)])
	} else if class, ok := vocabulary.ClassNamed(string(c.ClassName)); ok {
		kind = class.ProductType
		set(classID, &c.ClassID, class.ID)
	}
	if kind != "" && !present.Has(productType) {
		c.ProductType = kind
		present = present.With(productType)
	}
	origin, known := ttbOrigins[string(c.OriginID)]
	if c.OriginID == "" {
		origin, known = vocabulary.OriginNamed(string(c.OriginName), string(c.DomesticOrImported))
	}
	if !known {
		return present
	}
	set(originID, &c.OriginID, origin.ID)
	set(originName, &c.OriginName, origin.Name)
	if origin.Domestic {
		set(domesticOrImported, &c.DomesticOrImported, vocabulary.Domestic)
	} else {
		set(domesticOrImported, &c.DomesticOrImported, vocabulary.Imported)
	}
	return present
}
