package vocabulary

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// decimal matches a number as applicants write it. A comma is a decimal comma if one or two digits
// follow. With three digits, which could be thousands, there is no match.
const decimal = `(\d+(?:\.\d+)?|\.\d+|\d+,\d{1,2})`

// parseDecimal parses a match of decimal.
func parseDecimal(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// abvText matches percentages by volume, such as "12%", "ALC. 12.5% BY VOL." and "40% alc/vol".
var abvText = regexp.MustCompile(`^(?:alc(?:ohol|\.)? )?` + decimal +
	` ?(?:%|percent)?(?: ?abv| ?(?:alc(?:ohol|\.)?)?(?: ?/ ?| by | )?(?:vol(?:ume|\.)?))?$`)

// ParseABV reads an alcohol content as written on labels and TTB's forms. ok is false for other
// text, such as ranges, proof and percentages by weight.
func ParseABV(s string) (percent float64, ok bool) {
	m := abvText.FindStringSubmatch(foldMeasure(s))
	if m == nil {
		return 0, false
	}
	return parseDecimal(m[1])
}

func foldMeasure(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// volumePart matches one number with its unit. A period after a space is part of the next number,
// as in "1 PINT .9 FL. OZ."
var volumePart = regexp.MustCompile(`^` + decimal + ` ?([a-z]+(?:\.? ?[a-z]+)*\.?) ?`)

// ParseVolume reads net contents as written on labels and TTB's forms, such as "750 MILLILITERS",
// "12 FL. OZ." and "1 PINT 9.4 FL. OZ.". US measures listed from largest to smallest are added
// up in the smallest unit. ok is false for any other text, including a number without a unit.
func ParseVolume(s string) (v float64, unit string, ok bool) {
	rest := foldMeasure(s)
	for rest != "" {
		m := volumePart.FindStringSubmatch(rest)
		if m == nil {
			return 0, "", false
		}
		part, ok := parseDecimal(m[1])
		partUnit, scale := volumeUnit(m[2])
		if !ok || partUnit == "" {
			return 0, "", false
		}
		if unit != "" {
			larger := millilitersIn(unit) / millilitersIn(partUnit)
			if !usMeasure(unit) || !usMeasure(partUnit) || larger <= 1 {
				return 0, "", false
			}
			v *= larger
		}
		v, unit = v+part*scale, partUnit
		rest = rest[len(m[0]):]
	}
	return math.Round(v*1e6) / 1e6, unit, unit != ""
}

func usMeasure(unit string) bool { return unit != "liters" && unit != "milliliters" }

// VolumeUnitNamed returns the unit in VolumeUnits that a word such as "mL" or "FL. OZ." stands for.
// ok is false for other words.
func VolumeUnitNamed(word string) (unit string, ok bool) {
	unit, scale := volumeUnit(foldMeasure(word))
	return unit, unit != "" && scale == 1
}

// volumeUnit returns the unit to which volumes in the unit named by a folded word are converted,
// and the factor. It returns "" for an unknown word.
func volumeUnit(word string) (unit string, scale float64) {
	word = strings.Join(strings.Fields(strings.ReplaceAll(word, ".", " ")), " ")
	switch word {
	case "ml", "milliliter", "milliliters", "millilitre", "millilitres":
		return "milliliters", 1
	case "cl", "centiliter", "centiliters", "centilitre", "centilitres":
		return "milliliters", 10
	case "l", "liter", "liters", "litre", "litres":
		return "liters", 1
	case "fl oz", "floz", "oz", "fl ounce", "fl ounces", "fluid oz", "fluid ounce", "fluid ounces":
		return "fluid ounces", 1 // the net contents of a beverage are never a weight
	case "pt", "pint", "pints":
		return "pints", 1
	case "qt", "quart", "quarts":
		return "quarts", 1
	case "gal", "gallon", "gallons":
		return "gallons", 1
	case "bbl", "beer barrel", "beer barrels":
		return "beer barrels", 1
	}
	return "", 0
}
