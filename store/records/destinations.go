package records

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// ConfirmationHistory contains the earlier confirmation requests that count against the limits. For
// a limit of n, the first three fields contain the time of the nth most recent request, or zero if
// there were fewer.
type ConfirmationHistory struct {
	Repeated   time.Time // requests by the account to the recipient
	PerAccount time.Time // requests by the account to any recipient
	PerAddress time.Time // requests by any account to the recipient

	Latest    time.Time // time of the account's latest request to the recipient
	Confirmed []string  // addresses of the account's confirmed endpoints
}

// Check fails with a store.ConfirmationLimitError while a limit applies to a recipient.
func (a ConfirmationHistory) Check(kind, recipient string, l store.ConfirmationLimits, now time.Time) error {
	first := a.Latest.IsZero() || now.Sub(a.Latest) >= l.Window
	if kind == cola.KindWebhook && (first || a.hasConfirmed(recipient)) {
		a.PerAddress = time.Time{}
	}
	var longest store.ConfirmationLimitError
	for _, one := range []struct {
		limit  store.ConfirmationLimit
		at     time.Time
		window time.Duration
	}{
		{store.LimitRepeats, a.Repeated, l.RepeatWindow},
		{store.LimitPerAccount, a.PerAccount, l.Window},
		{store.LimitPerAddress, a.PerAddress, l.Window},
	} {
		if wait := one.at.Add(one.window).Sub(now); !one.at.IsZero() && wait > longest.Wait {
			longest = store.ConfirmationLimitError{Limit: one.limit, Wait: wait}
		}
	}
	if longest.Wait > 0 {
		return longest
	}
	return nil
}

// hasConfirmed reports whether the account has a confirmed endpoint at a host.
func (a ConfirmationHistory) hasConfirmed(recipient string) bool {
	return slices.ContainsFunc(a.Confirmed, func(address string) bool {
		return store.Recipient(cola.KindWebhook, address) == recipient
	})
}

// CheckConfirmable fails with store.ErrNotActive if a destination has no address.
func CheckConfirmable(d *store.Destination) error {
	if !d.Address.OK {
		return store.ErrNotActive
	}
	return nil
}

// DestinationUUID returns the UUID for a new destination: its own or, if it has none, a random one.
func DestinationUUID(n store.NewDestination) string {
	if n.UUID != "" {
		return n.UUID
	}
	return uuid.NewString()
}

// CheckTestable fails with store.ErrNotActive if a destination cannot receive a test message.
func CheckTestable(d *store.Destination) error {
	if d.State != cola.DestinationActive || !d.Address.OK {
		return store.ErrNotActive
	}
	return nil
}

// DestinationsPerBatch is the number of destinations that RewriteSecrets and HashLinks lock at a
// time.
const DestinationsPerBatch = 100

// DestinationSecrets are the secrets of a destination; missing ones are empty.
type DestinationSecrets struct {
	ID                          int64
	UUID                        string
	Current, Old, LastChallenge string
}

// Rewrite rewrites each secret that does not have skipPrefix, and returns the number of changes.
func (d *DestinationSecrets) Rewrite(
	skipPrefix string, rewrite func(store.SealedSecret) (string, error),
) (changed int, err error) {
	for _, s := range []struct {
		text      *string
		challenge bool
	}{{&d.Current, false}, {&d.Old, false}, {&d.LastChallenge, true}} {
		if *s.text == "" || strings.HasPrefix(*s.text, skipPrefix) {
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
