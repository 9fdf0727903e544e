package store

import (
	"context"
	"slices"
)

// SecretKind is a kind of secret in requests.
type SecretKind string

// Kinds of secrets, with their names in KnownSecrets: the bytes of a hash, or a text.
const (
	SecretKey         SecretKind = "key"          // KeyHash
	SecretSession     SecretKind = "session"      // name of a session
	SecretSignInLink  SecretKind = "sign_in_link" // SignInLinkHash
	SecretFeed        SecretKind = "feed"         // FeedHash
	SecretDestination SecretKind = "destination"  // token
)

// SecretKinds lists the kinds of secret.
func SecretKinds() []SecretKind {
	return []SecretKind{SecretKey, SecretSession, SecretSignInLink, SecretFeed, SecretDestination}
}

// SecretFinder checks the existence of many secrets in one query.
type SecretFinder interface {
	// KnownSecrets returns the names of a kind that have a row, in no particular order, even if the secret is no longer
	// valid. Names that cannot be stored have no row.
	KnownSecrets(ctx context.Context, kind SecretKind, names []string) ([]string, error)
}

// KeepableTexts returns the texts that can be stored.
func KeepableTexts(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return checkKeyText("name", text) != nil })
}
