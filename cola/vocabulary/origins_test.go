package vocabulary

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestOriginNames(t *testing.T) {
	for _, tt := range []struct {
		words []string
		want  []string
	}{
		{[]string{"france", "French", "FRANCE", " french "}, []string{"FRANCE"}},
		{[]string{"california", "californian"}, []string{"CALIFORNIA"}},
		{[]string{"georgia", "Georgian"}, []string{"GEORGIA", georgiaState, georgiaCountry}},
		{[]string{"GA", "ga"}, []string{georgiaState}},
		{[]string{"GE", "GEO"}, []string{georgiaCountry}},
		{[]string{"CA", "ca", " Ca "}, []string{"CALIFORNIA"}},
		{[]string{"CAN"}, []string{"CANADA"}},
		{[]string{"DE"}, []string{"DELAWARE"}},
		{[]string{"FR", "fra"}, []string{"FRANCE"}},
		{[]string{"DEU"}, []string{"GERMANY"}},
		{[]string{"DC", "D.C."}, []string{"DISTRICT OF COLUMBIA", "WASHINGTON DC"}},
		{[]string{"PR", "PRI"}, []string{"PUERTO RICO"}},
		{[]string{"SM", "SMR"}, []string{"REPUBLIC OF SAN MARINO", "SAN MARINO"}},
		{[]string{"AND"}, []string{"ANDORRA"}},
		{[]string{"XX"}, []string{"XX"}},
		{[]string{"carolinian"}, []string{"NORTH CAROLINA", "SOUTH CAROLINA"}},
		{[]string{"new zealand", "New Zealander", "kiwi"}, []string{"NEW ZEALAND"}},
		{[]string{"dutch", "holland", "the netherlands"}, []string{"NETHERLANDS", "THE NETHERLANDS", "HOLLAND"}},
		{[]string{"madagascar", "malagasy", "MADAGASCAR, REPUBLIC OF"}, []string{"MADAGASCAR, REPUBLIC OF", "MADAGASCAR"}},
		{[]string{"iraq", "iraqi", "IRAQ OR REPUBLIC OF IRAQ"}, []string{"IRAQ OR REPUBLIC OF IRAQ", "IRAQ", "REPUBLIC OF IRAQ"}},
		{[]string{"san marino"}, []string{"REPUBLIC OF SAN MARINO", "SAN MARINO"}},
		{[]string{"samoan", "SOMOA"}, []string{"SOMOA", "SAMOA"}},
		{[]string{"scottish", "Scotland"}, []string{"SCOTLAND"}},
		{[]string{"english"}, []string{"ENGLAND"}},
		{[]string{"curacao", "Curaçao"}, []string{"CURACAO"}},
		{[]string{"cote d'ivoire", "Côte d’Ivoire", "ivorian"}, []string{"IVORY COAST", "COTE D'IVOIRE"}},
		{[]string{"saint lucia", "st. lucia", "St Lucia"}, []string{"SAINT LUCIA"}},
		{[]string{"turkish", "Türkiye"}, []string{"TURKEY", "TURKIYE"}},
		{[]string{"trinidad and tobago", "trinidadian", "TRINIDAD/TOBAGO"}, []string{"TRINIDAD/TOBAGO", "TRINIDAD AND TOBAGO", "TRINIDAD", "TOBAGO"}},
		{[]string{"dominican"}, []string{"DOMINICAN REPUBLIC", "DOMINICA"}},
		{[]string{"narnia", " Narnia "}, []string{"NARNIA"}},
		{[]string{"middle  earth"}, []string{"MIDDLE EARTH"}},
		{[]string{"!"}, []string{"!"}}, // matches no label, unlike an empty filter
		{[]string{"", " \t"}, nil},
	} {
		for _, word := range tt.words {
			if diff := cmp.Diff(tt.want, OriginNames(word)); diff != "" {
				t.Errorf("OriginNames(%q) (-want +got):\n%s", word, diff)
			}
		}
	}
}

func TestOriginNamesKorea(t *testing.T) {
	for word, want := range map[string][]string{
		"korean": {"SOUTH KOREA", "NORTH KOREA", "KOREA"}, "south korean": {"SOUTH KOREA"}, "north korea": {"NORTH KOREA"},
	} {
		got := OriginNames(word)
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("OriginNames(%q) = %v, want %s in it", word, got, name)
			}
		}
	}
	if got := OriginNames("south korean"); slices.Contains(got, "NORTH KOREA") {
		t.Errorf("OriginNames(south korean) = %v", got)
	}
}

