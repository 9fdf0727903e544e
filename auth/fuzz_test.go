package auth

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// FuzzParseToken checks that an accepted token names a supported algorithm and an issuer.
func FuzzParseToken(f *testing.F) {
	claims := encoded([]byte(`{"iss":"` + ourIssuer + `"}`))
	for _, header := range []string{
		`{"alg":"ES256","kid":"k1","typ":"at+jwt"}`, `{"alg":"none"}`, `{"alg":"HS256"}`, `{"alg":"ES256","alg":"none"}`,
		`{"alg":"RS256","crit":["b64"],"b64":false}`, `{"alg":"PS512","jwk":{"kty":"oct"}}`, `[]`, `{`, "\xff",
	} {
		f.Add(encoded([]byte(header)) + "." + claims + ".AAAA")
	}
	f.Add("..")
	f.Add(strings.Repeat("a.", 20))
	f.Fuzz(func(t *testing.T, raw string) {
		token, err := parseToken(raw)
		if err != nil {
			if cola.CodeOf(err) != cola.CodeUnauthorized {
				t.Fatalf("error = %v, want unauthorized", err)
			}
			return
		}
		if !slices.Contains(algorithms(), token.alg) || token.issuer == "" || len(raw) > maxToken || strings.Count(raw, ".") != 2 {
			t.Fatalf("accepted invalid token %+v", token)
		}
		if _, err := keySet(nil).verify(t.Context(), token); err == nil {
			t.Fatal("verified without a key")
		}
	})
}

// FuzzReadTokenClaims checks that accepted claims are complete, name our audience and are currently
// valid, no matter what the issuer signed.
func FuzzReadTokenClaims(f *testing.F) {
	now := time.Unix(1_800_000_000, 0)
	for _, claims := range []string{
		`{"iss":"i","aud":"a","sub":"s","client_id":"c","exp":1800000100,"scope":"saved_searches:write","email":"a@b.c","email_verified":true}`,
		`{"aud":["x","a"],"sub":"s","azp":"c","cid":"c","exp":1.8000001e9,"iat":1799999999.5,"scp":["saved_searches:write"]}`,
		`{"aud":"a","aud":"b","sub":"s"}`, `{"aud":"a","Sub":"s","exp":"1"}`, `{"cnf":{}}`, `{"exp":1e999}`, `null`, `{"a":{"a":[{}]}}`, "{\"sub\":\"\\u0000\"}",
	} {
		f.Add([]byte(claims), true)
		f.Add([]byte(claims), false)
	}
	f.Fuzz(func(t *testing.T, payload []byte, typed bool) {
		c, err := readTokenClaims(payload, typed, names{audiences: []string{"a"}}, now)
		if err != nil {
			if cola.CodeOf(err) != cola.CodeUnauthorized {
				t.Fatalf("error = %v, want unauthorized", err)
			}
			return
		}
		if !isName(c.subject) || !isName(c.client) || !c.expires.After(now.Add(-leeway)) {
			t.Fatalf("accepted invalid claims %+v", c)
		}
		var plain map[string]any
		if err := json.Unmarshal(payload, &plain); err != nil {
			t.Fatalf("accepted %q, which is not JSON: %v", payload, err)
		}
		if plain["sub"] != c.subject || plain["cnf"] != nil || !strings.Contains(toJSON(plain["aud"]), `"a"`) {
			t.Fatalf("readTokenClaims(%q) = %+v", payload, c)
		}
		if c.email != "" && plain["email"] != c.email {
			t.Fatalf("readTokenClaims(%q): email = %q", payload, c.email)
		}
	})
}

// FuzzAccountOfClaims checks that a new identity with a verified address gets an account with the
// same address, ignoring ASCII case, or an account without an address.
func FuzzAccountOfClaims(f *testing.F) {
	st, err := sqlite.Open(f.Context(), filepath.Join(f.TempDir(), "registry.db"), sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { st.Close() })
	if _, err := st.CreateAccount(f.Context(), "mike@github.com", cola.TierPro); err != nil {
		f.Fatal(err)
	}
	for _, email := range []string{
		"mike@github.com", "MIKE@GitHub.com", "mi\u212ae@github.com", "m\u0130ke@g\u0130thub.com", "m\u0131ke@github.com", "\uff4dike@github.com",
		"mike@github.com.", `"mike"@github.com`, "mike@github.com\x00", "mike@xn--github-.com", ourIssuer + "#mike",
	} {
		f.Add(email)
	}
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, email string) {
		payload := toJSON(map[string]any{"aud": "a", "sub": rand.Text(), "client_id": "c", "exp": now.Unix() + 60, "email": email, "email_verified": true})
		c, err := readTokenClaims([]byte(payload), true, names{audiences: []string{"a"}}, now)
		if err != nil {
			t.Fatal(err)
		}
		who := store.Identity{Issuer: ourIssuer, Subject: c.subject}
		account, err := st.AccountOf(t.Context(), who, c.email)
		if err != nil {
			t.Fatalf("AccountOf(%+q): %v", email, err)
		}
		if account.Email != who.Name() && !equalInASCII(account.Email, email) {
			t.Errorf("AccountOf(%+q) returned the account of %+q", email, account.Email)
		}
	})
}

// equalInASCII reports whether two strings are equal except for the case of ASCII letters. It
// deliberately shares no code with the implementation.
func equalInASCII(a, b string) bool {
	upper := func(s string) []byte {
		out := []byte(s)
		for i, c := range out {
			if 'a' <= c && c <= 'z' {
				out[i] = c - 32
			}
		}
		return out
	}
	return bytes.Equal(upper(a), upper(b))
}

// FuzzParseClaims checks that encoding/json reads an accepted object the same way.
func FuzzParseClaims(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, `{"a":1,"a":2}`, `{"a":1,"A":2}`, ` {"a" : [1, {"b":null}] } `, `{"a":1}x`, `{"a":1,}`, `{"\u0061":1,"a":2}`, `{"a"`, `[]`, `"a"`, ``, "{\"\xff\":1}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := parseClaims(data)
		if err != nil {
			return
		}
		var plain map[string]json.RawMessage
		if err := json.Unmarshal(data, &plain); err != nil || len(plain) != len(o) {
			t.Fatalf("parseClaims(%q): %d members, encoding/json: %d, %v", data, len(o), len(plain), err)
		}
		for name, value := range plain {
			if !bytes.Equal(bytes.TrimSpace(value), o[name]) {
				t.Fatalf("parseClaims(%q): %s = %q, encoding/json: %q", data, name, o[name], value)
			}
		}
	})
}
