package store

import (
	"context"
	"slices"
)

// SecretKind is a kind of secret that anyone can send.
type SecretKind string

// The kinds of secret, with what names one in KnownSecrets. A hash stands for its bytes.
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

// SecretFinder finds out which of many secrets exist, at the cost of one query.
type SecretFinder interface {
	// KnownSecrets returns those of the named secrets of a kind that have a row, in no order, whether they still hold or
	// not. A name that cannot be kept has none.
	KnownSecrets(ctx context.Context, kind SecretKind, names []string) ([]string, error)
}

// KeepableTexts returns those of the texts that something can be kept under.
func KeepableTexts(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return checkKeyText("name", text) != nil })
}
