package records

import (
	"strings"

	"github.com/colaregistry/colaregistry/store"
)

// SecretsAtOnce is how many destinations RewriteSecrets locks at a time.
const SecretsAtOnce = 100

// DestinationSecrets are the secrets of a destination; missing ones are empty.
type DestinationSecrets struct {
	ID                          int64
	UUID                        string
	Current, Old, LastChallenge string
}

// Rewrite replaces each secret without the prefix but, and returns the number of changes.
func (d *DestinationSecrets) Rewrite(but string, rewrite func(store.SealedSecret) (string, error)) (changed int, err error) {
	for _, s := range []struct {
		text      *string
		challenge bool
	}{{&d.Current, false}, {&d.Old, false}, {&d.LastChallenge, true}} {
		if *s.text == "" || strings.HasPrefix(*s.text, but) {
			continue
		}
		text, err := rewrite(store.SealedSecret{Destination: d.UUID, Challenge: s.challenge, Text: *s.text})
		if err != nil {
			return changed, err
		}
		if text != *s.text {
			*s.text = text
			changed++
		}
	}
	return changed, nil
}
