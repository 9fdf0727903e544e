package cola

import (
	"fmt"
	"strings"
	"time"
)

// Tier is an account's plan.
type Tier string

// The tiers.
const (
	TierFree    Tier = "free"
	TierStarter Tier = "starter"
	TierPro     Tier = "pro"
)

// Tiers lists every tier, smallest first.
func Tiers() []Tier { return []Tier{TierFree, TierStarter, TierPro} }

// Largest reports whether t is the largest tier.
func (t Tier) Largest() bool { return t == TierPro }

// Recommended reports whether t is the tier to recommend to accounts that outgrow the free one.
func (t Tier) Recommended() bool { return t == TierStarter }

// Name returns the display name, such as "Starter".
func (t Tier) Name() string {
	if t == "" {
		return ""
	}
	return strings.ToUpper(string(t[:1])) + string(t[1:])
}

// Limits are the quotas and rate limit of a tier.
type Limits struct {
	DetailViews int `json:"detail_views"` // single-record lookups per calendar month (UTC)
	ListRecords int `json:"list_records"` // records in lists and searches per calendar month (UTC)
	PerMinute   int `json:"per_minute"`   // requests in any 60 seconds
}

// Limits returns the limits of the tier, zero for an unknown one.
func (t Tier) Limits() Limits {
	switch t {
	case TierFree:
		return Limits{DetailViews: 200, ListRecords: 10_000, PerMinute: 10}
	case TierStarter:
		return Limits{DetailViews: 2_000, ListRecords: 100_000, PerMinute: 60}
	case TierPro:
		return Limits{DetailViews: 10_000, ListRecords: 1_000_000, PerMinute: 120}
	}
	return Limits{}
}

// MonthlyPrice returns the price per month in US dollars, zero for an unknown tier.
func (t Tier) MonthlyPrice() int {
	switch t {
	case TierStarter:
		return 39
	case TierPro:
		return 99
	}
	return 0
}

// Price returns the price as display text, or an empty string for an unknown tier.
func (t Tier) Price() string {
	switch price := t.MonthlyPrice(); {
	case t == TierFree:
		return "Free"
	case price != 0:
		return fmt.Sprintf("$%d per month", price)
	}
	return ""
}

// Period is a calendar month in UTC, the period of quotas, as year*12 + month - 1.
type Period int32

// PeriodOf returns the month of t.
func PeriodOf(t time.Time) Period {
	t = t.UTC()
	return Period(t.Year()*12 + int(t.Month()) - 1)
}

// Start returns the start of the month.
func (p Period) Start() time.Time {
	return time.Date(int(p)/12, time.Month(int(p)%12+1), 1, 0, 0, 0, 0, time.UTC)
}

// End returns the start of the next month, when quotas reset.
func (p Period) End() time.Time { return (p + 1).Start() }

// String returns YYYY-MM.
func (p Period) String() string { return fmt.Sprintf("%04d-%02d", int(p)/12, int(p)%12+1) }

// Meter is the unit that a request is charged in.
type Meter string

// The meters.
const (
	MeterNone        Meter = ""             // free; the request still counts toward the rate limit
	MeterDetailViews Meter = "detail_views" // one per single-record lookup
	MeterListRecords Meter = "list_records" // one per record returned
)

// Used is an account's usage in one period.
type Used struct {
	DetailViews int
	ListRecords int
}

// Add adds units of a meter; it ignores MeterNone.
func (u *Used) Add(m Meter, units int) {
	switch m {
	case MeterDetailViews:
		u.DetailViews += units
	case MeterListRecords:
		u.ListRecords += units
	}
}

// QuotaState is the state of an account's quotas right after a request, for the quota headers and
// GET /usage.
type QuotaState struct {
	Tier   Tier
	Period Period
	Limits Limits
	Used   Used
	// Charged is the request's own charge, in units of its meter.
	Charged int
}

// DetailViewsRemaining returns the detail views left. It is never negative, even after a downgrade.
func (q QuotaState) DetailViewsRemaining() int {
	return max(0, q.Limits.DetailViews-q.Used.DetailViews)
}

// ListRecordsRemaining returns the list records left. It is never negative, even after a downgrade.
func (q QuotaState) ListRecordsRemaining() int {
	return max(0, q.Limits.ListRecords-q.Used.ListRecords)
}

// Known reports whether the state was read. It returns false if the request was rejected before the
// account lookup.
func (q QuotaState) Known() bool { return q.Tier != "" }

// UsageStats is the payload of GET /usage.
type UsageStats struct {
	Tier           Tier       `json:"tier" enum:"free,starter,pro" doc:"The account's plan." example:"free"`
	CurrentPeriod  string     `json:"current_period" doc:"Calendar month (UTC) of the counters, YYYY-MM." example:"2026-11"`
	DetailViews    MeterUsage `json:"detail_views" doc:"Single-record lookups this month."`
	ListRecords    MeterUsage `json:"list_records" doc:"Records returned by lists and searches this month."`
	PerMinuteLimit int        `json:"per_minute_limit" doc:"Requests allowed in any 60-second window." example:"10"`
	DataAsOf       Date       `json:"data_as_of" nullable:"true" format:"date" doc:"Latest change in TTB's registry that the data includes; null if there are no labels." example:"2026-11-20"`
}

// MeterUsage is one meter's usage and limit.
type MeterUsage struct {
	Used      int `json:"used" doc:"Units used this month." example:"12"`
	Limit     int `json:"limit" doc:"Units per month in the plan." example:"200"`
	Remaining int `json:"remaining" doc:"Units left this month." example:"188"`
}

// Stats returns the payload of GET /usage for the state.
func (q QuotaState) Stats() UsageStats {
	return UsageStats{
		Tier:           q.Tier,
		CurrentPeriod:  q.Period.String(),
		DetailViews:    MeterUsage{Used: q.Used.DetailViews, Limit: q.Limits.DetailViews, Remaining: q.DetailViewsRemaining()},
		ListRecords:    MeterUsage{Used: q.Used.ListRecords, Limit: q.Limits.ListRecords, Remaining: q.ListRecordsRemaining()},
		PerMinuteLimit: q.Limits.PerMinute,
	}
}
