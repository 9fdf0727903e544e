package alerts

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

func date(month time.Month, day int) cola.Date { return cola.NewDate(2026, month, day) }

func at(month time.Month, day, hour int) time.Time {
	return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
}

func TestWindow(t *testing.T) {
	monday := store.Mark{At: at(11, 9, 6), Revision: 700}
	kingston := time.FixedZone("UTC-5", -5*3600)
	for _, tt := range []struct {
		name     string
		mark     store.Mark
		now      time.Time
		approved cola.Date
		arrived  cola.Revision
		contains bool
		late     bool
	}{
		{"within", monday, at(11, 16, 6), date(11, 12), 800, true, false},
		{"first day", monday, at(11, 16, 6), date(11, 9), 800, true, false},
		{"first day, arrived before the last run", monday, at(11, 16, 6), date(11, 9), 600, true, false},
		{"last day", monday, at(11, 16, 6), date(11, 16), 800, true, false},
		{"after the last day", monday, at(11, 16, 6), date(11, 17), 800, false, false},
		{"late", monday, at(11, 16, 6), date(11, 8), 701, true, true},
		{"covered by the last run", monday, at(11, 16, 6), date(11, 8), 700, false, true},
		{"oldest late day", monday, at(11, 16, 6), date(8, 11), 701, true, true},
		{"too old", monday, at(11, 16, 6), date(8, 10), 701, false, true},
		{"evening in another time zone", monday,
			time.Date(2026, 11, 15, 22, 0, 0, 0, kingston), date(11, 16), 800, true, false},
		{"after an outage", monday, at(12, 24, 6), date(12, 1), 800, true, false},
		{"second run of a day", store.Mark{At: at(11, 16, 6), Revision: 800}, at(11, 16, 9), date(11, 16), 900, true, false},
		{"clock set back", store.Mark{At: at(11, 17, 6), Revision: 800}, at(11, 16, 6), date(11, 17), 900, true, false},
	} {
		w := windowOf(tt.mark, tt.now)
		if got := w.contains(tt.approved, tt.arrived); got != tt.contains {
			t.Errorf("%s: contains(%v, %d) = %v, want %v in %+v", tt.name, tt.approved, tt.arrived, got, tt.contains, w)
		}
		if got := w.isLate(tt.approved); got != tt.late {
			t.Errorf("%s: isLate(%v) = %v, want %v", tt.name, tt.approved, got, tt.late)
		}
	}
}

func TestMarkAfter(t *testing.T) {
	m := store.Mark{At: at(11, 9, 6), Revision: 700}
	for _, tt := range []struct {
		now  time.Time
		upto cola.Revision
		want store.Mark
	}{
		{at(11, 16, 6), 900, store.Mark{At: at(11, 16, 6), Revision: 900}},
		{at(11, 8, 6), 900, store.Mark{At: at(11, 9, 6), Revision: 900}},
		{at(11, 16, 6), 600, store.Mark{At: at(11, 16, 6), Revision: 700}},
	} {
		if got := markAfter(m, tt.now, tt.upto); got != tt.want {
			t.Errorf("markAfter(%v, %d) = %+v, want %+v", tt.now, tt.upto, got, tt.want)
		}
	}
}

// TestContiguousWindows checks, for runs at arbitrary times, that each window starts on the last
// day of the previous one, so it includes labels that arrive after that run.
func TestContiguousWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := store.Mark{At: at(1, 1, 0), Revision: 1}
		last := windowOf(m, m.At)
		for range rapid.IntRange(1, 30).Draw(t, "runs") {
			elapsed := rapid.Int64Range(-int64(48*time.Hour), int64(900*time.Hour)).Draw(t, "later")
			now := m.At.Add(time.Duration(elapsed))
			w := windowOf(m, now)
			if w.From != last.To || w.To < w.From || w.From-w.Late != cola.LateDays {
				t.Fatalf("window %+v does not start on the last day of %+v", w, last)
			}
			last, m = w, markAfter(m, now, m.Revision+1)
		}
	})
}

func TestReadFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		today := date(11, 20)
		need := today.AddDays(-rapid.IntRange(0, 9000).Draw(t, "days"))
		got := readFrom(today, need)
		switch behind := today - need; {
		case got > need:
			t.Fatalf("readFrom(%v, %v) = %v", today, need, got)
		case behind <= usualWindow && got != today-usualWindow:
			t.Fatalf("needed from %v, read from %v, want %v to avoid a second read", need, got, today-usualWindow)
		case behind > usualWindow && (got > need-behind/3 || got < need-behind):
			t.Fatalf("readFrom(%v, %v) = %v", today, need, got)
		}
	})
}

