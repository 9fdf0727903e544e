package cola

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestChallengeCode(t *testing.T) {
	c := Challenge("KX7OBIFA" + "ABCDEFGHIJKLMNOPQR")
	if c.Code() != "KX7O-BIFA" {
		t.Errorf("Code = %s, want KX7O-BIFA", c.Code())
	}
	for typed, want := range map[string]bool{
		"KX7O-BIFA": true, "kx7obifa": true, " kx7o bifa\n": true, "KX70-81FA": true,
		"": false, "KX7O-BIF": false, "KX7O-BIFAA": false, "KX7O-BIFB": false, string(c): false,
	} {
		if got := c.Matches(typed); got != want {
			t.Errorf("Matches(%q) = %t", typed, got)
		}
	}
	if Challenge("").Matches("") || Challenge("").AnsweredBy(nil) || Challenge("").AnsweredBy([]byte("{}")) {
		t.Error("empty challenge accepts an empty answer")
	}
	if a, b := NewChallenge(), NewChallenge(); a == b || len(a) < 26 || !a.Matches(a.Code()) {
		t.Errorf("NewChallenge = %q, then %q", a, b)
	}
}

func TestChallengeAnswer(t *testing.T) {
	c := NewChallenge()
	token := string(c)
	for body, want := range map[string]bool{
		token: true, token + "\r\n": true, `{"challenge": "` + token + `"}`: true, ` {"ok": true, "challenge": "` + token + `"} `: true,
		"": false, "ok": false, token[:20]: false, strings.ToLower(token): false, "x" + token: false, `{"challenge": 1}`: false,
		// An endpoint that echoes requests has not confirmed.
		`{"type": "destination.confirm", "data": {"challenge": "` + token + `"}}`: false,
		`"` + token + `"`: false, `[{"challenge": "` + token + `"}]`: false,
	} {
		if got := c.AnsweredBy([]byte(body)); got != want {
			t.Errorf("AnsweredBy(%q) = %t", body, got)
		}
	}
}

// FuzzChallenge checks that a body answers a challenge only if it contains the token, and that a
// matching code has the right length.
func FuzzChallenge(f *testing.F) {
	const c Challenge = "KX7OBIFAABCDEFGHIJKLMNOPQR"
	f.Add([]byte(c))
	f.Add([]byte(`{"challenge":"KX7OBIFAABCDEFGHIJKLMNOPQR"}`))
	f.Add([]byte("kx7o-bifa"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var decoded map[string]any
		_ = json.Unmarshal(body, &decoded)
		contains := strings.Contains(string(body), string(c))
		for _, v := range decoded {
			contains = contains || v == string(c)
		}
		if c.AnsweredBy(body) && !contains {
			t.Errorf("AnsweredBy(%q) = true, but the answer does not contain the challenge", body)
		}
		if c.Matches(string(body)) && len(lookalikes.Replace(strings.ToUpper(strings.TrimSpace(string(body))))) != codeLength {
			t.Errorf("Matches(%q) = true, but the code has the wrong length", body)
		}
	})
}

func TestConfirmParams(t *testing.T) {
	if got, err := (DestinationConfirmParams{Code: " KX7O-BIFA "}).Normalize(); err != nil || got.Code != "KX7O-BIFA" {
		t.Errorf("Normalize = %+v, %v", got, err)
	}
	for _, wrong := range []string{"", " ", strings.Repeat("A", 41), "A\x00"} {
		_, err := DestinationConfirmParams{Code: wrong}.Normalize()
		if refusal, ok := err.(*Error); !ok || refusal.Code != CodeValidation || refusal.Details["code"] == nil {
			t.Errorf("Normalize(%q): error = %v, want a problem with code", wrong, err)
		}
	}
}

func TestUnserved(t *testing.T) {
	closed, open := DestinationRules{}, DestinationRules{SendsMail: true, PrivateWebhooks: true}
	for _, tt := range []struct {
		kind, address string
		served        bool // whether the closed rules allow it
	}{
		{KindEmail, "ann@example.com", false},
		{KindEmail, "", false},
		{KindWebhook, "https://hooks.example.com/labels", true},
		{KindWebhook, "https://user:password@hooks.example.com/labels", true}, // accepted by earlier versions
		{KindWebhook, "https://8.8.8.8:8443/", true},
		{KindWebhook, "http://hooks.example.com/labels", false},
		{KindWebhook, "https://127.0.0.1/", false},
		{KindWebhook, "https://[::1]/", false},
		{KindWebhook, "https://localhost/", false},
		{KindWebhook, "https://192.168.1.7:9090/", false},
		{KindWebhook, "%zz", true}, // sending to it fails later
	} {
		if got := closed.Unserved(tt.kind, tt.address); (got == "") != tt.served {
			t.Errorf("%s %q: Unserved = %q, want served %t", tt.kind, tt.address, got, tt.served)
		}
		if got := open.Unserved(tt.kind, tt.address); got != "" {
			t.Errorf("%s %q with everything allowed: Unserved = %q", tt.kind, tt.address, got)
		}
	}
}