func TestOriginNamesCountryParts(t *testing.T) {
	for _, word := range []string{"usa", "U.S.A.", "US", "american", "USA", "America", "united states", "United States of America"} {
		got := OriginNames(word)
		for _, o := range Origins() {
			if place := PlaceOf(o.Name, o.ID, ""); o.Domestic != slices.Contains(got, place) {
				t.Errorf("OriginNames(%q) contains %q = %t, want %t", word, place, !o.Domestic, o.Domestic)
			}
		}
	}
	for _, word := range []string{"british", "UK", "GB", "gbr", "united kingdom", "great britain"} {
		got := OriginNames(word)
		for _, name := range []string{"UNITED KINGDOM", "GREAT BRITAIN", "ENGLAND", "SCOTLAND", "WALES", "NORTHERN IRELAND"} {
			if !slices.Contains(got, name) {
				t.Errorf("OriginNames(%q) does not contain %s", word, name)
			}
		}
		if slices.Contains(got, "IRELAND") || slices.Contains(got, "BERMUDA") {
			t.Errorf("OriginNames(%q) = %v", word, got)
		}
	}
}

func TestOriginByNameAnyCase(t *testing.T) {
	for _, o := range Origins() {
		for _, word := range []string{o.Name, strings.ToLower(o.Name), " " + strings.ToUpper(o.Name[:1]) + strings.ToLower(o.Name[1:])} {
			if got := OriginNames(word); !slices.Contains(got, o.Name) {
				t.Errorf("OriginNames(%q) = %v, want %s in it", word, got, o.Name)
			}
		}
	}
}

// TestPlaceAdjectives checks that every place can be found by adjective, as the parameter's
// documentation promises. Exceptions are names that are not places, and names of whole countries,
// whose adjectives are in the countries table.
func TestPlaceAdjectives(t *testing.T) {
	without := []string{"AMERICAN", "GREAT BRITAIN", "UNITED KINGDOM", "SINGANI", "MULTIPLE COUNTRIES", "ADMIN CODE"}
	for _, p := range places {
		if p.words == "" && !slices.Contains(without, p.name) {
			t.Errorf("%s has no adjective", p.name)
		}
		for _, word := range split(p.words, ",") {
			if !slices.Contains(OriginNames(strings.ToUpper(word)), p.name) {
				t.Errorf("OriginNames(%q) does not contain %s", word, p.name)
			}
			if word != FoldText(word) {
				t.Errorf("adjective %q of %s is not folded", word, p.name)
			}
		}
	}
}

func TestOriginsMatchTTB(t *testing.T) {
	var got [][]string
	for _, o := range Origins() {
		got = append(got, []string{o.ID, o.Name})
	}
	if diff := cmp.Diff(sharedCSV(t, "ttb/origin_codes.csv"), got); diff != "" {
		t.Errorf("origins (-TTB +got):\n%s", diff)
	}
}

func TestOriginCodes(t *testing.T) {
	seen := map[string]bool{}
	domestic := 0
	for _, o := range Origins() {
		if seen[o.ID] || len(o.ID) != 2 || o.Name != strings.ToUpper(o.Name) {
			t.Errorf("invalid or duplicate origin %+v", o)
		}
		seen[o.ID] = true
		if o.Domestic {
			domestic++
		}
	}
	if domestic != 50+3 {
		t.Errorf("%d domestic origins, want the 50 states, DC, Puerto Rico and AMERICAN", domestic)
	}
	for id, want := range map[string]bool{"00": true, "08": true, "6E": false, "4E": true, "4A": true, "4B": false, "9Q": false, "51": false} {
		for _, o := range Origins() {
			if o.ID == id && o.Domestic != want {
				t.Errorf("%s %s: domestic = %t, want %t", o.ID, o.Name, o.Domestic, want)
			}
		}
	}
}

func TestOriginNamesStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"usa", "french", "IRAQ", "côte d'ivoire"})).Draw(t, "word")
		names := OriginNames(word)
		if (names == nil) != (strings.TrimSpace(word) == "") {
			t.Fatalf("OriginNames(%q) = %v", word, names)
		}
		for i := range names {
			names[i] = "changed" // callers may modify the result
		}
		if slices.Contains(OriginNames(word), "changed") {
			t.Fatalf("OriginNames(%q) returns a shared list", word)
		}
	})
}

