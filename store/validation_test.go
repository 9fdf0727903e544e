package store_test

import (
	"testing"

	"github.com/colaregistry/colaregistry/store"
)

func TestFoldEmail(t *testing.T) {
	for email, want := range map[string]string{
		"":                               "",
		"Ann.O@Example.com":              "ann.o@example.com",
		"Ann.Ö@Example.com":              "ann.Ö@example.com",
		"MI\u212aE@github.com":           "mi\u212ae@github.com",
		"m\u0130ke@g\u0130thub.com":      "m\u0130ke@g\u0130thub.com",
		"\xc4@\xc5":                      "\xc4@\xc5",
		"A#b@example.com":                "a#b@example.com",
		"https://ID.example.com":         "https://id.example.com",
		"#https://ID.example.com":        "#https://id.example.com",
		"https://ID.example.com/Tenant#": "https://ID.example.com/Tenant#",
		"https://id.example.com#auth0|X": "https://id.example.com#auth0|X",
	} {
		if got := store.FoldEmail(email); got != want {
			t.Errorf("FoldEmail(%q) = %q, want %q", email, got, want)
		}
	}
}

// FuzzFoldEmail checks that two strings fold to the same result only if they differ at most in
// ASCII letter case.
func FuzzFoldEmail(f *testing.F) {
	for _, pair := range [][2]string{
		{"mike@github.com", "mi\u212ae@github.com"},
		{"mike@github.com", "m\u0130ke@g\u0130thub.com"}, {"MIKE@github.com", "mike@GITHUB.com"},
		{"s@example.com", "\u017f@example.com"}, {"https://ID#A", "https://ID#a"}, {"\xc3\x84", "\xc3\xa4"}, {"[", "{"}, {"@", "`"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if store.FoldEmail(a) == store.FoldEmail(b) && !sameInASCII(a, b) {
			t.Errorf("FoldEmail(%+q) = FoldEmail(%+q), want different results", a, b)
		}
		if folded := store.FoldEmail(a); !sameInASCII(folded, a) || store.FoldEmail(folded) != folded {
			t.Errorf("FoldEmail(%+q) = %+q, want a stable result that differs only in ASCII case", a, folded)
		}
	})
}

// sameInASCII reports whether two strings are equal except for ASCII letter case.
func sameInASCII(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		letter := a[i]|0x20 >= 'a' && a[i]|0x20 <= 'z'
		if a[i] != b[i] && (!letter || a[i]^b[i] != 0x20) {
			return false
		}
	}
	return true
}

// TestUniqueIdentityNames checks that valid identities have unique names, and that IsIdentityName
// recognizes every name.
func TestUniqueIdentityNames(t *testing.T) {
	seen := map[string]store.Identity{}
	for _, issuer := range []string{"https://a", "https://a/", "https://A", "https://a#b", "a", "://"} {
		for _, subject := range []string{"b", "B", "b#c", "#b", "c", "https://a#b"} {
			i := store.Identity{Issuer: issuer, Subject: subject}
			if i.Check("") != nil {
				continue
			}
			if other, known := seen[i.Name()]; known {
				t.Errorf("Name of %+v = Name of %+v, want different names", i, other)
			}
			seen[i.Name()] = i
			if !store.IsIdentityName(i.Name()) {
				t.Errorf("IsIdentityName(%q) = false, want true", i.Name())
			}
		}
	}
	if len(seen) != 4*6 {
		t.Errorf("%d identities passed Check, want %d: those of the four valid issuers", len(seen), 4*6)
	}
}
