// Package records defines the columns of stored records and merges patches into the records. The
// backends share this package and differ only in how they read and write.
package records

import (
	"fmt"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Column binds a column of a table to a field of a record. The same list of columns is used for
// reading, writing and comparing records.
type Column struct {
	Name  string
	Field any // pointer to the field
}

// Names returns the names of columns.
func Names(columns []Column) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.Name
	}
	return list
}

// Same reports whether two records have the same values in the given columns.
func Same(a, b []Column) bool {
	return slices.EqualFunc(a, b, func(a, b Column) bool { return sameField(a.Field, b.Field) })
}

// sameField compares the fields behind two pointers. Empty and unknown lists are equal.
func sameField(a, b any) bool {
	switch a := a.(type) {
	case *string:
		return equal(a, b)
	case *vocabulary.ProductType:
		return equal(a, b)
	case *cola.Text:
		return equal(a, b)
	case *cola.Date:
		return equal(a, b)
	case *cola.TTBID:
		return equal(a, b)
	case *int:
		return equal(a, b)
	case *bool:
		return equal(a, b)
	case *cola.Opt[int]:
		return equal(a, b)
	case *cola.Opt[float64]:
		return equal(a, b)
	case *cola.Opt[bool]:
		return equal(a, b)
	case *[]string:
		return slices.Equal(*a, *b.(*[]string))
	}
	panic(fmt.Sprintf("records: unsupported field type %T", a))
}

func equal[T comparable](a *T, b any) bool { return *a == *b.(*T) }

// ColaColumns lists the columns of a label's row, except its key and revision, in the order of the
// schema.
func ColaColumns(c *cola.Cola) []Column {
	return []Column{
		{"brand_name", &c.BrandName},
		{"product_name", &c.ProductName},
		{"product_type", &c.ProductType},
		{"class_name", &c.ClassName},
		{"origin_name", &c.OriginName},
		{"permit_number", &c.PermitNumber},
		{"application_status", &c.ApplicationStatus},
		{"approval_date", &c.ApprovalDate},
		{"image_count", &c.ImageCount},
		{"application_date", &c.ApplicationDate},
		{"domestic_or_imported", &c.DomesticOrImported},
		{"address_recipient", &c.AddressRecipient},
		{"address_state", &c.AddressState},
		{"llm_container_type", &c.LLMContainerType},
		{"llm_category_path", &c.LLMCategoryPath},
		{"abv", &c.ABV},
		{"volume", &c.Volume},
		{"volume_unit", &c.VolumeUnit},
		{"barcode_value", &c.BarcodeValue},
		{"barcode_type", &c.BarcodeType},
		{"application_type", &c.ApplicationType},
		{"expiration_date", &c.ExpirationDate},
		{"latest_update_date", &c.LatestUpdateDate},
		{"class_id", &c.ClassID},
		{"origin_id", &c.OriginID},
		{"is_distinctive_container", &c.IsDistinctiveContainer},
		{"for_distinctive_capacity", &c.ForDistinctiveCapacity},
		{"is_resubmission", &c.IsResubmission},
		{"for_resubmission_ttb_id", &c.ForResubmissionTTBID},
		{"for_exemption_state", &c.ForExemptionState},
		{"address_zip_code", &c.AddressZipCode},
		{"grape_varietals", &c.GrapeVarietals},
		{"wine_vintage_year", &c.WineVintageYear},
		{"wine_appellation", &c.WineAppellation},
		{"llm_product_description", &c.LLMProductDescription},
		{"llm_brand_established_year", &c.LLMBrandEstablishedYear},
		{"llm_category", &c.LLMCategory},
		{"llm_tasting_note_flavors", &c.LLMTastingNoteFlavors},
		{"llm_artwork_credit", &c.LLMArtworkCredit},
		{"llm_wine_designation", &c.LLMWineDesignation},
		{"llm_beer_ibu", &c.LLMBeerIBU},
		{"llm_beer_hops_varieties", &c.LLMBeerHopsVarieties},
		{"llm_liquor_aged_years", &c.LLMLiquorAgedYears},
		{"llm_liquor_finishing_process", &c.LLMLiquorFinishing},
		{"llm_liquor_grains", &c.LLMLiquorGrains},
		{"qrcode_url", &c.QRCodeURL},
		{"has_front_image", &c.HasFrontImage},
		{"has_back_image", &c.HasBackImage},
		{"has_neck_image", &c.HasNeckImage},
		{"has_strip_image", &c.HasStripImage},
		{"main_image_url", &c.MainImageURL},
		{"trade_name", &c.TradeName},
		{"serial_number", &c.SerialNumber},
		{"formula", &c.Formula},
		{"qualifications", &c.Qualifications},
		{"date_estimate", &c.DateEstimate},
	}
}

