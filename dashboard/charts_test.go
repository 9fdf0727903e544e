package dashboard

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/internal/web"
)

var update = flag.Bool("update", false, "update the golden files")

// TestChartGolden compares a rendered chart with its golden file.
func TestChartGolden(t *testing.T) {
	var steps []chartStep
	for i := range 10 {
		s := chartStep{Label: "Nov " + strconv.Itoa(i+1)}
		if i%3 == 0 {
			s.Below = s.Label
		}
		steps = append(steps, s)
	}
	p := newChart("some", "Detail views each day", "Day", "detail views", steps, []series{
		{Name: "REST API", Class: "one", Values: []int{120, 40, 0, 1, 300, 77, 0}},
		{Name: "<b>Assistants</b>", Class: "two", Values: []int{10, 40, 0, 0, 1, 230, 5}},
	})
	var got bytes.Buffer
	if err := parsePages(&web.Assets{}, time.Now)["usage"].ExecuteTemplate(&got, "plot", p); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "plot.html")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("chart (-want +got); to accept: go test ./dashboard -run TestChartGolden -update\n%s", diff)
	}
}

// segment is one series' part of a bar.
type segment struct{ x, bottom, width, height int }

// segmentsOf parses a path written by layersOf.
func segmentsOf(t *rapid.T, path string) []segment {
	var segments []segment
	for _, part := range strings.Split(path, "z") {
		if part == "" {
			continue
		}
		var numbers []int
		for _, word := range strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune("Mhv -", r) }) {
			n, err := strconv.Atoi(word)
			if err != nil {
				t.Fatalf("%q: %v", part, err)
			}
			numbers = append(numbers, n)
		}
		if len(numbers) != 5 || numbers[2] != numbers[4] {
			t.Fatalf("%q is not a segment", part)
		}
		segments = append(segments, segment{numbers[0], numbers[1], numbers[2], numbers[3]})
	}
	return segments
}

// TestBars checks that the segments of a bar stack without gaps, add up to its total height and
// stay within the chart.
func TestBars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := make([]chartStep, rapid.IntRange(1, 31).Draw(t, "steps"))
		past := rapid.IntRange(0, len(steps)).Draw(t, "past")
		most := rapid.SampledFrom([]int{1, 9, 1000, 1_000_000, 1 << 50}).Draw(t, "most")
		all := make([]series, rapid.IntRange(1, 6).Draw(t, "series"))
		for i := range all {
			all[i] = series{Class: seriesClasses()[i], Values: rapid.SliceOfN(rapid.IntRange(0, most), past,
				past).Draw(t, "values")}
		}
		p := newChart("p", "", "", "", steps, all)
		tops := map[int]int{} // height of each bar so far, by x
		for _, l := range p.Layers {
			for _, b := range segmentsOf(t, l.Path) {
				if b.bottom != barsBottom-tops[b.x] {
					t.Fatalf("segment starts at %d, want %d, the end of the one below", b.bottom, barsBottom-tops[b.x])
				}
				if b.height < 1 || b.width < 1 || b.x < barsLeft || b.x+b.width > barsRight {
					t.Fatalf("segment out of bounds: %+v", b)
				}
				tops[b.x] += b.height
			}
		}
		top, _ := roundLevels(maxValue(p.Totals))
		var drawn int
		for _, total := range p.Totals {
			if total > 0 {
				drawn++
			}
		}
		if drawn != len(tops) {
			t.Fatalf("%d bars, want %d, one per nonzero step", len(tops), drawn)
		}
		for i, total := range p.Totals {
			gap := max(1, (stepX(i+1, len(steps))-stepX(i, len(steps)))/6)
			if got, want := tops[stepX(i, len(steps))+gap], barHeight(total, top); got != want ||
				got > barsBottom-barsTop ||
				(got == 0) != (total == 0) {
				t.Fatalf("bar of %d has height %d, want %d", total, got, want)
			}
		}
	})
}

func TestRoundLevels(t *testing.T) {
	for _, test := range []struct {
		most   int
		labels string
	}{
		{0, "0 1"},
		{1, "0 1"},
		{3, "0 1 2 3"},
		{4, "0 1 2 3 4"},
		{5, "0 2 4 6"},
		{17, "0 5 10 15 20"},
		{40, "0 10 20 30 40"},
		{41, "0 20 40 60"},
		{1_900, "0 500 1k 1.5k 2k"},
		{36_000, "0 10k 20k 30k 40k"},
		{999_999, "0 500k 1M"},
		{1_700_000, "0 500k 1M 1.5M 2M"},
	} {
		top, levels := roundLevels(test.most)
		var labels []string
		for _, level := range levels {
			labels = append(labels, shortCount(level))
		}
		if got := strings.Join(labels, " "); got != test.labels || top < test.most {
			t.Errorf("roundLevels(%d) = %s, top %d; want %s", test.most, got, top, test.labels)
		}
	}
}
