package vocabulary

import "testing"

// TestWordKey checks words that have the same key, and words that don't.
func TestWordKey(t *testing.T) {
	for _, same := range [][]string{
		{"river", "rivers"}, {"berry", "berries"}, {"cookie", "cookies"}, {"pie", "pies"}, {"sky", "skies"},
		{"lady", "ladies"}, {"brie", "bries"}, {"box", "boxes"}, {"axe", "axes"}, {"church", "churches"},
		{"glass", "glasses"}, {"house", "houses"}, {"rose", "roses"}, {"horse", "horses"}, {"hero", "heroes"},
		{"shoe", "shoes"}, {"toe", "toes"}, {"tomato", "tomatoes"}, {"bus", "buses"}, {"lotus", "lotuses"},
		{"martini", "martinis"}, {"kiwi", "kiwis"}, {"chateau", "chateaux", "chateaus"}, {"goose", "geese"},
		{"wolf", "wolves"}, {"man", "men"}, {"mouse", "mice"}, {"ox", "oxen"}, {"leaf", "leaves"}, {"knife", "knives"},
		{"cooper", "coopers"}, {"whisky", "whiskey", "whiskies", "whiskeys"}, {"st", "saint", "saints"}, {"mt", "mount", "mounts"},
		{"7", "seven", "sevens"}, {"six", "sixes", "6"}, {"four", "4"}, {"twelve", "12"}, {"nineteen", "19"}, {"forty", "40"}, {"cache", "caches"}, {"prize", "prizes"},
	} {
		for _, w := range same[1:] {
			if WordKey(w) != WordKey(same[0]) {
				t.Errorf("WordKey(%q) = %q, WordKey(%q) = %q; want the same", same[0], WordKey(same[0]), w, WordKey(w))
			}
		}
	}
	for _, different := range [][2]string{
		{"gas", "ga"}, {"bas", "ba"}, {"bus", "bu"}, {"ross", "ros"}, {"glass", "glas"}, {"on", "one"}, {"forty", "four"},
		{"14", "forty"}, {"100", "hundred"}, {"1990s", "1990"}, {"toe", "to"}, {"she", "sh"}, {"wine", "win"}, {"pine", "pin"},
	} {
		if a, b := WordKey(different[0]), WordKey(different[1]); a == b {
			t.Errorf("WordKey(%q) = WordKey(%q) = %q, want different keys", different[0], different[1], a)
		}
	}
}
