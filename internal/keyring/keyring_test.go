package keyring

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func mustParse(t testing.TB, lines ...string) *Keyring {
	t.Helper()
	k, err := Parse([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSealAndOpen(t *testing.T) {
	k := mustParse(t, NewKey())
	box := k.Box("test")
	for _, secret := range []string{"", "whsec_abc", strings.Repeat("long", 1000)} {
		sealed := box.Seal([]byte(secret), []byte("row 1"))
		if len(secret) > 0 && bytes.Contains(sealed, []byte(secret)) {
			t.Errorf("%q is readable in what is sealed", secret)
		}
		if got, err := box.Open(sealed, []byte("row 1")); err != nil || string(got) != secret {
			t.Errorf("%q opens as %q, %v", secret, got, err)
		}
		if _, err := box.Open(sealed, []byte("row 2")); !errors.Is(err, ErrDamaged) {
			t.Errorf("opened for another row: %v", err)
		}
		if _, err := k.Box("other").Open(sealed, []byte("row 1")); !errors.Is(err, ErrDamaged) {
			t.Errorf("opened for another purpose: %v", err)
		}
		if _, err := mustParse(t, NewKey()).Box("test").Open(sealed, []byte("row 1")); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("opened with another key: %v", err)
		}
		for i := range sealed {
			changed := bytes.Clone(sealed)
			changed[i] ^= 1
			if _, err := box.Open(changed, []byte("row 1")); err == nil {
				t.Errorf("opened with byte %d changed", i)
			}
		}
	}
}

func TestRotation(t *testing.T) {
	older, newer := NewKey(), NewKey()
	sealed := mustParse(t, older).Box("test").Seal([]byte("secret"), nil)
	both := mustParse(t, newer, older)
	box := both.Box("test")
	if got, err := box.Open(sealed, nil); err != nil || string(got) != "secret" || box.Current(sealed) {
		t.Errorf("after the rotation: %q, %v, current %v", got, err, box.Current(sealed))
	}
	again := box.Seal([]byte("secret"), nil)
	if _, err := mustParse(t, newer).Box("test").Open(again, nil); err != nil || !box.Current(again) {
		t.Errorf("sealed again: %v, current %v", err, box.Current(again))
	}
	if id, ok := KeyOf(sealed); !ok || id != both.IDs()[1] {
		t.Errorf("the older secret is of key %v, not of the second of %v", id, both.IDs())
	}
}

func TestParseRefuses(t *testing.T) {
	one := NewKey()
	for name, content := range map[string]string{
		"nothing": "", "comments": "# a\n\n", "short": "AAAA", "no base64": "not a key!",
		"twice": one + "\n" + one, "trailing bits": strings.TrimRight(one, "=")[:42] + "B=",
	} {
		if k, err := Parse([]byte(content)); err == nil {
			t.Errorf("%s: read as %v", name, k.IDs())
		} else if strings.Contains(err.Error(), one) {
			t.Errorf("%s: the error shows the key", name)
		}
	}
}

// TestCreateOnce has many processes start at once: they agree on one key, and an existing file is never replaced.
func TestCreateOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	ids := make([]ID, 20)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			k, err := LoadOrCreate(path)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = k.IDs()[0]
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("keys %v", ids)
		}
	}
	if err := Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created over an existing file: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := Load(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	box := mustParse(f, NewKey()).Box("test")
	f.Add(box.Seal([]byte("secret"), nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if secret, err := box.Open(sealed, nil); err == nil && string(secret) != "secret" {
			t.Errorf("%x opens as %q", sealed, secret)
		}
	})
}

// TestAddFirst: a key that is added seals from then on, and the others still open.
func TestAddFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	if _, err := AddFirst(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	before, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	sealed := before.Box("test").Seal([]byte("secret"), nil)
	added, err := AddFirst(path)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Load(path)
	if err != nil || len(after.IDs()) != 2 || after.IDs()[0] != added || after.IDs()[1] != before.IDs()[0] {
		t.Fatalf("added %s: %v, %v", added, after.IDs(), err)
	}
	if got, err := after.Box("test").Open(sealed, nil); err != nil || string(got) != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want a file for its owner only", info.Mode(), err)
	}
}
