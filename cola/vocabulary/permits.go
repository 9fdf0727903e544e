package vocabulary

import "strings"

// NormalizePermit returns the stored form of a permit number: trimmed, in upper case.
func NormalizePermit(s string) string { return strings.ToUpper(strings.TrimSpace(s)) }

// PermitteeTypeOf returns TTB's name for the type of a permittee, or "" if the permit number doesn't
// imply one.
//
// Permit numbers have two to four parts. Plants start with their type (DSP-KY-113, BWN-CA-5412, BR-ME-MAI-7); the others
// start with the state, followed by a letter for the type (CA-I-881).
func PermitteeTypeOf(permit string) string {
	parts := strings.Split(NormalizePermit(permit), "-")
	if len(parts) < 2 || len(parts) > 4 || parts[len(parts)-1] == "" {
		return ""
	}
	switch parts[0] {
	case "DSP":
		return "Distilled Spirits Plant"
	case "BR":
		return "Brewery"
	case "BW", "BWN":
		return "Bonded Winery"
	case "BWC":
		return "Bonded Wine Cellar"
	case "TPWBH":
		return "Taxpaid Wine Bottling House"
	case "AFP":
		return "Alcohol Fuel Plant"
	}
	if len(parts) < 3 || !IsStateCode(parts[0]) {
		return ""
	}
	switch parts[1] {
	case "I":
		return "Importer (Alcohol)"
	case "P":
		return "Wholesaler (Alcohol)"
	case "W", "WS": // TTB's list of wine producers has both
		return "Wine Producer"
	}
	return ""
}

// IsStateCode reports whether s has the shape of a state code: two upper-case letters.
func IsStateCode(s string) bool {
	return len(s) == 2 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'A' && s[1] <= 'Z'
}
