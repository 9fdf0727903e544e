package vocabulary

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMilliliters(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		unit string
		want float64
	}{
		{750, "milliliters", 750},
		{0.75, "liters", 750},
		{1.75, "Liters", 1750},
		{12, "fluid ounces", 354.882},
		{1, "pints", 473.176},
		{1, "quarts", 946.353},
		{1, "gallons", 3785.412},
		{1, "beer barrels", 117347.765}, // 31 gallons
		{0, "gallons", 0},
		{0.0004, "milliliters", 0},
		{0.0005, "milliliters", 0.001},
	} {
		if got, ok := Milliliters(tt.v, tt.unit); !ok || got != tt.want {
			t.Errorf("%v %s = %v ml, %t; want %v", tt.v, tt.unit, got, ok, tt.want)
		}
	}
}

func TestMillilitersInvalid(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		unit string
	}{
		{1, ""}, {1, "liter"}, {1, "hogsheads"}, {-1, "liters"}, {math.NaN(), "liters"}, {math.Inf(1), "liters"}, {math.Inf(-1), "liters"},
		{math.MaxFloat64, "beer barrels"}, {math.MaxFloat64, "milliliters"},
	} {
		if got, ok := Milliliters(tt.v, tt.unit); ok || got != 0 {
			t.Errorf("Milliliters(%v, %q) = %v, %t, want 0, false", tt.v, tt.unit, got, ok)
		}
	}
}

func TestMillilitersUnits(t *testing.T) {
	for _, unit := range VolumeUnits() {
		if ml, ok := Milliliters(1, unit); !ok || ml <= 0 {
			t.Errorf("Milliliters(1, %s) = %v, %t", unit, ml, ok)
		}
	}
}

// TestMillilitersEqualVolumes checks that equal volumes in different units convert to the same
// number.
func TestMillilitersEqualVolumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := float64(rapid.IntRange(0, 100_000).Draw(t, "n"))
		for _, same := range []struct {
			v         float64
			unit      string
			w         float64
			otherUnit string
		}{
			{n, "gallons", 4 * n, "quarts"}, {n, "gallons", 8 * n, "pints"}, {n, "gallons", 128 * n, "fluid ounces"},
			{n, "beer barrels", 31 * n, "gallons"}, {n, "beer barrels", 31 * 128 * n, "fluid ounces"}, {n / 8, "gallons", n, "pints"},
			{n / 1000, "liters", n, "milliliters"}, {n / 10, "liters", 100 * n, "milliliters"},
		} {
			a, _ := Milliliters(same.v, same.unit)
			b, _ := Milliliters(same.w, same.otherUnit)
			if a != b {
				t.Fatalf("Milliliters(%v, %s) = %v, Milliliters(%v, %s) = %v, want them equal", same.v, same.unit, a, same.w, same.otherUnit, b)
			}
		}
	})
}

func TestMillilitersOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom(VolumeUnits()).Draw(t, "unit")
		a := rapid.Float64Range(0, 1e9).Draw(t, "a")
		b := rapid.Float64Range(a, 1e9).Draw(t, "b")
		x, _ := Milliliters(a, unit)
		y, _ := Milliliters(b, unit)
		if x > y {
			t.Fatalf("%v ≤ %v %s, but %v > %v ml", a, b, unit, x, y)
		}
	})
}
