// Package vault encrypts secrets for the database and creates tokens for links in emails.
//
// A sealed string names its key:
//
//	sealed:1f2e3d4c:AR8uPUw…
//
// so that a query can count secrets by key, and startup can detect a missing key. Each string is
// bound to its purpose and its destination, so it can't be opened in another row.
//
// Links in emails are not stored. A link's token is the sealed identity of its destination, so the
// link works as long as the key that sealed it is in the key file.
package vault

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
)

// Prefix starts every sealed string. The key ID and a colon follow.
const Prefix = "sealed:"

// reloadInterval limits how often the key file is reloaded: anyone can send a link that names an
// unknown key.
const reloadInterval = time.Second

// Purpose says what a string is used for. A string sealed for one purpose can't be opened for
// another.
type Purpose string

// The purposes.
const (
	Secret    Purpose = "webhook secret"
	Challenge Purpose = "endpoint challenge"
	Attempt   Purpose = "sign-in attempt"

	link  Purpose = "email link"
	check Purpose = "key check"
)

// Options configures a Vault. Keys must be set.
type Options struct {
	Keys *keyring.Keyring

	// Reload reads the key file again. It is called for data sealed under an unknown key, so that a
	// process finds keys added after it started. If nil, the keys never change.
	Reload func() (*keyring.Keyring, error)
	Now    func() time.Time // default time.Now
	Log    *slog.Logger     // for errors from Reload, but not the same one twice in a row; default slog.Default()
}

// Vault seals and opens strings. It is safe for concurrent use.
type Vault struct {
	reload func() (*keyring.Keyring, error)
	now    func() time.Time
	log    *slog.Logger

	mu         sync.Mutex
	keys       *keyring.Keyring
	boxes      map[Purpose]*keyring.Box
	reloadedAt time.Time
	failed     string // the error from the latest reload, already logged; empty if it succeeded
}

// New returns a Vault.
func New(o Options) *Vault {
	v := &Vault{reload: o.Reload, now: o.Now, log: o.Log}
	if v.now == nil {
		v.now = time.Now
	}
	if v.log == nil {
		v.log = slog.Default()
	}
	v.use(o.Keys)
	return v
}

// use replaces the keys. The caller holds the lock, unless v is new.
func (v *Vault) use(keys *keyring.Keyring) {
	v.keys, v.boxes = keys, map[Purpose]*keyring.Box{}
	for _, p := range []Purpose{Secret, Challenge, Attempt, link, check} {
		v.boxes[p] = keys.Box(string(p))
	}
}

// KeyIDs returns the IDs of the keys in hexadecimal, the sealing key first.
func (v *Vault) KeyIDs() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var ids []string
	for _, id := range v.keys.IDs() {
		ids = append(ids, id.String())
	}
	return ids
}

// Current returns the prefix of strings sealed under the first key.
func (v *Vault) Current() string { return Prefix + v.KeyIDs()[0] + ":" }

// IsSealed reports whether a string is sealed. Earlier versions stored secrets unencrypted.
func IsSealed(text string) bool { return strings.HasPrefix(text, Prefix) }

func (v *Vault) box(p Purpose) *keyring.Box {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.boxes[p]
}

// Seal encrypts a string with the first key and binds it to the destination with the given UUID.
func (v *Vault) Seal(p Purpose, destination, text string) string {
	sealed := v.box(p).Seal([]byte(text), []byte(destination))
	id, _ := keyring.KeyOf(sealed)
	return Prefix + id.String() + ":" + base64.RawURLEncoding.EncodeToString(sealed)
}

// Open decrypts a string sealed for the same purpose and destination. It returns an unencrypted
// string from an earlier version unchanged. The error wraps keyring.ErrUnknownKey or
// keyring.ErrDamaged.
func (v *Vault) Open(p Purpose, destination, stored string) (string, error) {
	if !IsSealed(stored) {
		return stored, nil
	}
	_, encoded, _ := strings.Cut(stored[len(Prefix):], ":")
	sealed, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", p, keyring.ErrDamaged)
	}
	text, err := v.open(p, sealed, []byte(destination))
	if err != nil {
		return "", fmt.Errorf("open %s: %w", p, err)
	}
	return string(text), nil
}

