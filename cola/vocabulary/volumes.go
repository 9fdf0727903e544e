package vocabulary

import (
	"math"
	"strings"
)

// VolumeUnits lists every unit of volume. Ounces, pints, quarts and gallons are US liquid measures;
// a beer barrel is 31 gallons.
func VolumeUnits() []string {
	return []string{"beer barrels", "fluid ounces", "gallons", "liters", "milliliters", "pints", "quarts"}
}

// usGallon is 231 cubic inches, in milliliters, by definition.
const usGallon = 3785.411784

// millilitersIn returns the size of a unit in milliliters, or 0 for an unknown unit. It ignores
// letter case.
func millilitersIn(unit string) float64 {
	switch strings.ToLower(unit) {
	case "milliliters":
		return 1
	case "liters":
		return 1000
	case "fluid ounces":
		return usGallon / 128
	case "pints":
		return usGallon / 8
	case "quarts":
		return usGallon / 4
	case "gallons":
		return usGallon
	case "beer barrels":
		return usGallon * 31
	}
	return 0
}

// Milliliters converts a volume and rounds it to 0.001 ml, so equal volumes in different units
// compare equal. ok is false for an unknown unit and for a volume that is negative, non-finite or
// too large.
func Milliliters(v float64, unit string) (ml float64, ok bool) {
	per := millilitersIn(unit)
	if per == 0 || !(v >= 0) {
		return 0, false
	}
	thousandths := math.Round(v * per * 1000)
	if math.IsInf(thousandths, 0) {
		return 0, false
	}
	return thousandths / 1000, true
}
