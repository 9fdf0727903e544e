package dashboard

import (
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// sought is one thing that a saved search looks for, in words.
type sought struct {
	Label  string // of what
	Text   string
	phrase string // of a line of several
}

// looksFor says in words what filters look for.
func looksFor(f cola.SavedSearchFilters) (all []sought) {
	add := func(label, text, phrase string) {
		if text != "" {
			all = append(all, sought{label, legible(text), legible(phrase)})
		}
	}
	q := f.AsQuery()
	quoted := func(s string) string {
		if s == "" {
			return ""
		}
		return "“" + s + "”"
	}
	add("Words", quoted(f.Query), "words "+quoted(f.Query))
	add("Brand", containing(f.BrandName), "brand "+containing(f.BrandName))
	add("Product", anyOf(q.ProductTypes), anyOf(q.ProductTypes))
	add("Category", anyOf(q.Categories), "category "+anyOf(q.Categories))
	add("Category path", f.DerivedCategory, f.DerivedCategory)
	add("Made in the US", domesticWords[q.Domestic], q.Domestic)
	add("Country of origin", f.Country, "from "+f.Country)
	add("State of origin", f.USState, "from "+f.USState)
	add("Applicant in", f.ApplicantUSState, "applicant in "+f.ApplicantUSState)
	add("Permit number", containing(f.PermitNumberText), "permit number "+containing(f.PermitNumberText))
	abv := between(f.ABVMin, f.ABVMax, "% alcohol")
	add("Strength", abv, abv)
	volume := between(f.VolumeMin, f.VolumeMax, f.VolumeUnit)
	add("Net contents", volume, volume)
	add("Container", anyOf(q.Containers), anyOf(q.Containers))
	add("Status", f.ApplicationStatus, "status "+f.ApplicationStatus)
	add("Barcode", f.BarcodeValue, "barcode "+f.BarcodeValue)
	return all
}

// domesticWords are the origins as answers to whether a label is made in the United States. A state that shares its name with a country makes a search
// one of domestic labels, too.
var domesticWords = map[string]string{cola.Domestic: "yes", cola.Imported: "no, imported"}

// looksForLine says on one line what filters look for.
func looksForLine(f cola.SavedSearchFilters) string {
	all := looksFor(f)
	if len(all) == 0 {
		return "all labels"
	}
	phrases := make([]string, len(all))
	for i, s := range all {
		phrases[i] = s.phrase
	}
	return strings.Join(phrases, " · ")
}

func containing(text string) string {
	if text == "" {
		return ""
	}
	return "contains “" + text + "”"
}

// anyOf joins words of which any will do.
func anyOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// between says bounds in words; it is empty without any.
func between(low, high cola.Opt[float64], unit string) string {
	least, most := strconv.FormatFloat(low.V, 'f', -1, 64), strconv.FormatFloat(high.V, 'f', -1, 64)
	switch {
	case low.OK && high.OK:
		return least + " to " + most + " " + unit
	case low.OK:
		return "at least " + least + " " + unit
	case high.OK:
		return "at most " + most + " " + unit
	}
	return ""
}

// rhythm says when a schedule runs; it is empty for none.
func rhythm(s *cola.Schedule) string {
	if s == nil {
		return ""
	}
	switch s.Cadence {
	case cola.CadenceDaily:
		return "every day"
	case cola.CadenceWeekly:
		return "every " + time.Weekday(s.Day).String()
	}
	return "on the " + ordinal(s.Day) + " of every month"
}

// ordinal writes a day of a month: 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// searchState tells whether a saved search runs by itself.
type searchState struct {
	Word, Class string
	Why         string // a sentence or two; empty where there is nothing to say
}

// stateOf tells how the schedule of a search stands.
func stateOf(s *cola.Schedule) searchState {
	switch {
	case s == nil:
		return searchState{Word: "no schedule", Class: "soft", Why: "It has no schedule, so it does not run by itself. You can have it run now."}
	case s.PausedBecause.V == cola.PausedDowngraded:
		return searchState{Word: "held back", Class: "bad", Why: "It does not run: your account has more active searches than it may, and the oldest of them run. " +
			"Pause or delete another one, and it goes on. What it misses meanwhile its next run finds."}
	case s.PausedBecause.OK:
		return searchState{Word: "held back", Class: "bad", Why: "It does not run: the account is suspended. Ask the operator of this service. What it misses meanwhile its next run finds."}
	case !s.Active:
		return searchState{Word: "paused", Class: "soft", Why: "It is paused. Once you resume it, one run looks at all the time since."}
	}
	return searchState{Word: "active", Class: "good"}
}

// filterWords names filters that a label met, where their names do not do.
var filterWords = map[string]string{
	"query": "words", "type_malt_beverage": string(cola.MaltBeverage), "type_wine": string(cola.Wine), "type_distilled_spirit": string(cola.DistilledSpirits),
	"derived_beer": "category Beer", "derived_wine": "category Wine", "derived_liquor": "category Liquor", "derived_category": "category",
	"origin_domestic": cola.Domestic, "origin_imported": cola.Imported, "us_state": "state of origin", "country": "country of origin",
	"barcode_value": "barcode", "application_status": "status", "permit_number_text": "permit number", "applicant_us_state": "state of the applicant",
	"abv_min": "strength", "abv_max": "strength", "volume_min": "contents", "volume_max": "contents", "brand_name": "brand",
}

// met names the filters that a label met.
func met(s cola.FilterSet) string {
	var words []string
	said := map[string]bool{"volume_unit": true}
	for _, name := range s.Names() {
		word, known := filterWords[name]
		if !known {
			word = strings.TrimPrefix(name, "container_")
		}
		if !said[name] && !said[word] {
			said[word] = true
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

// labelName names a label by its brand and product.
func labelName(c *cola.ColaSummary) string {
	brand, product := legible(c.BrandName), legible(string(c.ProductName))
	if product == "" || product == brand {
		return brand
	}
	return brand + " – " + product
}
