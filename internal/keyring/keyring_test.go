package keyring

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
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
			t.Errorf("sealed data contains %q", secret)
		}
		if got, err := box.Open(sealed, []byte("row 1")); err != nil || string(got) != secret {
			t.Errorf("Open = %[2]q, %[3]v, want %[1]q", secret, got, err)
		}
		if _, err := box.Open(sealed, []byte("row 2")); !errors.Is(err, ErrDamaged) {
			t.Errorf("Open(another row) = %v, want ErrDamaged", err)
		}
		if _, err := k.Box("other").Open(sealed, []byte("row 1")); !errors.Is(err, ErrDamaged) {
			t.Errorf("Open(another purpose) = %v, want ErrDamaged", err)
		}
		if _, err := mustParse(t, NewKey()).Box("test").Open(sealed, []byte("row 1")); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("Open(another key) = %v, want ErrUnknownKey", err)
		}
		for i := range sealed {
			changed := bytes.Clone(sealed)
			changed[i] ^= 1
			if _, err := box.Open(changed, []byte("row 1")); err == nil {
				t.Errorf("Open succeeded with byte %d changed", i)
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
		t.Errorf("after the rotation: Open = %q, %v, Current = %v, want the secret, false", got, err, box.Current(sealed))
	}
	resealed := box.Seal([]byte("secret"), nil)
	if _, err := mustParse(t, newer).Box("test").Open(resealed, nil); err != nil || !box.Current(resealed) {
		t.Errorf("sealed again: Open error = %v, Current = %v, want nil, true", err, box.Current(resealed))
	}
	if id, ok := KeyOf(sealed); !ok || id != both.IDs()[1] {
		t.Errorf("KeyOf(older secret) = %v, %v, want the second of %v", id, ok, both.IDs())
	}
}

func TestParseErrors(t *testing.T) {
	one := NewKey()
	for name, content := range map[string]string{
		"empty": "", "comments": "# a\n\n", "short": "AAAA", "not base64": "not a key!",
		"duplicate key": one + "\n" + one, "trailing bits": strings.TrimRight(one, "=")[:42] + "B=",
	} {
		if k, err := Parse([]byte(content)); err == nil {
			t.Errorf("%s: Parse = %v, want an error", name, k.IDs())
		} else if strings.Contains(err.Error(), one) {
			t.Errorf("%s: error contains the key", name)
		}
	}
}

// TestCreateOnce checks that processes that start together agree on one key, and that an existing
// file is never replaced.
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
			t.Fatalf("keys = %v, want the same key in every process", ids)
		}
	}
	if err := Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create(existing file) = %v, want fs.ErrExist", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("files = %v, %v, want only the key file", files, err)
	}
	if _, err := Load(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load(missing file) = %v, want fs.ErrNotExist", err)
	}
}

func FuzzOpen(f *testing.F) {
	box := mustParse(f, NewKey()).Box("test")
	f.Add(box.Seal([]byte("secret"), nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if secret, err := box.Open(sealed, nil); err == nil && string(secret) != "secret" {
			t.Errorf("Open(%x) = %q, want an error", sealed, secret)
		}
	})
}

// TestAddFirst checks that an added key is used for encryption and that the other keys still
// decrypt.
func TestAddFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	if _, err := AddFirst(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("AddFirst(missing file) = %v, want fs.ErrNotExist", err)
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
		t.Fatalf("keys after adding %s = %v, %v, want it before %v", added, after.IDs(), err, before.IDs())
	}
	if got, err := after.Box("test").Open(sealed, nil); err != nil || string(got) != "secret" {
		t.Errorf("Open(data sealed with the older key) = %q, %v, want secret", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
	}
}

// TestAddFirstKeepsComments checks that comments stay above their keys, and that the header of new
// files appears once, at the top.
func TestAddFirstKeepsComments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	older := "# for production\n\n" + NewKey() + "\n# expires in 2030\n" + NewKey() // without a final newline
	if err := os.WriteFile(path, []byte(older), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := AddFirst(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(got), older) || !strings.HasPrefix(string(got), fileComment) ||
		strings.Count(string(got), fileComment) != 1 {
		t.Errorf("key file after adding keys:\n%s\nwant the comments from\n%s", got, older)
	}
	if k, err := Load(path); err != nil || len(k.IDs()) != 4 {
		t.Errorf("Load: error = %v, want 4 keys", err)
	}
}

// TestAddFirstThroughLink checks that a symbolic link is preserved and that its target keeps its
// mode.
func TestAddFirstThroughLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "keys", "secret.key"), filepath.Join(dir, "current.key")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), Create(path), os.Chmod(path, 0o640), os.Symlink("keys/secret.key", link)); err != nil {
		t.Fatal(err)
	}
	if _, err := AddFirst(link); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); err != nil || target != "keys/secret.key" {
		t.Errorf("link target = %q, %v, want keys/secret.key", target, err)
	}
	if k, err := Load(path); err != nil || len(k.IDs()) != 2 {
		t.Errorf("Load(link target): error = %v, want 2 keys", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v, %v, want 0640 as before", info.Mode(), err)
	}
}

// TestAddFirstToBusyFile checks the error for a mounted file and that no temporary file remains.
func TestAddFirstToBusyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	if err := Create(path); err != nil {
		t.Fatal(err)
	}
	_, err := addFirst(path, func(from, to string) error {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EBUSY}
	})
	if !errors.Is(err, syscall.EBUSY) || !strings.Contains(err.Error(), "rotate it on the host") {
		t.Errorf("AddFirst = %v, want EBUSY with the remedy", err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("files = %v, %v, want only the key file", files, err)
	}
}
