package store

import "context"

// SealedSecrets keeps what package vault sealed: the secrets of webhooks, those they replaced, and challenges. The store never sees them in
// clear, except those that an earlier version of the program wrote.
type SealedSecrets interface {
	// KeyCheck returns the value by which starts recognize the keys. Unless there is one, it stores first: processes that start
	// together agree on one. With an empty first it only reads; the value is empty when there is none.
	KeyCheck(ctx context.Context, first string) (string, error)
	// ReplaceKeyCheck stores another value.
	ReplaceKeyCheck(ctx context.Context, check string) error
	// SecretKeys counts the stored secrets by the id of the key that sealed them; those in clear count under "", with the tokens that
	// HashLinks is yet to replace.
	SecretKeys(ctx context.Context) (map[string]int, error)
	// RewriteSecrets calls rewrite with every secret that does not start with but, and stores what it returns. It returns how many
	// were changed; an empty text forgets a secret. It works through the destinations in short transactions that hold them, so it may run beside anything; rewrite
	// must not block. On an error, what was rewritten before stays.
	RewriteSecrets(ctx context.Context, but string, rewrite func(SealedSecret) (string, error)) (int, error)
	// HashLinks replaces the tokens of links that an earlier version stored in clear by their SHA-256, and returns how many. It does
	// nothing when there are none.
	HashLinks(ctx context.Context) (int, error)
}

// SealedSecret is a stored secret.
type SealedSecret struct {
	Destination string // UUID
	Challenge   bool   // it is a challenge, not a secret that webhooks are signed with
	Text        string
}
