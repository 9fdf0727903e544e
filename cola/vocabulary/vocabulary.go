// Package vocabulary defines the terms used on labels and in searches, and how to compare them:
// product types, statuses, TTB's origins and class/type codes, category paths, US states, units of
// volume, permit numbers, barcodes, and the folding and correction of text. It uses only the
// standard library.
package vocabulary

// ProductType is the commodity of a label.
type ProductType string

// The product types.
const (
	Wine             ProductType = "wine"
	MaltBeverage     ProductType = "malt beverage"
	DistilledSpirits ProductType = "distilled spirits"
)

// ProductTypes lists every product type.
func ProductTypes() []string {
	return []string{string(Wine), string(MaltBeverage), string(DistilledSpirits)}
}

// The application statuses.
const (
	StatusApproved    = "approved"
	StatusExpired     = "expired"
	StatusSurrendered = "surrendered"
	StatusRevoked     = "revoked"
)

// Statuses lists every application status.
func Statuses() []string {
	return []string{StatusApproved, StatusExpired, StatusSurrendered, StatusRevoked}
}

// Where a product is made: in the United States or abroad.
const (
	Domestic = "domestic"
	Imported = "imported"
)
