package dashboard

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestSuggestions checks that the fields of the search form name the kind of values that they
// suggest, and that the suggestions match the API's and are free.
func TestSuggestions(t *testing.T) {
	s := mustSite(t)
	before, form := s.used(), s.get("/explore")
	kinds := map[string]bool{}
	for parameter, fields := range suggestFields {
		form.shows(t, http.StatusOK, `name="`+parameter+`"`, `data-suggest="`+fields+`"`)
		for field := range strings.FieldsSeq(fields) {
			kinds[field] = true
		}
	}
	for field := range kinds {
		got := s.get(suggestionsPath + "?limit=3&q=a&field=" + field)
		want, _, err := s.registry.Suggest(t.Context(), s.browsers.callers[s.as],
			cola.SuggestParams{Field: field, Q: "a", Limit: cola.Some(3)})
		if err != nil || len(want.Values) == 0 {
			t.Fatalf("Suggest(%s) = %+v, %v, want suggestions", field, want, err)
		}
		var list suggestionList
		if err := json.Unmarshal([]byte(got.body), &list); err != nil {
			t.Fatalf("%s: %v:\n%s", field, err, got.body)
		}
		if diff := cmp.Diff(want.Values, list.Data); diff != "" || got.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d, suggestions (-want +got):\n%s", field, got.StatusCode, diff)
		}
	}
	s.costs(before, 0, 0)
}

// TestDatalists checks that the fields of a saved search with a list of suggestions have one.
func TestDatalists(t *testing.T) {
	form := mustSite(t).get("/saved-searches/new")
	for field, list := range datalists {
		form.shows(t, http.StatusOK, `name="filters.`+field+`"`, `list="`+list+`"`, `<datalist id="`+list+`"><option value="`)
	}
}

// TestRejectedSuggestions checks the responses to invalid parameters, scripts on other sites,
// signed-out users and requests over the rate limit.
func TestRejectedSuggestions(t *testing.T) {
	s := mustSite(t)
	for _, query := range []string{
		"", "?field=brand", "?field=vintage&q=a", "?field=origin&limit=99", "?field=origin&utm=1",
	} {
		s.get(suggestionsPath+query).shows(t, http.StatusBadRequest)
	}
	r := httptest.NewRequest(http.MethodGet, suggestionsPath+"?field=origin", nil)
	r.Header.Set("Sec-Fetch-Dest", "empty")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if got := s.send(r); got.StatusCode != http.StatusForbidden {
		t.Errorf("script on another site: status = %d, want 403", got.StatusCode)
	}
	if to := s.by("").get(suggestionsPath + "?field=origin").redirects(t); !strings.HasPrefix(to, signInPath) {
		t.Errorf("signed out: redirect to %s, want the sign-in page", to)
	}
	for range 60 {
		s.registry.Suggest(t.Context(), s.browsers.callers[s.as], cola.SuggestParams{Field: cola.SuggestOrigin})
	}
	got := s.get(suggestionsPath + "?field=origin")
	got.shows(t, http.StatusTooManyRequests)
	if got.Header.Get("Retry-After") == "" {
		t.Error("over the limit: Retry-After is missing")
	}
}
