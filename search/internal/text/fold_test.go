package text

import (
	"slices"
	"testing"
)

// TestFold checks that spellings that compare equal fold to the same text.
func TestFold(t *testing.T) {
	for folded, spellings := range map[string][]string{
		"":            {"", " ", "\t\n", "'", "’’"},
		"makers mark": {"Maker's Mark", "MAKER’S MARK", "makers  mark", " Makers\tMark ", "Maker`s Mark", "Maker´s Mark", "Makerʼs Mark"},
		"chateau":     {"Château", "CHÂTEAU", "Cha\u0302teau", "chateau"},
		"weissbier":   {"Weißbier", "WEISSBIER", "Weissbier", "WEIẞBIER"},
		"osterbro":    {"Østerbro", "ØSTERBRO"},
		"aegir":       {"Ægir", "ÆGIR", "aegir"},
		"oeuvre":      {"œuvre", "ŒUVRE"},
		"zolta":       {"Żółta", "ŻÓŁTA"},
		"thor":        {"Þor"},
		"dorde":       {"Đorđe"},
		"izmir":       {"İzmir", "IZMIR", "ızmir"},
		"rose":        {"Rosé", "ROSÉ"},
		"final":       {"ﬁnal"},
		"no 5":        {"№ 5", "Nº 5", "NO 5"},
		"12":          {"１２", "¹²"},
		"ανω":         {"Άνω", "ΑΝΩ"},
		"водка":       {"Водка"},
		"a&b - c.":    {"A&B - C."},
		"rock roll":   {"rock ' roll", "Rock\u00a0Roll", "rock\u3000roll"},
	} {
		for _, s := range spellings {
			if got := Fold(s); got != folded {
				t.Errorf("Fold(%q) = %q, want %q", s, got, folded)
			}
		}
	}
}

func TestContains(t *testing.T) {
	for _, c := range []struct {
		text, part string
		want       bool
	}{
		{"Château Lafite", "teau la", true},
		{"MAKER’S MARK", "makers", true},
		{"Napa Valley", "napa  valley", true},
		{"Napa Valley", "valleys", false},
		{"Napa Valley", "", true},
		{"Napa Valley", "'", false}, // folds to the empty string
		{"", "", true},
		{"", "a", false},
	} {
		if got := Contains(c.text, c.part); got != c.want {
			t.Errorf("Contains(%q, %q) = %v, want %v", c.text, c.part, got, c.want)
		}
	}
}

func TestBrandReadings(t *testing.T) {
	for name, want := range map[string][]string{
		"Copper & Kings":  {"copper kings"},
		"CHÂTEAU D’YQUEM": {"chateau dyquem", "chateau yquem"},
		"Chateau d Yquem": {"chateau d yquem", "chateau dyquem"},
		"Dell'Olmo":       {"dellolmo", "dell olmo"},
		"Cooper's Hawk":   {"coopers hawk", "cooper hawk"},
		"Don't":           {"dont"},
		"+++":             {"+++"},
	} {
		if got := BrandReadings(name); !slices.Equal(got, want) {
			t.Errorf("BrandReadings(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestBrandKey(t *testing.T) {
	for _, same := range [][]string{
		{"copper kings", "COPPER & KINGS", "Copper and Kings", "Copper+Kings", "COPPER  KINGS."},
		{"jp wisers", "J.P. Wiser's", "JP WISERS"},
		{"chateau d yquem", "Château d-Yquem"},
		{"sand brand", "Sand Brand"},
		{"and", "AND", "and"},
		{"+++", "+++"},
		{"", "", " ", "'"},
	} {
		for _, name := range same {
			if key := BrandKey(name); key != same[0] {
				t.Errorf("BrandKey(%q) = %q, want %q", name, key, same[0])
			}
		}
	}
}