// IndexColumns lists the columns that the search index needs. The type of the main barcode is not a
// field of the record.
func IndexColumns(r *cola.IndexRecord, mainBarcodeType *string) []Column {
	s := &r.Summary
	return []Column{
		{"ttb_id", &s.TTBID},
		{"brand_name", &s.BrandName},
		{"product_name", &s.ProductName},
		{"product_type", &s.ProductType},
		{"class_name", &s.ClassName},
		{"origin_name", &s.OriginName},
		{"permit_number", &s.PermitNumber},
		{"application_status", &s.ApplicationStatus},
		{"approval_date", &s.ApprovalDate},
		{"date_estimate", &r.DateEstimate},
		{"image_count", &s.ImageCount},
		{"application_date", &r.ApplicationDate},
		{"latest_update_date", &r.LatestUpdateDate},
		{"class_id", &r.ClassID},
		{"origin_id", &r.OriginID},
		{"domestic_or_imported", &r.DomesticOrImported},
		{"address_recipient", &r.AddressRecipient},
		{"address_state", &r.AddressState},
		{"llm_container_type", &r.ContainerType},
		{"llm_category_path", &r.CategoryPath},
		{"grape_varietals", &r.GrapeVarietals},
		{"wine_appellation", &r.WineAppellation},
		{"abv", &r.ABV},
		{"volume", &r.Volume},
		{"volume_unit", &r.VolumeUnit},
		{"barcode_value", &r.MainBarcode},
		{"barcode_type", mainBarcodeType},
	}
}

// ImageColumns lists the columns of an image, except its key.
func ImageColumns(m *cola.Image) []Column {
	return []Column{
		{"ttb_image_id", &m.TTBImageID},
		{"image_index", &m.ImageIndex},
		{"container_position", &m.ContainerPosition},
		{"extension_type", &m.ExtensionType},
		{"file_name", &m.FileName},
		{"width_pixels", &m.WidthPixels},
		{"height_pixels", &m.HeightPixels},
		{"width_inches", &m.WidthInches},
		{"height_inches", &m.HeightInches},
		{"file_size_mb", &m.FileSizeMB},
		{"barcode_count", &m.BarcodeCount},
		{"qrcode_count", &m.QRCodeCount},
		{"image_url", &m.ImageURL},
	}
}

// BarcodeColumns lists the columns of a barcode, except its key.
func BarcodeColumns(b *cola.Barcode) []Column {
	return []Column{
		{"barcode_value", &b.BarcodeValue},
		{"barcode_type", &b.BarcodeType},
		{"ttb_image_id", &b.TTBImageID},
		{"width_pixels", &b.WidthPixels},
		{"height_pixels", &b.HeightPixels},
		{"orientation", &b.Orientation},
		{"relative_image_position", &b.RelativeImagePosition},
	}
}

// PermitteeColumns lists the columns of a permittee, except its key, revision and from_labels.
func PermitteeColumns(p *cola.Permittee) []Column {
	return []Column{
		{"company_name", &p.CompanyName},
		{"operating_name", &p.OperatingName},
		{"company_state", &p.CompanyState},
		{"company_zip_code", &p.CompanyZipCode},
		{"permittee_type", &p.PermitteeType},
		{"listed", &p.Listed},
	}
}
