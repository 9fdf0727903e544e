package attack

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/program"
)

// TestPreviewLabels previews searches for many brands, like a script that splits filters until
// every label is in some preview. Counts must keep working; labels must stop at the daily limit.
func TestPreviewLabels(t *testing.T) {
	onBoth(t, program.Options{Flags: []string{"--alerts", "off"}}, func(t *testing.T, s *site) {
		a := s.account("previews@example.com", cola.TierFree)
		const brands, each = 30, 4
		for n := range brands {
			s.addLabelsAt(n*each, fmt.Sprintf("QUARRY%02d", n), each, vocabulary.Wine)
		}
		browser := s.signIn("previews@example.com")
		s.awaitPreview(browser, fmt.Sprintf("quarry%02d", brands-1), each)
		named := map[string]bool{}
		for n := range brands {
			page := s.awaitPreview(browser, fmt.Sprintf("quarry%02d", n), each)
			for id := range distinct(page) {
				named[id] = true
			}
		}
		if len(named) != cola.MaxDailyPreviewLabels {
			t.Errorf("%d of %d labels named, want %d", len(named), brands*each, cola.MaxDailyPreviewLabels)
		}
		counted := s.rest(a.Key.Reveal(), http.MethodPost, "/saved-searches/preview",
			map[string]any{"filters": map[string]any{"brand_name": "quarry"}})
		if data, _ := counted.JSON(t)["data"].(map[string]any); data["total"] != float64(brands*each) ||
			ttbID.Match(counted.Body) {
			t.Errorf("API preview: status %d: %s", counted.Status, counted.Body)
		}
		if used := s.used(a); used != (cola.Used{}) {
			t.Errorf("used %+v, want no quota used", used)
		}
	})
}

// previewed matches the count in a preview.
var previewed = regexp.MustCompile(`([0-9,]+) labels? in the last 30 days`)

// awaitPreview returns a brand's preview once the index has its labels.
func (s *site) awaitPreview(browser *http.Client, brand string, labels int) string {
	s.t.Helper()
	form := url.Values{"filters.brand_name": {brand}}.Encode()
	var page response
	for range 150 {
		header := http.Header{
			"Origin": {s.URL}, "Content-Type": {"application/x-www-form-urlencoded"}, "Hx-Request": {"true"},
		}
		page = s.send(browser, http.MethodPost, "/saved-searches/preview", header, form)
		found := previewed.FindStringSubmatch(string(page.Body))
		if page.Status == http.StatusOK && found != nil && strings.ReplaceAll(found[1], ",", "") == fmt.Sprint(labels) {
			return string(page.Body)
		}
		time.Sleep(200 * time.Millisecond) // previews count toward the page rate limit
	}
	s.t.Fatalf("preview of %s: status %d: %s", brand, page.Status, page.Body)
	return ""
}
