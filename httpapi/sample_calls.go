package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/registry"
)

// SampleCall is a fixed call that the landing page shows with its response.
type SampleCall struct {
	Name     string // part of the sample's URL
	Curl     string
	Response []byte // JSON
}

// SampleCalls returns the sample calls with the API's responses. It returns no calls if the samples
// don't include a brand search.
func SampleCalls(publicURL string, m *registry.Samples) ([]SampleCall, error) {
	if m.Calls.Check.Q == "" {
		return nil, nil
	}
	// renderColas needs a service only to look up fields that are not in cola.ColaSummary.
	fields := []string{"ttb_id", "brand_name", "product_name", "approval_date"}
	calls := []struct {
		name, path string
		query      url.Values
		result     result
	}{
		{"search", "/colas", params.Query(m.Calls.Search), renderColas(nil, m.Colas, fields)},
		{"brand", "/brands", params.Query(m.Calls.Check), renderBrands(m.Brands)},
		{"count", "/colas/stats", params.Query(m.Calls.Count), renderCounts(m.Counts)},
	}
	samples := make([]SampleCall, len(calls))
	for i, c := range calls {
		response, err := c.result.body.appendJSON(nil)
		if err != nil {
			return nil, err
		}
		query := withCommas(c.query.Encode())
		if i == 0 {
			query += "&fields=" + strings.Join(fields, ",")
		}
		call := exampleCall{method: http.MethodGet, server: publicURL, path: basePath + c.path, query: query}
		samples[i] = SampleCall{c.name, call.curl(), response}
	}
	return samples, nil
}
