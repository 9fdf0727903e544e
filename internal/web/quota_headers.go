package web

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
)

// SetQuota sets the five quota headers if the state is known.
func SetQuota(h http.Header, q cola.QuotaState) {
	if !q.Known() {
		return
	}
	values := []string{ // one allocation for the values of all headers
		strconv.Itoa(q.Limits.DetailViews), strconv.Itoa(q.DetailViewsRemaining()),
		strconv.Itoa(q.Limits.ListRecords), strconv.Itoa(q.ListRecordsRemaining()),
		strconv.FormatInt(q.Period.End().Unix(), 10),
	}
	for i, name := range quotaHeaders {
		h[name] = values[i : i+1 : i+1]
	}
}

// quotaHeaders are the names of the quota headers, in canonical form.
var quotaHeaders = [...]string{
	"X-Detail-Views-Limit", "X-Detail-Views-Remaining", "X-List-Records-Limit", "X-List-Records-Remaining", "X-Quota-Reset",
}

// QuotaHeaders returns the names of the quota headers.
func QuotaHeaders() []string { return slices.Clone(quotaHeaders[:]) }
