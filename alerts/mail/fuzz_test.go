package mail

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// FuzzParseServer checks that error messages about URLs never contain the password, and that
// accepted URLs are usable.
func FuzzParseServer(f *testing.F) {
	for _, url := range []string{
		"smtp://user:hush-hush@mail.example.com:587", "smtps://user:hush-hush@mail.example.com",
		"smtp+insecure://mail:25", "smtp://user:hush-hush@[::1]:1025", "smtp://user:hush-hush@/", "hush-hush",
		"smtp://hush-hush:@mail", "://user:hush-hush@mail", "smtp://user:hush-hush@mail:587:587",
		"smtp://user:hush-hush@mail%zz", "smtp://user:hush-hush@mail?hush-hush#hush-hush",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		s, err := parseServer(url)
		if err != nil {
			if strings.Contains(err.Error(), "hush-hush") {
				t.Errorf("parseServer(%q) = %v, which contains the password", url, err)
			}
			return
		}
		if s.host == "" || s.port < 1 || s.port > 65535 || (s.user == "") != (s.password == "") ||
			strings.ContainsAny(s.host+s.user+s.password, "\r\n") {
			t.Errorf("parseServer(%q) = %+v", url, s)
		}
		if s.security == plaintext && !loopback(s.host) && !strings.HasPrefix(strings.ToLower(url), "smtp+insecure:") {
			t.Errorf("parseServer(%q) accepts a remote server without TLS", url)
		}
	})
}

func FuzzOneLine(f *testing.F) {
	for _, text := range []string{
		"", "BLUE HERON", "a\r\nb", "\u202eevil", "\xff", "שלום", "e\u0301", "a \x17 b", strings.Repeat("é", 50),
	} {
		f.Add(text, 10)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(1, limit%200)
		got := oneLine(text, limit)
		if utf8.RuneCountInString(got) > limit || !utf8.ValidString(got) ||
			strings.ContainsFunc(got, vocabulary.IsInvisible) || strings.ContainsAny(got, "\r\n\u2028\u2029") {
			t.Errorf("oneLine(%q, %d) = %q", text, limit, got)
		}
		if second := oneLine(got, limit); second != got {
			t.Errorf("oneLine is not idempotent: oneLine(%q) = %q, then %q", text, got, second)
		}
	})
}
