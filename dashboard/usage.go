package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// usageService contains the operations that the usage page uses.
type usageService interface {
	UsageReport(context.Context, cola.Caller, registry.UsageSpan) (registry.UsageReport, cola.QuotaState, error)
}

func usageRoutes() []route {
	return []route{get(usagePath, (*request).usage), get(usagePath+"/refusals", (*request).refusals)}
}

// refusalsShown is the number of rejections on the usage page.
const refusalsShown = 8

// usagePage shows an account's usage.
type usagePage struct {
	Forecasts []forecast
	Reset     time.Time
	Switches  []linkGroup
	Chart     chart
	CSVName   string
	Span      string // name of the span
	Rows      []usageRow
	Refusals  []refusalRow
	Refused   int // total number of rejection rows
}

func (req *request) usage() error {
	view := newUsageView(req.query())
	report, state, err := req.svc.UsageReport(req.ctx(), req.caller, view.span)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	keys, _, err := req.svc.Keys(req.ctx(), req.caller)
	if err != nil {
		return err
	}
	p := usagePage{
		Forecasts: forecasts(report), Reset: report.State.Period.End(),
		Switches: view.switches(), Chart: view.chart(report), Span: spanName(view.span),
		CSVName:  "usage-" + strings.ReplaceAll(view.unit.id, "_", "-") + "-by-" + view.by + "-" + string(view.span) + ".csv",
		Rows:     usageRows(report, keys),
		Refusals: refusalRows(report, refusalsShown), Refused: len(report.Refusals),
	}
	return req.show(http.StatusOK, "usage", page{Title: "Usage", Data: p,
		Call: req.call("GET", "/usage", freeCost).forTool("get_usage", nil)})
}

func (req *request) refusals() error {
	report, state, err := req.svc.UsageReport(req.ctx(), req.caller, registry.Last7Days)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.show(http.StatusOK, "refusals",
		page{Title: "Rejected requests", Data: refusalRows(report, len(report.Refusals))})
}

// usageRow is the usage of one credential through one channel.
type usageRow struct {
	Channel, Source, Kind string
	registry.Usage
}

func usageRows(r registry.UsageReport, keys []registry.Key) []usageRow {
	rows := make([]usageRow, len(r.Rows))
	for i, row := range r.Rows {
		rows[i] = usageRow{Channel: channelName(row.Channel), Source: sourceName(row),
			Kind: credentialText(row.Credential, keys), Usage: row.Total}
	}
	return rows
}

// credentialText describes a credential. For a key it includes the last characters, since names are
// not unique.
func credentialText(c cola.Credential, keys []registry.Key) string {
	switch c.Kind {
	case cola.CredentialKey:
		if i := slices.IndexFunc(keys, func(k registry.Key) bool { return k.ID == c.ID }); i >= 0 {
			return "key …" + keys[i].LastFour
		}
		return "key"
	case cola.CredentialLink:
		return "app"
	}
	return ""
}

// refusalRow is a group of requests rejected for the same reason.
type refusalRow struct {
	registry.Refusal
	Channel, Source, Why, Do string
	Link, LinkText           string // page to fix it; may be empty
}

// refusalRows returns at most limit rejections, latest first.
func refusalRows(r registry.UsageReport, limit int) []refusalRow {
	rows := make([]refusalRow, min(limit, len(r.Refusals)))
	for i := range rows {
		refused := r.Refusals[i]
		rows[i] = refusalText(refused.Reason, refused.Credential.Kind, r.State)
		rows[i].Refusal, rows[i].Channel = refused, channelName(refused.Channel)
		rows[i].Source = sourceName(registry.UsageRow{Credential: refused.Credential, Name: refused.Name})
	}
	return rows
}

// refusalText explains a rejection, and how to fix it, for a kind of credential.
func refusalText(reason string, by cola.CredentialKind, q cola.QuotaState) refusalRow {
	plans := refusalRow{Link: plansPath, LinkText: "Compare plans"}
	switch reason {
	case registry.RefusedBurst:
		plans.Why = "Rate limit: " + strconv.Itoa(q.Limits.PerMinute) + " requests per minute."
		plans.Do = "After a 429 response, wait the number of seconds in its Retry-After header."
	case registry.RefusedDetailViews:
		plans.Why, plans.Do = "Detail views used up.", "Wait until the quota resets on the 1st."
	case registry.RefusedListRecords:
		plans.Why, plans.Do = "List records used up.", "Wait until the quota resets on the 1st."
	case registry.RefusedScope:
		return explainError(cola.CodeInsufficientScope, 0, by, "", q).refusal()
	case registry.RefusedNetwork:
		return networkExplanation.refusal()
	case registry.RefusedCredential:
		return errorExplanations[cola.CodeUnauthorized].refusal()
	case registry.RefusedSuspended:
		return errorExplanations[cola.CodeAccountSuspended].refusal()
	default:
		return refusalRow{Why: stripHidden(reason)}
	}
	if q.Tier.Largest() {
		plans.Link = ""
	}
	return plans
}
