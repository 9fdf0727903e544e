package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	aKey   = "lar_0123456789abcdefghijABCDEFGHIJ012345"
	aToken = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLXNpZ25hdHVyZQ"
	opaque = "opaque-secret-of-an-app"
)

// spellings returns the ways a client may write a secret in a URL or JSON.
func spellings(secret string) []string {
	var hex strings.Builder
	for _, b := range []byte(secret) {
		hex.WriteString("%")
		hex.WriteString(strings.ToLower(string("0123456789ABCDEF"[b>>4]) + string("0123456789ABCDEF"[b&15])))
	}
	return []string{
		secret, url.QueryEscape(secret), strings.ReplaceAll(secret, "_", "%5f"), strings.ReplaceAll(secret, "_", "%255F"), hex.String(),
	}
}

// leaks reports whether text contains a secret, or most of it, escaped up to twice.
func leaks(text, secret string) bool {
	for range 3 {
		for _, part := range []string{secret[:len(secret)-6], secret[6:]} {
			if strings.Contains(strings.ToLower(text), strings.ToLower(part)) {
				return true
			}
		}
		plain, err := url.QueryUnescape(text)
		if err != nil {
			return false
		}
		text = plain
	}
	return false
}

// TestScrub checks that no credential in headers, paths, queries or arguments gets through, however
// it is escaped.
func TestScrub(t *testing.T) {
	h := http.Header{}
	h.Set("X-API-Key", aKey)
	h.Add("Authorization", "Bearer "+opaque)
	own := credentialsOf(h)
	other := strings.Replace(aKey, "0123", "4567", 1) // not this request's key
	for _, secret := range []string{aKey, other, aToken, opaque} {
		for _, s := range spellings(secret) {
			for name, got := range map[string]string{
				"path":            own.scrubPath("/api/v1/" + s + "/x"),
				"part of a path":  own.scrubPath("/api/v1/x" + s),
				"value":           own.scrubQuery("a=1&q=" + s + "&b=2"),
				"name":            own.scrubQuery(s + "=1"),
				"name alone":      own.scrubQuery(s),
				"named parameter": own.scrubQuery("api_key=" + s),
				"in a sentence":   own.scrubQuery("q=my+key+is+" + s + "!"),
				"malformed pair":  own.scrubQuery("q=%zz" + s),
				"text":            own.scrub(`{"message":"Unknown path ` + secret + `."}`),
				"argument":        own.scrubJSON([]byte(`{"q":["x ` + secret + `"]}`)),
				"argument name":   own.scrubJSON([]byte(`{"` + secret + `":1}`)),
				"escaped JSON":    own.scrubJSON([]byte(`{"q":"` + strings.ReplaceAll(secret, "_", `\u005f`) + `"}`)),
			} {
				if leaks(got, secret) {
					t.Errorf("%s with %q: %q", name, s, got)
				}
			}
		}
	}
	for _, query := range []string{
		"token=hunter2hunter2", "access-token=hunter2hunter2", "X-API-Key=hunter2hunter2", "password=hunter2hunter2",
		"CLIENT_SECRET=hunter2hunter2", "key=hunter2hunter2", "Authorization=Bearer+hunter2hunter2", "url=https://ann:hunter2hunter2@example.com",
	} {
		if got := own.scrubQuery(query); leaks(got, "hunter2hunter2") {
			t.Errorf("%s: %q", query, got)
		}
	}
	if got := own.scrubJSON([]byte(`{"a":{"secret":{"deep":"hunter2hunter2"}},"b":[{"api_key":["hunter2hunter2"]}]}`)); leaks(got, "hunter2hunter2") {
		t.Errorf("members for secrets: %q", got)
	}
}

// TestScrubKeeps checks that ordinary requests are recorded as sent.
func TestScrubKeeps(t *testing.T) {
	var none credentials
	for _, query := range []string{
		"", "q=oak", "q=blue+moon&per_page=20&fields=ttb_id,brand_name", "approval_date_from=2026-01-01&origin=france",
		"q=regular_schedule", "q=bearer+share", "q=monkey+keyboard", "category=Wine+%3E+Red+Wine", "cursor=abc%3D%3D", "flag",
		"q=", "permit_number=CA-W-1", "url=https://example.com/a",
	} {
		if got := none.scrubQuery(query); got != query {
			t.Errorf("scrubQuery(%q) = %q", query, got)
		}
	}
	for _, path := range []string{"/api/v1/permittees/CA%2FW%2F1", "/api/v1/colas/12345", "/"} {
		if got := none.scrubPath(path); got != path {
			t.Errorf("scrubPath(%q) = %q", path, got)
		}
	}
	for _, arguments := range []string{"", `{"abv_min":12.50,"ids":[12345678901234567890],"q":"<b> oak"}`} {
		if got := none.scrubJSON([]byte(arguments)); got != arguments {
			t.Errorf("scrubJSON(%q) = %q", arguments, got)
		}
	}
}

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{
		"short": "short", "exactly 10": "exactly 10", "eleven chars": "eleven …", "ünïcödé": "ünïc…", "a\x00b\xff": "a\uFFFDb\uFFFD",
	} {
		if got := shorten(text, 10); got != want || len(got) > 10 {
			t.Errorf("shorten(%q) = %q (%d bytes), want %q", text, got, len(got), want)
		}
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("q=oak&api_key="+aKey, "x")
	f.Add("a=%zz&%00=\xff", "%")
	f.Add("&&==&", `{"q":"`+aToken+`"}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		var none credentials
		text := before + " " + aKey + " " + after
		arguments, _ := json.Marshal(map[string]string{before: text})
		for _, got := range []string{
			none.scrub(text), none.scrubQuery(before + "&q=" + url.QueryEscape(text)),
			none.scrubPath("/" + url.PathEscape(text)), none.scrubJSON(arguments),
		} {
			if len(text) < maxScrubbed/4 && !leaks(before+" "+after, aKey) && leaks(got, aKey) {
				t.Errorf("leak in %q", got)
			}
			if got = shorten(got, maxLoggedInput); !utf8.ValidString(got) || strings.Contains(got, "\x00") || len(got) > maxLoggedInput {
				t.Errorf("not storable: %q", got)
			}
		}
	})
}
