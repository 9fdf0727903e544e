package vault

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
)

const (
	one   = "5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"
	other = "c0a1f6f2-93a7-4c0e-8d0b-6f2f5f1f7a11"
)

// mustKeys parses a key file with the given lines.
func mustKeys(t testing.TB, lines ...string) *keyring.Keyring {
	t.Helper()
	keys, err := keyring.Parse([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestSealedStrings(t *testing.T) {
	v := New(Options{Keys: mustKeys(t, keyring.NewKey())})
	sealed := v.Seal(Secret, one, "whsec_abc")
	if !IsSealed(sealed) || strings.Contains(sealed, "abc") || !strings.HasPrefix(sealed, v.Current()) ||
		KeyOf(sealed) != v.KeyIDs()[0] {
		t.Errorf("Seal = %q, want ciphertext under the current key", sealed)
	}
	if got, err := v.Open(Secret, one, sealed); err != nil || got != "whsec_abc" {
		t.Errorf("Open = %q, %v, want whsec_abc", got, err)
	}
	if got, err := v.Open(Secret, one, "whsec_clear"); err != nil || got != "whsec_clear" || KeyOf(got) != "" {
		t.Errorf("Open(plaintext) = %q, %v, want it unchanged", got, err)
	}
	for name, open := range map[string]func() (string, error){
		"another destination": func() (string, error) { return v.Open(Secret, other, sealed) },
		"another purpose":     func() (string, error) { return v.Open(Challenge, one, sealed) },
		"truncated":           func() (string, error) { return v.Open(Secret, one, sealed[:len(sealed)-2]) },
		"not base64":          func() (string, error) { return v.Open(Secret, one, sealed+"!") },
		"only a prefix":       func() (string, error) { return v.Open(Secret, one, Prefix) },
	} {
		if got, err := open(); !errors.Is(err, keyring.ErrDamaged) || got != "" {
			t.Errorf("%s: Open = %q, %v, want ErrDamaged", name, got, err)
		}
	}
}

// TestRotation checks that a process reloads the key file for an unknown key.
func TestRotation(t *testing.T) {
	before, after := keyring.NewKey(), keyring.NewKey()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	file, reads := mustKeys(t, before), 0
	running := New(Options{Keys: file, Now: func() time.Time { return now }, Reload: func() (*keyring.Keyring, error) {
		reads++
		return file, nil
	}})
	early := running.Seal(Secret, one, "early")
	rotated := New(Options{Keys: mustKeys(t, after, before)})
	late := rotated.Seal(Secret, one, "late")
	for range 3 { // the key is not in the file yet; the file is not read on every attempt
		if _, err := running.Open(Secret, one, late); !errors.Is(err, keyring.ErrUnknownKey) {
			t.Errorf("Open error = %v, want ErrUnknownKey", err)
		}
	}
	if reads != 1 {
		t.Errorf("key file read %d times, want 1", reads)
	}
	file, now = mustKeys(t, after, before), now.Add(reloadInterval)
	if got, err := running.Open(Secret, one, late); err != nil || got != "late" {
		t.Errorf("once the file has the key: Open = %q, %v, want late", got, err)
	}
	resealed, err := running.Reseal(Secret, one, early)
	if err != nil || KeyOf(resealed) != rotated.KeyIDs()[0] {
		t.Errorf("Reseal = %q, %v, want ciphertext under the new key", resealed, err)
	}
	if got, err := New(Options{Keys: mustKeys(t, after)}).Open(Secret, one, resealed); err != nil || got != "early" {
		t.Errorf("Open(resealed) = %q, %v, want early", got, err)
	}
}

// TestReloadFailure checks that an unreadable key file is logged once, and again if it becomes
// unreadable after a successful reload.
func TestReloadFailure(t *testing.T) {
	before, after := keyring.NewKey(), keyring.NewKey()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	failure := errors.New("permission denied")
	var log bytes.Buffer
	running := New(Options{
		Keys: mustKeys(t, before), Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Reload: func() (*keyring.Keyring, error) { return mustKeys(t, before), failure },
	})
	late := New(Options{Keys: mustKeys(t, after, before)}).Seal(Secret, one, "late")
	open := func() {
		now = now.Add(reloadInterval)
		if _, err := running.Open(Secret, one, late); !errors.Is(err, keyring.ErrUnknownKey) {
			t.Errorf("Open error = %v, want ErrUnknownKey", err)
		}
	}
	for range 3 {
		open()
	}
	if n := strings.Count(log.String(), "permission denied"); n != 1 {
		t.Errorf("%d log lines, want 1: %s", n, &log)
	}
	failure = nil
	open()
	failure = errors.New("permission denied")
	open()
	if n := strings.Count(log.String(), "permission denied"); n != 2 {
		t.Errorf("%d log lines, want one for each failure: %s", n, &log)
	}
}

// TestConcurrentRotation checks that concurrent calls can decrypt data sealed under a new key after
// a single reload.
func TestConcurrentRotation(t *testing.T) {
	before, after := keyring.NewKey(), keyring.NewKey()
	late := New(Options{Keys: mustKeys(t, after, before)}).Box(Attempt).Seal([]byte("late"), []byte("bound"))
	file := mustKeys(t, after, before)
	for range 200 {
		var reads atomic.Int32
		running := New(Options{Keys: mustKeys(t, before), Reload: func() (*keyring.Keyring, error) {
			reads.Add(1)
			return file, nil
		}})
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				<-start
				if got, err := running.Box(Attempt).Open(late, []byte("bound")); err != nil || string(got) != "late" {
					t.Errorf("Open = %q, %v, want late", got, err)
				}
			})
		}
		close(start)
		wg.Wait()
		if reads.Load() != 1 {
			t.Errorf("key file read %d times, want 1", reads.Load())
		}
	}
}

