// Package keyring encrypts small secrets under keys from a file.
//
// A key file has one key per line: 32 random bytes in base64. Blank lines and lines that start with
// # are ignored. The first key encrypts; every key decrypts. To rotate a key, add a new first line,
// reseal everything, and delete the old line. Every process in a deployment uses the same file.
package keyring

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	keySize = 32
	idSize  = 4
	// sealedVersion is the first byte of sealed data. The key ID, the nonce and the ciphertext
	// follow.
	sealedVersion = 1
	header        = 1 + idSize
)

// Errors returned by Box.Open.
var (
	ErrUnknownKey = errors.New("encrypted under a key that is not in the key file")
	ErrDamaged    = errors.New("encrypted data is damaged or belongs to another record")
)

// ID identifies a key without revealing it.
type ID [idSize]byte

// String returns the ID in hexadecimal.
func (id ID) String() string { return fmt.Sprintf("%x", id[:]) }

// Keyring holds the keys from a key file. It is immutable.
type Keyring struct{ keys []key }

type key struct {
	id     ID
	secret []byte
}

// NewKey returns a random key as a line for a key file, without the line break.
func NewKey() string {
	secret := make([]byte, keySize)
	rand.Read(secret) // never fails: crypto/rand crashes the program instead
	return base64.StdEncoding.EncodeToString(secret)
}

// Parse reads a key file's content. It fails if the file has no key, a malformed key or a
// duplicate.
func Parse(content []byte) (*Keyring, error) {
	k := &Keyring{}
	seen := map[ID]bool{}
	for n, line := range strings.Split(string(content), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		secret, err := base64.StdEncoding.Strict().DecodeString(line)
		if err != nil || len(secret) != keySize {
			// Omit the line, which may be secret.
			return nil, fmt.Errorf("line %d is not a key; expected %d bytes in base64", n+1, keySize)
		}
		added := key{newID(secret), secret}
		if seen[added.id] {
			return nil, fmt.Errorf("line %d repeats key %s", n+1, added.id)
		}
		seen[added.id] = true
		k.keys = append(k.keys, added)
	}
	if len(k.keys) == 0 {
		return nil, errors.New("no keys in the file")
	}
	return k, nil
}

func newID(secret []byte) (id ID) {
	sum := sha256.Sum256(append([]byte("colaregistry key id\x00"), secret...))
	copy(id[:], sum[:])
	return id
}

// Load reads a key file. The error wraps fs.ErrNotExist if the file is missing.
func Load(path string) (*Keyring, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	k, err := Parse(content)
	if err != nil {
		return nil, fmt.Errorf("read key file %s: %w", path, err)
	}
	return k, nil
}

// fileComment is the header of a new key file.
const fileComment = "# Keys for a colaregistry deployment. The first key encrypts; every key decrypts.\n" +
	"# Back up this file separately from the database. Without it, webhook secrets are lost.\n"

// Create writes a key file with one new key, readable by its owner only, and syncs it to disk. The
// file appears under its name only when it is complete. The error wraps fs.ErrExist if the file
// exists.
func Create(path string) error {
	// Unlike a rename, a link never replaces a file.
	if err := write(path, fileComment+NewKey()+"\n", os.Link, nil); err != nil {
		return fmt.Errorf("create key file: %w", err)
	}
	return nil
}

// AddFirst adds a new key to a key file, before the existing ones, and returns its ID. The file
// keeps its comments, owner, group and mode. If path is a symbolic link, AddFirst replaces the
// target.
func AddFirst(path string) (ID, error) { return addFirst(path, os.Rename) }

