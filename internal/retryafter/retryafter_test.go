package retryafter

import (
	"net/http"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		" 30 ":                          30 * time.Second,
		"99999999":                      99999999 * time.Second,
		"99999999999":                   0,
		"-1":                            0,
		"1.5":                           0,
		"soon":                          0,
		"Fri, 20 Nov 2026 12:01:00 GMT": time.Minute,
		"Fri, 20 Nov 2026 11:59:00 GMT": 0,
	} {
		if got := Of(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Of(%q) = %v, want %v", value, got, want)
		}
	}
	if got := Of(nil, now); got != 0 {
		t.Errorf("Of() = %v without a header, want 0", got)
	}
}
