package web

import (
	"net/http"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
)

// SetQuota sets the five quota headers if the state is known.
func SetQuota(h http.Header, q cola.QuotaState) {
	if !q.Known() {
		return
	}
	h.Set("X-Detail-Views-Limit", strconv.Itoa(q.Limits.DetailViews))
	h.Set("X-Detail-Views-Remaining", strconv.Itoa(q.DetailViewsRemaining()))
	h.Set("X-List-Records-Limit", strconv.Itoa(q.Limits.ListRecords))
	h.Set("X-List-Records-Remaining", strconv.Itoa(q.ListRecordsRemaining()))
	h.Set("X-Quota-Reset", strconv.FormatInt(q.Period.End().Unix(), 10))
}

// QuotaHeaders returns the names of the quota headers.
func QuotaHeaders() []string {
	return []string{
		"X-Detail-Views-Limit", "X-Detail-Views-Remaining", "X-List-Records-Limit", "X-List-Records-Remaining",
		"X-Quota-Reset",
	}
}
