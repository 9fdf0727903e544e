package cola

import "strconv"

// fingerprint hashes settled parameters, less page, per_page and cursor. What does not change the result does not count:
// letter case, accents, the order of several values, white space around a value, and a volume unit without a volume.
//
// The value must be the same in every process and, while a filter keeps its meaning, in every version of the program, because
// clients keep cursors across deployments. So each parameter counts under its name, and only when it is given. fold settles
// free text: FoldText, or asSent for the cursors of versions that told letter case apart.
func (p SearchParams) fingerprint(fold func(string) string) uint64 {
	h := fnvOffset
	h = h.text("q", fold(p.Q)).list("product_type", p.ProductType).list("category", p.Category)
	h = h.text("derived_subcategory", FoldPath(p.DerivedSubcategory)).text("origin", FoldText(p.Origin))
	h = h.text("domestic_or_imported", p.DomesticOrImported).text("status", p.Status)
	h = h.text("brand_name", fold(p.BrandName)).text("permit_number", p.PermitNumber).text("barcode_value", p.BarcodeValue)
	h = h.text("approval_date_from", p.ApprovalDateFrom.String()).text("approval_date_to", p.ApprovalDateTo.String())
	h = h.number("abv_min", p.ABVMin).number("abv_max", p.ABVMax)
	h = h.number("volume_min", p.VolumeMin).number("volume_max", p.VolumeMax)
	if p.VolumeMin.OK || p.VolumeMax.OK {
		h = h.text("volume_unit", p.VolumeUnit)
	}
	return uint64(h.list("container_type", p.ContainerType))
}

// asSent folds nothing.
func asSent(s string) string { return s }

// fnv is a running FNV-1a hash.
type fnv uint64

const (
	fnvOffset fnv = 14695981039346656037
	fnvPrime  fnv = 1099511628211
)

// text adds a parameter unless it is empty. Settled values hold no control characters, so a zero byte ends each part.
func (h fnv) text(name, value string) fnv {
	if value == "" {
		return h
	}
	return h.part(name).part(value)
}

// list adds each value of a parameter.
func (h fnv) list(name string, values []string) fnv {
	for _, v := range values {
		h = h.text(name, v)
	}
	return h
}

// number adds a number that is given.
func (h fnv) number(name string, v Opt[float64]) fnv {
	if !v.OK {
		return h
	}
	return h.text(name, strconv.FormatFloat(v.V, 'g', -1, 64))
}

func (h fnv) part(s string) fnv {
	for i := range len(s) {
		h = (h ^ fnv(s[i])) * fnvPrime
	}
	return h * fnvPrime // the zero byte
}
