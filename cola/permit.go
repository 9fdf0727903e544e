package cola

import "strings"

// SettlePermit returns a permit number as the registry keeps and compares it: upper case, without white space around.
func SettlePermit(s string) string { return strings.ToUpper(strings.TrimSpace(s)) }

// PermitteeTypeOf tells the kind of permit from a permit number, in TTB's words, or returns "" when the number does not say.
//
// Permit numbers have two to four parts. Plants lead with their kind (DSP-KY-113, BWN-CA-5412, BR-ME-MAI-7); the others lead
// with the state and have a letter for the kind in the middle (CA-I-881).
func PermitteeTypeOf(permit string) string {
	parts := strings.Split(SettlePermit(permit), "-")
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
	if len(parts) < 3 || !isStateCode(parts[0]) {
		return ""
	}
	switch parts[1] {
	case "I":
		return "Importer (Alcohol)"
	case "P":
		return "Wholesaler (Alcohol)"
	case "W", "WS": // TTB's list of wine producers holds both
		return "Wine Producer"
	}
	return ""
}

// isStateCode reports whether s has the shape of a state code: two upper-case letters.
func isStateCode(s string) bool {
	return len(s) == 2 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'A' && s[1] <= 'Z'
}
