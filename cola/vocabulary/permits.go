package vocabulary

import "strings"

// NormalizePermit returns the stored form of a permit number: trimmed, in upper case.
func NormalizePermit(s string) string { return strings.ToUpper(strings.TrimSpace(s)) }

// PermitteeTypeOf returns TTB's name for the type of a permittee, or "" if the permit number
// doesn't imply one.
//
// Permit numbers have two to four parts. Those for plants start with the type (DSP-KY-113,
// BWN-CA-5412, BR-ME-MAI-7); others start with the state, followed by one or two letters for the
// type (CA-I-881, CA-WS-2956).
func PermitteeTypeOf(permit string) string {
	parts := strings.Split(NormalizePermit(permit), "-")
	if len(parts) < 2 || len(parts) > 4 || parts[len(parts)-1] == "" {
		return ""
	}
	if kind, ok := plantTypes[parts[0]]; ok {
		return kind
	}
	if len(parts) < 3 || !IsStateCode(parts[0]) {
		return ""
	}
	return permitTypes[parts[1]]
}

// plantTypes are the types of permittees by the first part of the permit number.
var plantTypes = map[string]string{
	"DSP": "Distilled Spirits Plant", "BR": "Brewery", "BW": "Bonded Winery", "BWN": "Bonded Winery",
	"BWC": "Bonded Wine Cellar", "TPWBH": "Taxpaid Wine Bottling House", "AFP": "Alcohol Fuel Plant",
}

// permitTypes are the types of permittees by the letters after the state. TTB's list of wine
// producers has both W and WS.
var permitTypes = map[string]string{
	"I": "Importer (Alcohol)", "P": "Wholesaler (Alcohol)", "S": "Distilled Spirits Plant",
	"W": "Wine Producer", "WS": "Wine Producer",
}

// NormalizePermitteeType returns TTB's spelling of a permittee type. It returns an unknown type
// unchanged, with ok false.
func NormalizePermitteeType(s string) (name string, ok bool) {
	for _, types := range []map[string]string{plantTypes, permitTypes} {
		for _, name := range types {
			if strings.EqualFold(name, s) {
				return name, true
			}
		}
	}
	return s, false
}

// IsStateCode reports whether s looks like a state code: two upper-case letters.
func IsStateCode(s string) bool {
	return len(s) == 2 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'A' && s[1] <= 'Z'
}
