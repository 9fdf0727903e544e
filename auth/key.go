// Package auth authenticates requests: it turns API keys, access tokens from configured issuers and
// browser sessions into a cola.Caller.
//
// The ledger checks every credential again in the transaction that charges the request. So although
// this package caches lookups, a revoked key, connection or app stops working with the next
// request.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// An API key is the prefix, 30 random base-62 characters (178 bits), and their CRC-32 in 6 base-62
// characters. The checksum catches mistyped keys without a database lookup.
const (
	KeyPrefix        = "lar_"
	keyRandom        = 30
	keyChecksum      = 6
	keyLength        = len(KeyPrefix) + keyRandom + keyChecksum
	displayPrefix    = len(KeyPrefix) + 4
	displayLastChars = 4
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Secret is a whole API key. It is displayed once, when it is created; only its hash is stored.
type Secret string

// NewSecret returns a new random API key.
func NewSecret() Secret {
	body := make([]byte, 0, keyRandom)
	var buf [64]byte
	for len(body) < keyRandom {
		rand.Read(buf[:]) // never fails: crypto/rand crashes the program instead
		for _, b := range buf {
			// 248 is the largest multiple of 62 in a byte; larger values would bias the characters.
			if b < 248 && len(body) < keyRandom {
				body = append(body, base62[b%62])
			}
		}
	}
	return Secret(KeyPrefix + string(body) + checksum(string(body)))
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var digits [keyChecksum]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return string(digits[:])
}

// ParseSecret checks the format and the checksum of an API key.
func ParseSecret(s string) (Secret, error) {
	if !strings.HasPrefix(s, KeyPrefix) {
		return "", fmt.Errorf("an API key starts with %q", KeyPrefix)
	}
	if len(s) != keyLength {
		return "", fmt.Errorf("an API key has %d characters, not %d", keyLength, len(s))
	}
	if body := s[len(KeyPrefix) : len(KeyPrefix)+keyRandom]; checksum(body) != s[len(KeyPrefix)+keyRandom:] {
		return "", fmt.Errorf("the checksum does not match")
	}
	return Secret(s), nil
}

// Hash returns the hash under which the key is stored.
func (s Secret) Hash() store.KeyHash { return sha256.Sum256([]byte(s)) }

// Key returns the record for an unrestricted key, without the fields that the store sets.
func (s Secret) Key() store.Key {
	return store.Key{
		Prefix: string(s[:displayPrefix]), LastFour: string(s[len(s)-displayLastChars:]),
		KeyAccess: store.KeyAccess{Scopes: cola.Scopes()},
	}
}

// String hides the secret, so that it cannot be logged by accident.
func (s Secret) String() string { return string(s[:displayPrefix]) + "…" }

// Reveal returns the whole key, to display once.
func (s Secret) Reveal() string { return string(s) }
