package dashboard

import (
	"net/http"
	"strings"
	"testing"
)

// TestProblemSentence checks that problems name fields by their labels and leave quoted values
// alone.
func TestProblemSentence(t *testing.T) {
	for _, tt := range []struct{ field, message, want string }{
		{"abv_min", "Must not be greater than abv_max (12).", "Must not be greater than “Maximum ABV” (12)."},
		{"filters.volume_min", "Must not be greater than filters.volume_max (1).", "Must not be greater than “Maximum volume” (1)."},
		{"approval_date_from", "Can't be combined with date_range; omit one of them.", "Can't be combined with “Date range”; omit one of them."},
		{"abv_min", `"abv_max \" abv_max" is not a number.`, `"abv_max \" abv_max" is not a number.`},
		{"group_by", `"x" is not one of year, category_path.`, `"x" is not one of year, category path.`},
		{"strategies", `"x" is not one of exact, one_edit.`, `"x" is not one of exact, spelled almost the same.`},
		{"page", "101 is too large; use 1 to 100. Send next_cursor.", "101 is too large; use 1 to 100."},
		{"cursor", "Send next_cursor.", "This link is incomplete or belongs to a different search. Search again."},
		{"q", "Contains no_such_name.", "Contains no_such_name."},
	} {
		if got := problemSentence(tt.field, tt.message); got != tt.want {
			t.Errorf("problemSentence(%q, %q) = %q, want %q", tt.field, tt.message, got, tt.want)
		}
	}
}

// TestProblemsNameLabels checks that pages show labels instead of API names in problems and notes.
func TestProblemsNameLabels(t *testing.T) {
	s := mustSite(t)
	for url, tt := range map[string]struct {
		status    int
		want, not string
	}{
		"/explore?abv_min=14&abv_max=12": {http.StatusBadRequest, "“Maximum ABV” (12)", "than abv_max"},
		"/explore?approval_date_from=2026-05-01&approval_date_to=2025-01-01": {
			http.StatusBadRequest, "“Approved on or before” (2025-01-01)", "than approval_date_to",
		},
		"/explore?page=101":                               {http.StatusBadRequest, "101 is too large", "next_cursor"},
		"/trends?group_by=colour":                         {http.StatusBadRequest, "category path", "category_path,"},
		"/brands?q=zzyzzx&strategies=same_words,one_edit": {http.StatusOK, "(same words, spelled almost the same)", "ways: same_words"},
	} {
		page := s.get(url)
		page.shows(t, tt.status, tt.want)
		if strings.Contains(page.body, tt.not) {
			t.Errorf("%s shows %q", url, tt.not)
		}
	}
}