func TestCheck(t *testing.T) {
	v, w := New(Options{Keys: mustKeys(t, keyring.NewKey())}), New(Options{Keys: mustKeys(t, keyring.NewKey())})
	check := v.NewCheck()
	if err := v.VerifyCheck(check); err != nil {
		t.Error(err)
	}
	if err := w.VerifyCheck(check); !errors.Is(err, keyring.ErrUnknownKey) {
		t.Errorf("VerifyCheck with other keys = %v, want ErrUnknownKey", err)
	}
}

func TestLinks(t *testing.T) {
	v := New(Options{Keys: mustKeys(t, keyring.NewKey())})
	token, err := v.Link(42, one)
	if err != nil || len(token) > 128 {
		t.Fatalf("Link = %q, %v, want at most 128 bytes", token, err)
	}
	if account, destination, ok := v.OpenLink(token); !ok || account != 42 || destination != one {
		t.Errorf("OpenLink = %d, %s, %t, want 42, %s, true", account, destination, ok, one)
	}
	if second, err := v.Link(42, one); err != nil || second == token {
		t.Errorf("second Link = %q, %v, want a different token", second, err)
	}
	if _, err := v.Link(42, "x"); err == nil {
		t.Error("Link accepted an invalid UUID")
	}
	sealed := v.Seal(Secret, "", "whsec_abc")
	for _, invalid := range []string{
		"", "x", one, token + "A", token + "\n", token[1:], strings.ToUpper(token), sealed,
		sealed[strings.LastIndex(sealed, ":")+1:],
	} {
		if account, destination, ok := v.OpenLink(invalid); ok {
			t.Errorf("OpenLink(%q) = %d, %s, true, want false", invalid, account, destination)
		}
	}
}

// FuzzOpenLink checks that only tokens created by Link are valid.
func FuzzOpenLink(f *testing.F) {
	v := New(Options{Keys: mustKeys(f, keyring.NewKey())})
	token, err := v.Link(1, one)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token)
	f.Add(token[:20])
	f.Add("sealed:00000000:AAAA")
	f.Fuzz(func(t *testing.T, input string) {
		account, destination, ok := v.OpenLink(input)
		if ok != (input == token) || !ok && (account != cola.AccountID(0) || destination != "") {
			t.Errorf("OpenLink(%q) = %d, %q, %t", input, account, destination, ok)
		}
	})
}
