package httpapi

import (
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/registry"
)

// SampleCall is a fixed call that the landing page shows with its response.
type SampleCall struct {
	Name     string // in the URL of the sample
	Curl     string
	Response []byte // JSON
}

// SampleCalls returns the calls of the samples with the responses of the API.
func SampleCalls(publicURL string, m *registry.Samples) ([]SampleCall, error) {
	// These fields need no service to look up others.
	fields := []string{"ttb_id", "brand_name", "product_name", "approval_date"}
	calls := []struct {
		name, path string
		query      url.Values
		result     result
	}{
		{"search", "/colas", params.Query(registry.SampleSearch()), renderColas(nil, m.Colas, fields)},
		{"brand", "/brands", params.Query(registry.SampleBrand()), renderBrands(m.Brands)},
		{"count", "/colas/stats", params.Query(registry.SampleCount()), renderCounts(m.Counts)},
	}
	calls[0].query.Set("fields", strings.Join(fields, ","))
	samples := make([]SampleCall, len(calls))
	for i, c := range calls {
		response, err := c.result.body.appendJSON(nil)
		if err != nil {
			return nil, err
		}
		samples[i] = SampleCall{c.name, exampleCall{method: "GET", server: publicURL, path: basePath + c.path + "?" + strings.ReplaceAll(c.query.Encode(), "%2C", ",")}.curl(), response}
	}
	return samples, nil
}