// open decrypts sealed data. If the key is unknown, it reloads the key file.
func (v *Vault) open(p Purpose, sealed, bound []byte) ([]byte, error) {
	box := v.box(p)
	text, err := box.Open(sealed, bound)
	if !errors.Is(err, keyring.ErrUnknownKey) {
		return text, err
	}
	v.reloadKeys()
	current := v.box(p)
	if current == box {
		return nil, err
	}
	return current.Open(sealed, bound) // the keys may have been reloaded by another call
}

// reloadKeys reloads the key file, at most once per reloadInterval. A broken file leaves the keys
// unchanged.
func (v *Vault) reloadKeys() {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	if v.reload == nil || !v.reloadedAt.IsZero() && now.Sub(v.reloadedAt) < reloadInterval {
		return
	}
	v.reloadedAt = now
	keys, err := v.reload()
	if err != nil {
		if v.failed != err.Error() {
			v.failed = err.Error()
			v.log.Error("reloading the key file failed; keeping the current keys", "error", err)
		}
		return
	}
	v.failed = ""
	v.use(keys)
}

// Box seals and opens data that has one purpose and is not stored in the database. It is safe for
// concurrent use.
type Box struct {
	v *Vault
	p Purpose
}

// Box returns the box for a purpose.
func (v *Vault) Box(p Purpose) Box { return Box{v, p} }

// Seal encrypts a secret under the first key and authenticates bound as additional data; Open needs
// the same bound.
func (b Box) Seal(secret, bound []byte) []byte { return b.v.box(b.p).Seal(secret, bound) }

// Open decrypts data sealed by this or another process. For an unknown key, it reloads the key
// file. The error wraps keyring.ErrUnknownKey or keyring.ErrDamaged.
func (b Box) Open(sealed, bound []byte) ([]byte, error) { return b.v.open(b.p, sealed, bound) }

// Reseal seals a destination's stored string under the first key. The string may be sealed under
// any key or unencrypted.
func (v *Vault) Reseal(p Purpose, destination, stored string) (string, error) {
	text, err := v.Open(p, destination, stored)
	if err != nil {
		return "", err
	}
	return v.Seal(p, destination, text), nil
}

// NewCheck returns a check value to store in the database. VerifyCheck uses it to detect a missing
// key.
func (v *Vault) NewCheck() string { return v.Seal(check, "", "colaregistry") }

// VerifyCheck fails unless the keys include the one that sealed the check value.
func (v *Vault) VerifyCheck(stored string) error {
	_, err := v.Open(check, "", stored)
	return err
}

// KeyOf returns the ID of the key that sealed a string, in hexadecimal, or "" for an unsealed
// string.
func KeyOf(stored string) string {
	if !IsSealed(stored) {
		return ""
	}
	id, _, _ := strings.Cut(stored[len(Prefix):], ":")
	return id
}

// linkSize is the length of a link's content: an account ID and a destination's UUID.
const linkSize = 8 + 16

// Link returns a token for links in emails about a destination. Every call returns a different
// valid token.
func (v *Vault) Link(account cola.AccountID, destination string) (string, error) {
	id, err := uuid.Parse(destination)
	if err != nil {
		return "", fmt.Errorf("create link: %w", err)
	}
	content := binary.BigEndian.AppendUint64(make([]byte, 0, linkSize), uint64(account))
	return base64.RawURLEncoding.EncodeToString(v.box(link).Seal(append(content, id[:]...), nil)), nil
}

// OpenLink returns the account and the destination from a link's token. ok is false for a forged
// token.
func (v *Vault) OpenLink(token string) (account cola.AccountID, destination string, ok bool) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || strings.ContainsAny(token, "\r\n") { // the decoder would skip these
		return 0, "", false
	}
	content, err := v.open(link, sealed, nil)
	if err != nil || len(content) != linkSize {
		return 0, "", false
	}
	return cola.AccountID(binary.BigEndian.Uint64(content)), uuid.UUID(content[8:]).String(), true
}
