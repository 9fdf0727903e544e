package store

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// MaxKeyText is the maximum length in bytes of indexed text; databases limit the size of
// index entries.
const MaxKeyText = 1000

// FoldEmail returns the form in which email addresses are compared: ASCII letters in lower case,
// everything else unchanged. Identity names are compared exactly, because two people's subjects may
// differ only in letter case.
func FoldEmail(email string) string {
	if IsIdentityName(email) {
		return email
	}
	return vocabulary.FoldASCII(email)
}

// CheckEmail fails with ErrMalformed for an email address that new accounts can't have. Accounts
// that an earlier version created with such an address keep it.
func CheckEmail(email string) error {
	if err := cola.CheckEmail(email); err != nil {
		return fmt.Errorf("%w: %w", err, ErrMalformed)
	}
	return nil
}

// Check fails with ErrMalformed for an identity that cannot be stored or whose Name could collide
// with another identity's, and for a nonempty verified email address that CheckEmail rejects.
func (i Identity) Check(verified string) error {
	if !strings.Contains(i.Issuer, "://") || strings.Contains(i.Issuer, "#") {
		return fmt.Errorf("issuer must be a URL without a fragment: %w", ErrMalformed)
	}
	if err := checkKeyText("issuer", i.Issuer); err != nil {
		return err
	}
	if err := checkKeyText("subject", i.Subject); err != nil || verified == "" {
		return err
	}
	return CheckEmail(verified)
}

// CheckReason fails with ErrMalformed for an invalid suspension reason.
func CheckReason(reason string) error { return checkText("reason", reason) }

// Check fails with ErrMalformed for a sign-in without an expiry or with invalid text.
func (s SignIn) Check() error {
	if s.ExpiresAt.IsZero() {
		return fmt.Errorf("sign-in has no expiry: %w", ErrMalformed)
	}
	if err := checkText("issuer", s.Via); err != nil {
		return err
	}
	return checkText("browser", s.Browser)
}

// CheckParts fails with ErrMalformed for parts that can't replace the window.
func (w FetchWindow) CheckParts(parts []ClassRange) error {
	if len(parts) == 0 {
		return fmt.Errorf("window has no parts: %w", ErrMalformed)
	}
	for _, p := range parts {
		if p == (ClassRange{}) || p == w.Class {
			return fmt.Errorf("part %q to %q is the whole window: %w", p.From, p.To, ErrMalformed)
		}
		for _, class := range []string{p.From, p.To} {
			if len(class) > MaxKeyText {
				return fmt.Errorf("class has %d bytes, maximum %d: %w", len(class), MaxKeyText, ErrMalformed)
			}
			if err := checkText("class", class); err != nil {
				return err
			}
		}
	}
	return nil
}

// Check fails with ErrMalformed for an invalid TTB ID or date.
func (l FetchLabel) Check() error {
	if id, ok := cola.ParseTTBID(l.TTBID.String()); !ok || id != l.TTBID {
		return fmt.Errorf("TTB ID %d: %w", uint64(l.TTBID), ErrMalformed)
	}
	if l.Completed != 0 {
		return CheckDay(l.Completed)
	}
	return nil
}

// LastDay is the last day that can be stored.
var LastDay = cola.NewDate(9999, time.December, 31)

// CheckDay fails with ErrMalformed for a day that can't be stored.
func CheckDay(day cola.Date) error {
	if day < 1 || day > LastDay {
		return fmt.Errorf("day %v is not in the years 1 to 9999: %w", day, ErrMalformed)
	}
	return nil
}

// CheckSessionName fails with ErrMalformed for an invalid session name.
func CheckSessionName(name string) error { return checkKeyText("session name", name) }

// Check fails with ErrMalformed for invalid or overlong text.
func (r AccountRefusal) Check() error {
	for _, text := range []string{string(r.Channel), string(r.Credential.Kind), r.Reason} {
		if len(text) > MaxKeyText {
			return fmt.Errorf("refusal text has %d bytes, maximum %d: %w", len(text), MaxKeyText, ErrMalformed)
		}
		if err := checkText("refusal", text); err != nil {
			return err
		}
	}
	return nil
}

// Check fails with ErrMalformed for text that can't be stored and thus can't match any request.
func (f RequestFilter) Check() error {
	return checkTexts(map[string]string{
		"channel": string(f.Channel), "credential": string(f.Credential.Kind), "text": f.Text,
	})
}

// Check fails with ErrMalformed for invalid text.
func (r RecordedRequest) Check() error {
	for _, text := range []string{
		r.RequestID, string(r.Channel), string(r.Credential.Kind), r.Method, r.Target, r.Input, string(r.Code),
		string(r.Meter), r.Answer,
	} {
		if err := checkText("request", text); err != nil {
			return err
		}
	}
	return nil
}

// Normalize returns an app with sorted scopes, as it is stored, or fails with ErrMalformed.
func (a App) Normalize() (App, error) {
	if err := checkKeyText("issuer", a.Issuer); err != nil {
		return App{}, err
	}
	if err := checkKeyText("client ID", a.ClientID); err != nil {
		return App{}, err
	}
	if err := checkText("name", a.Name); err != nil {
		return App{}, err
	}
	var err error
	a.Scopes, err = SortScopes(a.Scopes)
	return a, err
}

// SortScopes returns scopes as they are stored: sorted, without duplicates, never nil. It fails
// with ErrMalformed for an invalid scope.
func SortScopes(scopes []cola.Scope) ([]cola.Scope, error) {
	for _, s := range scopes {
		if err := checkText("scope", string(s)); err != nil {
			return nil, err
		}
	}
	sorted := append(make([]cola.Scope, 0, len(scopes)), scopes...)
	slices.Sort(sorted)
	return slices.Compact(sorted), nil
}

// checkKeyText is like checkText, but for indexed text, which must not be empty or longer than
// MaxKeyText bytes.
func checkKeyText(field, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("%s is empty: %w", field, ErrMalformed)
	case len(text) > MaxKeyText:
		return fmt.Errorf("%s has %d bytes, maximum %d: %w", field, len(text), MaxKeyText, ErrMalformed)
	}
	return checkText(field, text)
}

// checkText fails with ErrMalformed for text that PostgreSQL rejects.
func checkText(field, text string) error {
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return fmt.Errorf("%s is not valid text: %w", field, ErrMalformed)
	}
	return nil
}
