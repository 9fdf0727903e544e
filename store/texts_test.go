package store_test

import (
	"testing"

	"github.com/colaregistry/colaregistry/store"
)

func TestFoldEmail(t *testing.T) {
	for email, want := range map[string]string{
		"":                               "",
		"Ann.Ö@Example.com":              "ann.ö@example.com",
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

// TestNamesAreTheirOwn: no two identities that pass have one name, and every name is known as one.
func TestNamesAreTheirOwn(t *testing.T) {
	seen := map[string]store.Identity{}
	for _, issuer := range []string{"https://a", "https://a/", "https://A", "https://a#b", "a", "://"} {
		for _, subject := range []string{"b", "B", "b#c", "#b", "c", "https://a#b"} {
			i := store.Identity{Issuer: issuer, Subject: subject}
			if i.Check("") != nil {
				continue
			}
			if other, known := seen[i.Name()]; known {
				t.Errorf("%+v and %+v have one name", i, other)
			}
			if seen[i.Name()] = i; !store.IsIdentityName(i.Name()) {
				t.Errorf("%q is not known as a name", i.Name())
			}
		}
	}
	if len(seen) != 4*6 {
		t.Errorf("%d identities passed, want those of four issuers", len(seen))
	}
}
