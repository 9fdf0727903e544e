package httpapi

import (
	"strings"

	"github.com/colaregistry/colaregistry/registry"
)

// SampleCall is a fixed call that the landing page shows with its response.
type SampleCall struct {
	Name     string // in the URL of the sample
	Curl     string
	Response []byte // JSON
}

// SampleCalls returns the calls of the samples with the responses of the API. Their query strings
// are the parameters of registry.SampleSearch, SampleBrand and SampleCount.
func SampleCalls(publicURL string, m *registry.Samples) ([]SampleCall, error) {
	// These fields need no service to look up others.
	fields := []string{"ttb_id", "brand_name", "product_name", "approval_date"}
	calls := []struct {
		name, path string
		result     result
	}{
		{"search", "/colas?q=oak&product_type=wine&per_page=2&fields=" + strings.Join(fields, ","), renderColas(nil, m.Colas, fields)},
		{"brand", "/brands?q=Ravin+and+Oak&per_page=1", renderBrands(m.Brands)},
		{"count", "/colas/stats?group_by=year&q=oak&date_range=all&top=6", renderCounts(m.Counts)},
	}
	samples := make([]SampleCall, len(calls))
	for i, c := range calls {
		response, err := c.result.body.appendJSON(nil)
		if err != nil {
			return nil, err
		}
		samples[i] = SampleCall{c.name, exampleCall{method: "GET", server: publicURL, path: basePath + c.path}.curl(), response}
	}
	return samples, nil
}