func addFirst(path string, rename func(from, to string) error) (ID, error) {
	if _, err := Load(path); err != nil {
		return ID{}, err
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ID{}, fmt.Errorf("add key: %w", err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return ID{}, fmt.Errorf("add key: %w", err)
	}
	old, err := os.ReadFile(target)
	if err != nil {
		return ID{}, fmt.Errorf("add key: %w", err)
	}
	content := fileComment + NewKey() + "\n" + strings.TrimPrefix(string(old), fileComment)
	err = write(target, content, rename, func(file *os.File) error {
		if err := keepOwner(file, info); err != nil {
			return err
		}
		return file.Chmod(info.Mode().Perm())
	})
	if errors.Is(err, syscall.EBUSY) {
		err = fmt.Errorf("%s is a mounted file and can't be replaced here; rotate it on the host "+
			"and restart the containers that mount it, or mount its folder instead: %w", target, err)
	}
	if err != nil {
		return ID{}, fmt.Errorf("add key: %w", err)
	}
	k, err := Load(path)
	if err != nil {
		return ID{}, err
	}
	return k.keys[0].id, nil
}

// write writes a temporary file, syncs it, and calls place to give it its final name. The file is
// readable only by its owner, unless prepare changes the mode before the content is written.
// prepare may be nil.
func write(path, content string, place func(from, to string) error, prepare func(*os.File) error) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if prepare != nil {
		if err := prepare(file); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	_, err = file.WriteString(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = place(file.Name(), path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	return err
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// LoadOrCreate loads a key file, and creates it if it is missing. Processes that start together
// agree on one key.
func LoadOrCreate(path string) (*Keyring, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := Create(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return Load(path)
}

// IDs returns the IDs of the keys, the sealing key first.
func (k *Keyring) IDs() []ID {
	ids := make([]ID, len(k.keys))
	for i, key := range k.keys {
		ids[i] = key.id
	}
	return ids
}

// Box seals and opens secrets for one purpose. It is safe for concurrent use.
type Box struct {
	first ID
	aeads map[ID]cipher.AEAD
}

// Box returns the box for a purpose. Each purpose has its own encryption keys, derived from those
// of the keyring, so data sealed for one purpose can't be opened for another.
func (k *Keyring) Box(purpose string) *Box {
	b := &Box{first: k.keys[0].id, aeads: make(map[ID]cipher.AEAD, len(k.keys))}
	for _, key := range k.keys {
		b.aeads[key.id] = newAEAD(key.secret, purpose)
	}
	return b
}

func newAEAD(secret []byte, purpose string) cipher.AEAD {
	derived, err := hkdf.Key(sha256.New, secret, nil, purpose, keySize)
	if err != nil {
		panic(err) // only for a length beyond HKDF's limit
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		panic(err) // only for an invalid key length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // only for an invalid block size
	}
	return aead
}

// Seal encrypts a secret with AES-256-GCM under the first key. bound is additional data that must
// be passed to Open again, such as the ID of the row that stores the secret; it may be nil.
func (b *Box) Seal(secret, bound []byte) []byte {
	sealed := append(make([]byte, 0, header+len(secret)+b.aeads[b.first].Overhead()), sealedVersion)
	sealed = append(sealed, b.first[:]...)
	return b.aeads[b.first].Seal(sealed, nil, secret, bound)
}

// Open decrypts sealed data. It fails with ErrUnknownKey or ErrDamaged.
func (b *Box) Open(sealed, bound []byte) ([]byte, error) {
	id, ok := KeyOf(sealed)
	if !ok {
		return nil, ErrDamaged
	}
	aead, ok := b.aeads[id]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrUnknownKey, id)
	}
	secret, err := aead.Open(nil, nil, sealed[header:], bound)
	if err != nil {
		return nil, ErrDamaged
	}
	return secret, nil
}

// Current reports whether data was sealed under the first key, so that a rotation can skip it.
func (b *Box) Current(sealed []byte) bool {
	id, ok := KeyOf(sealed)
	return ok && id == b.first
}

// KeyOf returns the ID of the key that sealed the data; ok is false if it is not sealed data.
func KeyOf(sealed []byte) (id ID, ok bool) {
	if len(sealed) < header || !bytes.HasPrefix(sealed, []byte{sealedVersion}) {
		return id, false
	}
	return ID(sealed[1:header]), true
}
