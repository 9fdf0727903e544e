package alerts

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/store"
)

var (
	benchDue    = flag.Int("due", 10_000, "number of saved searches due in BenchmarkTick")
	benchLabels = flag.Int("labels", 100_000, "number of labels in the registry in BenchmarkTick")
)

// searchesPerAccount is the number of active schedules per account.
const searchesPerAccount = cola.MaxActiveSchedules

// BenchmarkTick measures a tick with many due weekly searches after an ordinary week. Labels have
// been arriving for months, each three days after its approval. Set both flags; see
// docs/PERFORMANCE.md.
func BenchmarkTick(b *testing.B) {
	onBackends(b, func(b *testing.B, open opener) {
		now := at(11, 16, 7)
		st := open(b, func() time.Time { return now })
		mustFill(b, st, now)
		runner := New(Options{Store: st})
		b.ResetTimer()
		for b.Loop() {
			report := mustBenchTick(b, runner, now)
			b.ReportMetric(float64(report.Runs), "runs/op")
			b.ReportMetric(float64(report.Matches), "matches/op")
			b.ReportMetric(float64(report.Labels), "labels/op")
			b.ReportMetric(float64(mustCountMessages(b, st)), "messages/op")
			now = now.AddDate(0, 0, 7) // no labels arrive this week
		}
	})
}

func mustBenchTick(b *testing.B, r *Runner, now time.Time) Report {
	b.Helper()
	report, err := r.Tick(b.Context(), now)
	if err != nil || report.Runs != *benchDue {
		b.Fatalf("Tick = %+v, %v, want %d runs", report, err, *benchDue)
	}
	return report
}

// mustCountMessages returns the number of deliveries.
func mustCountMessages(b *testing.B, st store.Store) int {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	sizes, err := st.Sizes(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return sizes[store.ItemDelivery]
}

// revisionOf returns the revision at which a day's labels arrived.
func revisionOf(day cola.Date) cola.Revision { return cola.Revision(day) * 1_000 }

// mustFill fills a store with labels, and with searches that last ran a week ago.
func mustFill(b *testing.B, st store.Store, now time.Time) {
	b.Helper()
	if err := st.Fill(b.Context(), func(yield func(*store.Item, error) bool) {
		add := func(i store.Item) bool { return yield(&i, nil) }
		_ = yieldSearches(now, add) && yieldLabels(cola.DateOf(now), add)
	}); err != nil {
		b.Fatal(err)
	}
}

// yieldSearches yields accounts, then searches, then each account's own destination, until yield
// returns false.
func yieldSearches(now time.Time, yield func(store.Item) bool) bool {
	accounts := (*benchDue + searchesPerAccount - 1) / searchesPerAccount
	for n := range accounts {
		account := store.Account{
			ID: cola.AccountID(n + 1), Email: fmt.Sprintf("account%d@example.com", n),
			Tier: cola.TierFree, CreatedAt: now.AddDate(0, 0, -30), ActiveLimit: searchesPerAccount,
		}
		if !yield(store.Item{Kind: store.ItemAccount, Account: account}) {
			return false
		}
	}
	for n := range *benchDue {
		if !yield(store.Item{Kind: store.ItemSearch, Search: weekly(n, now)}) {
			return false
		}
	}
	for n := range accounts {
		if !yield(store.Item{Kind: store.ItemDestination, Destination: ownAddress(n, now)}) {
			return false
		}
	}
	return true
}

// ownAddress returns the initial destination of an account.
func ownAddress(n int, now time.Time) store.StoredDestination {
	d := store.StoredDestination{
		ID: int64(n + 1), Destination: store.Destination{Account: cola.AccountID(n + 1), Own: true},
	}
	d.UUID, d.Kind, d.State, d.CreatedAt = searchUUID(n), cola.KindEmail, cola.DestinationActive, cola.TimestampOf(now.AddDate(0, 0, -30))
	return d
}

// yieldLabels yields permittees, labels and the arrivals from the last few months, until yield
// returns false.
func yieldLabels(today cola.Date, yield func(store.Item) bool) bool {
	o := demo.Options{Colas: *benchLabels, Seed: 7, AsOf: today}
	for _, p := range demo.Permittees(o) {
		if !yield(store.Item{Kind: store.ItemPermittee, Permittee: store.StoredPermittee{Permittee: p}}) {
			return false
		}
	}
	var arrivals []store.StoredArrival
	for label := range demo.Labels(o) {
		label.Derive()
		if day := label.ApprovalDate; day > today-150 {
			arrivals = append(arrivals,
				store.StoredArrival{TTBID: label.TTBID, At: revisionOf(day + 3), ApprovalDate: day})
		}
		if !yield(store.Item{Kind: store.ItemCola, Cola: label}) {
			return false
		}
	}
	for _, a := range arrivals {
		if !yield(store.Item{Kind: store.ItemArrival, Arrival: a}) {
			return false
		}
	}
	return true
}

// weekly returns a search that ran a week ago and is due now.
func weekly(n int, now time.Time) store.StoredSearch {
	lastRun := now.AddDate(0, 0, -7)
	schedule := cola.Schedule{
		Active: true, Cadence: cola.CadenceWeekly, Day: int(now.Weekday()),
		NextRunAt: cola.Some(cola.TimestampOf(now.Add(-time.Hour))), LastRunAt: cola.Some(cola.TimestampOf(lastRun)),
	}
	return store.StoredSearch{
		ID: int64(n + 1), Account: cola.AccountID(n/searchesPerAccount + 1),
		Mark: store.Mark{At: lastRun, Revision: revisionOf(cola.DateOf(lastRun))},
		SavedSearch: cola.SavedSearch{
			UUID: searchUUID(n), Name: "weekly", Filters: typicalFilters(n),
			Schedule: &schedule, CreatedAt: cola.TimestampOf(now.AddDate(0, 0, -14)),
		},
	}
}

// typicalFilters returns filters that users typically save. Half of them search for a brand or part
// of one, the others for permit numbers, for an origin and category, for words, or for a product
// type in a state.
func typicalFilters(n int) cola.SavedSearchFilters {
	words := []string{
		"oak", "raven", "quarry", "hollow", "silent", "sleepy", "river", "stone", "black", "lind", "fox", "mill",
	}
	states := []string{"CA", "OR", "WA", "NY", "TX", "VA", "KY", "NJ"}
	word, state := words[n/8%len(words)], states[n/8%len(states)]
	switch n % 8 {
	case 0, 1, 2:
		return cola.SavedSearchFilters{BrandName: word, TypeWine: cola.Some(n%16 == 0)}
	case 3:
		return cola.SavedSearchFilters{BrandName: fmt.Sprintf("%s %c", word, 'a'+n/8%26)}
	case 4:
		return cola.SavedSearchFilters{PermitNumberText: fmt.Sprintf("%s-%d", state, n/8%1_000)}
	case 5:
		return cola.SavedSearchFilters{
			Country: []string{"france", "italy", "mexico", "scotland"}[n/8%4],
			ABVMin:  cola.Some(float64(n / 8 % 45)), DerivedCategory: "Wine > Red Wine",
		}
	case 6:
		return cola.SavedSearchFilters{Query: word + "*"}
	}
	return cola.SavedSearchFilters{
		ApplicantUSState: state, TypeDistilledSpirit: cola.Some(true), BrandName: string(rune('a' + n/8%26)),
	}
}
