package cola

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPeriodOf(t *testing.T) {
	west := time.FixedZone("UTC-8", -8*3600)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), "2026-11"},
		{time.Date(2026, 11, 30, 23, 59, 59, 999_999_999, time.UTC), "2026-11"},
		{time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), "2026-12"},
		{time.Date(2026, 12, 31, 16, 0, 0, 0, west), "2027-01"}, // midnight UTC
		{time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), "2027-01"},
	} {
		if got := PeriodOf(tt.at).String(); got != tt.want {
			t.Errorf("PeriodOf(%v) = %s, want %s", tt.at, got, tt.want)
		}
	}
}

func TestPeriodBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 250_000_000_000).Draw(t, "second"), 0)
		p := PeriodOf(at)
		if at.Before(p.Start()) || !at.Before(p.End()) {
			t.Fatalf("%v is outside period %s, %v to %v", at, p, p.Start(), p.End())
		}
		if p.Start().Day() != 1 || !p.Start().Equal(p.Start().Truncate(24*time.Hour)) {
			t.Fatalf("period %s starts at %v", p, p.Start())
		}
		if PeriodOf(p.Start()) != p || PeriodOf(p.End()) != p+1 || PeriodOf(p.End().Add(-time.Nanosecond)) != p {
			t.Fatalf("inexact bounds of period %s", p)
		}
	})
}

func TestTierLimits(t *testing.T) {
	for _, tt := range []struct {
		tier Tier
		want Limits
	}{
		{TierFree, Limits{DetailViews: 200, ListRecords: 10_000, PerMinute: 10}},
		{TierStarter, Limits{DetailViews: 2_000, ListRecords: 100_000, PerMinute: 60}},
		{TierPro, Limits{DetailViews: 10_000, ListRecords: 1_000_000, PerMinute: 120}},
		{"gold", Limits{}},
		{"", Limits{}},
	} {
		if got := tt.tier.Limits(); got != tt.want {
			t.Errorf("Limits(%q) = %+v, want %+v", tt.tier, got, tt.want)
		}
	}
	for _, tier := range Tiers() {
		if tier.Limits() == (Limits{}) {
			t.Errorf("tier %s has no limits", tier)
		}
	}
}

func TestQuotaStateStats(t *testing.T) {
	q := QuotaState{
		Tier:   TierFree,
		Period: PeriodOf(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)),
		Limits: TierFree.Limits(),
		Used:   Used{DetailViews: 12, ListRecords: 10_000},
	}
	want := UsageStats{
		Tier: TierFree, CurrentPeriod: "2026-11", PerMinuteLimit: 10,
		DetailViews: MeterUsage{Used: 12, Limit: 200, Remaining: 188},
		ListRecords: MeterUsage{Used: 10_000, Limit: 10_000, Remaining: 0},
	}
	if got := q.Stats(); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
	if !q.Known() || (QuotaState{}).Known() {
		t.Error("Known must be true exactly when the state has a tier")
	}
}

func TestRemainingNotNegative(t *testing.T) {
	downgraded := QuotaState{Tier: TierFree, Limits: TierFree.Limits(), Used: Used{DetailViews: 1_500, ListRecords: 70_000}}
	if d, l := downgraded.DetailViewsRemaining(), downgraded.ListRecordsRemaining(); d != 0 || l != 0 {
		t.Errorf("after a downgrade: %d detail views, %d list records remaining, want 0, 0", d, l)
	}
}

// TestPrice checks the prices of the tiers, and that an unknown tier has none.
func TestPrice(t *testing.T) {
	for tier, want := range map[Tier]struct {
		dollars int
		words   string
	}{TierFree: {0, "Free"}, TierStarter: {39, "$39 per month"}, TierPro: {99, "$99 per month"}, "other": {}} {
		if dollars, words := tier.MonthlyPrice(), tier.Price(); dollars != want.dollars || words != want.words {
			t.Errorf("%s: %d, %q; want %d, %q", tier, dollars, words, want.dollars, want.words)
		}
	}
}