// bottled returns a label with the given product and container types.
func bottled(number int, kind vocabulary.ProductType, container string) cola.IndexRecord {
	label := oak(number, date(11, 9))
	label.Summary.ProductType, label.ContainerType = kind, container
	label.ABV = cola.Some(13.0)
	return label
}

// TestMatchedFilters checks that a match lists only the filters that the label matches and, among
// alternatives, only the matching options.
func TestMatchedFilters(t *testing.T) {
	on := cola.Some(true)
	for _, tt := range []struct {
		name    string
		filters cola.SavedSearchFilters
		want    []string
	}{
		{"one filter", oaks, []string{"1 [brand_name]", "2 [brand_name]", "3 [brand_name]", "4 [brand_name]"}},
		{"no filter", cola.SavedSearchFilters{}, []string{"1 []", "2 []", "3 []", "4 []"}},
		{
			"one option of each group",
			cola.SavedSearchFilters{TypeWine: on, ContainerCan: on, ABVMin: cola.Some(12.0), ABVMax: cola.Some(14.0)},
			[]string{"2 [type_wine abv_min abv_max container_can]"},
		},
		{
			"several options", cola.SavedSearchFilters{
				BrandName: "o", TypeWine: on, TypeMaltBeverage: on, ContainerCan: on, ContainerBottle: on,
			},
			[]string{
				"1 [brand_name type_wine container_bottle]", "2 [brand_name type_wine container_can]",
				"3 [brand_name type_malt_beverage container_can]",
			},
		},
		{
			"every option", cola.SavedSearchFilters{TypeWine: on, TypeMaltBeverage: on, TypeDistilledSpirit: on},
			[]string{"1 [type_wine]", "2 [type_wine]", "3 [type_malt_beverage]", "4 [type_distilled_spirit]"},
		},
		{"options without matches", cola.SavedSearchFilters{ContainerJug: on, ContainerBag: on}, nil},
		{"both origins", cola.SavedSearchFilters{OriginDomestic: on, OriginImported: on},
			[]string{"1 []", "2 []", "3 []", "4 []"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeStore(at(11, 9, 12))
			f.save("one", tt.filters, daily)
			f.write(bottled(1, vocabulary.Wine, "bottle"), false)
			f.write(bottled(2, vocabulary.Wine, "can"), false)
			f.write(bottled(3, vocabulary.MaltBeverage, "can"), false)
			f.write(bottled(4, vocabulary.DistilledSpirits, "keg"), false)
			f.clock = at(11, 10, 7)
			mustTick(t, New(Options{Store: f}), f.clock)
			var got []string
			for _, m := range f.recorded[0].new {
				got = append(got, fmt.Sprint(uint64(m.TTBID)-26001001000000, m.Met.Names()))
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("matched filters (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMatchedFiltersManyLabels uses labels from many days, some of them late. Every third
// one has a different product type.
func TestMatchedFiltersManyLabels(t *testing.T) {
	f := newFakeStore(at(11, 9, 12))
	f.save("one",
		cola.SavedSearchFilters{TypeWine: cola.Some(true), TypeMaltBeverage: cola.Some(true), BrandName: "oak"}, daily)
	for i := range 60 {
		label := bottled(60-i, vocabulary.Wine, "can")
		label.Summary.ApprovalDate -= cola.Date(i * 7 % 40)
		if label.Summary.TTBID%3 == 0 {
			label.Summary.ProductType = vocabulary.MaltBeverage
		}
		f.write(label, false)
	}
	mustTick(t, New(Options{Store: f}), at(11, 10, 7))
	wine, malt := cola.FilterSetOf("brand_name", "type_wine"), cola.FilterSetOf("brand_name", "type_malt_beverage")
	for _, m := range f.recorded[0].new {
		want := wine
		if m.TTBID%3 == 0 {
			want = malt
		}
		if m.Met != want {
			t.Errorf("%v: matched filters = %v, want %v", m.TTBID, m.Met.Names(), want.Names())
		}
	}
	if n := len(f.recorded[0].new); n != 60 {
		t.Errorf("found %d labels, want 60", n)
	}
}
