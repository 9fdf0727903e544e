package cola

import "strings"

// WhyNot says why a saved search takes no dates; it is empty for the name of anything else.
func (SavedSearchParams) WhyNot(name string) string { return whyNoDate(name) }

// WhyNot says why a change takes no dates; it is empty for the name of anything else.
func (SavedSearchChangeParams) WhyNot(name string) string { return whyNoDate(name) }

// WhyNot says why a preview takes no dates; it is empty for the name of anything else.
func (PreviewParams) WhyNot(name string) string {
	if whyNoDate(name) == "" {
		return ""
	}
	return "A preview counts the last 30 days, each by itself. Leave it out."
}

// WhyNot says why there is no filter by date; it is empty for the name of anything else.
func (SavedSearchFilters) WhyNot(name string) string { return whyNoDate(name) }

func whyNoDate(name string) string {
	name = strings.ToLower(name)
	if !strings.HasPrefix(name, "approval_date") && !strings.HasPrefix(name, "date_") {
		return ""
	}
	return "Approval dates are not part of a saved search: each scheduled run looks at the time since the run before. Leave it out; for labels of a certain time search for them."
}
