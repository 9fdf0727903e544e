package store

import (
	"context"
	"slices"
)

// SealedSecrets stores secrets sealed by package vault: current and replaced webhook secrets, and
// challenges. The store never sees them in plaintext, except for those from an earlier version.
type SealedSecrets interface {
	// KeyCheck returns the check value that identifies the server's keys. If there is none, it
	// stores and returns initial, so processes that start together agree on it. If initial is
	// empty, KeyCheck only reads.
	KeyCheck(ctx context.Context, initial string) (string, error)
	// ReplaceKeyCheck replaces the check value.
	ReplaceKeyCheck(ctx context.Context, check string) error
	// SecretKeys counts the stored secrets by the ID of the key that sealed them. Plaintext
	// secrets count under "", as do the link tokens that HashLinks has yet to replace.
	SecretKeys(ctx context.Context) (map[string]int, error)
	// RewriteSecrets calls rewrite for every secret that doesn't start with skipPrefix, stores the
	// result, and returns the number of changes. An empty result deletes the secret. RewriteSecrets
	// locks destinations in short transactions, so it may run at any time; rewrite must not block.
	// After an error, earlier changes are kept.
	RewriteSecrets(ctx context.Context, skipPrefix string, rewrite func(SealedSecret) (string, error)) (int, error)
	// HashLinks replaces the plaintext link tokens from an earlier version with their SHA-256
	// hashes, and returns how many it replaced. In SQLite, it also rewrites the file once after an
	// upgrade, to erase plaintext secrets from its free space.
	HashLinks(ctx context.Context) (int, error)
}

// SealedSecret is a stored secret.
type SealedSecret struct {
	Destination string // UUID
	Challenge   bool   // a challenge rather than a signing secret
	Text        string
}

// SecretKind is a kind of secret that requests contain.
type SecretKind string

// Kinds of secrets. Each comment gives the form of the names passed to KnownSecrets: the bytes of a
// hash, or a string.
const (
	SecretKey         SecretKind = "key"          // KeyHash
	SecretSession     SecretKind = "session"      // name of a session
	SecretSignInLink  SecretKind = "sign_in_link" // SignInLinkHash
	SecretFeed        SecretKind = "feed"         // FeedHash
	SecretDestination SecretKind = "destination"  // SHA-256 of a link's token
)

// SecretKinds returns the kinds of secrets.
func SecretKinds() []SecretKind {
	return []SecretKind{SecretKey, SecretSession, SecretSignInLink, SecretFeed, SecretDestination}
}

// SecretFinder checks many secrets in one query.
type SecretFinder interface {
	// KnownSecrets returns those of the given names that have a row, in no particular order, even
	// if the secret is no longer valid. Names that cannot be stored have no row.
	KnownSecrets(ctx context.Context, kind SecretKind, names []string) ([]string, error)
}

// StorableTexts returns the strings that can be stored as keys.
func StorableTexts(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return checkKeyText("name", text) != nil })
}