func TestFoldText(t *testing.T) {
	for in, want := range map[string]string{
		"  Château   D'Yquem ": "chateau d'yquem",
		"ÆRØ & Łódź":           "aero & lodz",
		"e\u0301clair":         "eclair",
		"STRASSE straße":       "strasse strasse",
		"plain text":           "plain text",
		"two  spaces":          "two spaces",
		"tab\tand\u00a0nbsp":   "tab and nbsp",
		"日本酒":                  "日本酒",
		"":                     "",
		" ":                    "",
	} {
		if got := FoldText(in); got != want {
			t.Errorf("FoldText(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzFoldText(f *testing.F) {
	f.Add("Château")
	f.Add("İ I ı ǆ \xff")
	f.Fuzz(func(t *testing.T, s string) {
		once := FoldText(s)
		if twice := FoldText(once); twice != once {
			t.Fatalf("FoldText(%q) = %q, folded again = %q", s, once, twice)
		}
	})
}

// TestPlaceOf checks that TTB's code, or else domestic_or_imported, distinguishes the two Georgias,
// and that the name is unchanged without either.
func TestPlaceOf(t *testing.T) {
	for _, tt := range []struct{ name, id, domestic, want string }{
		{"GEORGIA", "08", "", georgiaState},
		{"GEORGIA", "6E", Domestic, georgiaCountry},
		{"GEORGIA", "08", Imported, georgiaState},
		{"GEORGIA", "", Domestic, georgiaState},
		{"GEORGIA", "", Imported, georgiaCountry},
		{"GEORGIA", "51", Imported, georgiaCountry},
		{"Georgia", "6E", "", "Georgia" + georgiaCountry[len(georgia):]},
		{"GEORGIA", "", "", "GEORGIA"},
		{"FRANCE", "51", Imported, "FRANCE"},
		{"", "08", Domestic, ""},
	} {
		got := PlaceOf(tt.name, tt.id, tt.domestic)
		if got != tt.want || PlaceName(got) != tt.name {
			t.Errorf("PlaceOf(%q, %q, %q) = %q, named %q", tt.name, tt.id, tt.domestic, got, PlaceName(got))
		}
	}
	for _, name := range []string{"A\x1fB", "GEORGIA\x1f", "FRANCES\x1f08", "\x1f08"} {
		if got := PlaceName(name); got != name {
			t.Errorf("PlaceName(%q) = %q", name, got)
		}
	}
}

// TestOriginNote checks that only ambiguous words have a note, which says how to select each place.
func TestOriginNote(t *testing.T) {
	for word, want := range map[string][]string{
		"DE": {"Delaware", "germany", "DEU"}, "ca": {"California", "canada", "CAN"}, "GA": {"Georgia", "gabon", "GAB"},
		"co": {"Colorado", "colombia", "COL"}, "georgia": {"GA", "GE"}, "Georgian": {"GA", "GE"}, " GEORGIA ": {"GA", "GE"},
	} {
		got := OriginNote(word, "")
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("OriginNote(%q) = %q, want %s in it", word, got, part)
			}
		}
	}
	for _, word := range []string{"FR", "NY", "PR", "GU", "VI", "DEU", "germany", "US", "UK", "GE", "GEO", "XX", "american", ""} {
		if got := OriginNote(word, ""); got != "" {
			t.Errorf("OriginNote(%q) = %q", word, got)
		}
	}
}

// TestOriginNoteGeorgia checks that there is no note if domestic_or_imported selects one of the
// Georgias.
func TestOriginNoteGeorgia(t *testing.T) {
	for _, domestic := range []string{Domestic, Imported} {
		if got := OriginNote("georgia", domestic); got != "" {
			t.Errorf("OriginNote(georgia, %s) = %q, want none", domestic, got)
		}
		if OriginNote("DE", domestic) == "" {
			t.Errorf("OriginNote(DE, %s) is empty", domestic)
		}
	}
}

// TestCountryCodes checks that codes are unique, that a three-letter code means the same as the
// country's name, and that every country in the places table has codes.
func TestCountryCodes(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range countryCodes {
		codes := c.alpha2 + c.alpha3
		if seen[c.alpha2] || seen[c.alpha3] || len(c.alpha2) != 2 || len(c.alpha3) != 3 || codes != strings.ToUpper(codes) {
			t.Errorf("invalid or duplicate country codes %+v", c)
		}
		seen[c.alpha2], seen[c.alpha3] = true, true
		want := OriginNames(c.name)
		if c.alpha2 == "GE" {
			want = []string{georgiaCountry}
		}
		if got := OriginNames(c.alpha3); !IsOrigin(c.name) || !slices.Equal(got, want) {
			t.Errorf("OriginNames(%s) = %v, OriginNames(%s) = %v", c.alpha3, got, c.name, want)
		}
	}
	without := []string{
		"YUGOSLAVIA", "TIBET", "THE CHANNEL ISLANDS", "CZECHOSLOVAKIA", "WEST INDIES", "SINGANI", "EEC/EU (TTB USE ONLY)",
		"MULTIPLE COUNTRIES", "ADMIN CODE",
	}
	for _, p := range places {
		has := slices.ContainsFunc(countryCodes[:], func(c countryCode) bool { return slices.Contains(OriginNames(c.alpha3), p.searched()) })
		if p.country == "" && !has && !slices.Contains(without, p.name) {
			t.Errorf("no country code for %s", p.name)
		}
	}
}

func TestCoversSeveralOrigins(t *testing.T) {
	for word, want := range map[string]bool{
		"AMERICAN": true, "UNITED KINGDOM": true, "GEORGIA": true,
		"NETHERLANDS": false, "SOUTH KOREA": false, "TRINIDAD/TOBAGO": false, "FRANCE": false, "ATLANTIS": false, "": false,
	} {
		if got := CoversSeveralOrigins(word); got != want {
			t.Errorf("%q: %t, want %t", word, got, want)
		}
	}
}
