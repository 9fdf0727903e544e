package attack

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/dashboard"
	"github.com/colaregistry/colaregistry/internal/program"
)

// TestEmbeddedPages opens every dashboard page as a browser does when another page embeds,
// fetches or prefetches it, and checks that the account is not charged. The router lists the pages,
// so new pages are covered.
func TestEmbeddedPages(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		a := s.account("reader@example.com", cola.TierPro)
		browser := s.signIn("reader@example.com")
		pages := s.pages(a.Key.Reveal())
		before := s.used(a)
		for _, page := range pages {
			charged := strings.HasPrefix(page, "/explore") && !freeExplorePage.MatchString(page) || strings.Contains(page, "/explain?")
			for i, header := range embedding() {
				if i > 1 && !charged {
					break // all combinations would exceed the page rate limit
				}
				header.Set("Sec-Fetch-Site", "same-origin")
				time.Sleep(50 * time.Millisecond) // the pages alone would nearly reach the limit
				status := s.send(browser, http.MethodGet, page, header, nil).Status
				if status == http.StatusTooManyRequests || charged && status != http.StatusForbidden {
					t.Errorf("%s with %v: status %d; charged page: %t", page, header, status, charged)
				}
			}
		}
		if after := s.used(a); after != before {
			t.Errorf("embedded pages were charged: used %+v, then %+v", before, after)
		}
	})
}

// embedding returns the headers that browsers send when they load a page that the user did not
// open.
func embedding() (headers []http.Header) {
	headers = append(headers, http.Header{"Sec-Purpose": {"prefetch"}, "Sec-Fetch-Dest": {"document"}})
	for _, dest := range []string{
		"image", "iframe", "frame", "embed", "object", "empty", "script", "style",
		"video", "audio", "track", "worker",
	} {
		headers = append(headers, http.Header{"Sec-Fetch-Dest": {dest}})
	}
	for _, name := range []string{"Purpose", "X-Moz"} {
		headers = append(headers, http.Header{name: {"prefetch"}, "Sec-Fetch-Dest": {"document"}})
	}
	return append(headers, http.Header{"Accept": {"image/avif,image/webp,image/*,*/*;q=0.8"}})
}

// pages returns one URL for each dashboard page, using existing labels, permits and saved searches.
func (s *site) pages(key string) (pages []string) {
	s.t.Helper()
	label := s.rest(key, http.MethodGet, "/colas?per_page=1", nil).JSON(s.t)["data"].([]any)[0].(map[string]any)
	saved := s.rest(key, http.MethodPost, "/saved-searches", map[string]any{
		"name": "Wine", "filters": map[string]any{"type_wine": true, "query": "red"},
	}).JSON(s.t)
	values := strings.NewReplacer(
		"{ttb_id}", label["ttb_id"].(string), "permittees/*",
		"permittees/"+url.PathEscape(label["permit_number"].(string)),
		"{uuid}", saved["data"].(map[string]any)["uuid"].(string),
	)
	for _, pattern := range dashboard.Pages() {
		page := variable.ReplaceAllString(values.Replace(pattern), "1")
		pages = append(pages, page)
		if strings.HasSuffix(pattern, "/explain") {
			pages = append(pages, page+"?ttb_id="+label["ttb_id"].(string))
		}
	}
	return append(pages, "/explore?q=red", "/explore/permittees?q=a", "/explore/barcodes?barcode_value=1")
}

// freeExplorePage matches the free pages: forms and lists of reference data.
var freeExplorePage = regexp.MustCompile(
	`^/explore(/suggestions|/permittees|/barcodes|/avas|/production-reports|/processing-times(/formula|/registration)?)?$`)

var variable = regexp.MustCompile(`\{[a-z_]+\}`)

// TestHostileImageAddress imports a label whose image URLs are charged pages of this server, and
// checks that the label's page doesn't load or link to them.
func TestHostileImageAddress(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		s.account("reader@example.com", cola.TierPro)
		host := strings.TrimPrefix(s.URL, "http://")
		_, port, _ := strings.Cut(host, ":")
		target := "/explore/permittees/BWN-HOSTILE-1"
		var images []map[string]any
		for _, address := range []string{
			"https://" + host + target, "HTTPS://" + host + target, s.URL + target, s.URL + "/images/.." + target,
			s.URL + "/images/%2e%2e" + target,
			"https://reader@" + host + target, "https://127.1:" + port + target,
			"https://2130706433:" + port + target, "https://0x7f.1:" + port + target,
			"https://localhost:" + port + target, "https://LOCALHOST.:" + port + target,
			"https://[::ffff:127.0.0.1]:" + port + target,
			"https://１２７.0.0.1:" + port + target, `https:\\` + host + target, "//" + host + target,
			"/images/.." + target,
		} {
			images = append(images, map[string]any{
				"ttb_image_id":       "20001001000001-" + port,
				"container_position": "front", "extension_type": "jpg", "image_url": address,
			})
		}
		label, err := json.Marshal(map[string]any{
			"ttb_id": "20001001000001", "brand_name": "HOSTILE", "product_type": "wine",
			"permit_number": "BWN-HOSTILE-1",
			"approval_date": "2020-01-02", "images": images, "qr_code_url": "https://" + host + target,
			"main_image_url": "https://" + host + target,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.importLabels(label)
		browser := s.signIn("reader@example.com")
		page := s.send(browser, http.MethodGet, "/explore/20001001000001", nil, nil)
		if page.Status != http.StatusOK || !strings.Contains(string(page.Body), "HOSTILE") {
			t.Fatalf("label page: status %d, want 200 with HOSTILE: %s", page.Status, page.Body)
		}
		links := regexp.MustCompile(`<img [^>]*|<a [^>]*noreferrer[^>]*`)
		for _, found := range links.FindAllString(string(page.Body), -1) {
			if strings.Contains(found, "HOSTILE") {
				t.Errorf("page contains %s", found)
			}
		}
	})
}
