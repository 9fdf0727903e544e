package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Copier gives and takes a registry as a whole, so that it can be moved from one backend to another.
type Copier interface {
	// Dump calls yield with everything that the store holds, from one consistent state, in the order of ItemKinds: each item
	// comes after those it refers to. An item is only valid during the call. An error of yield ends it and is returned.
	// A registry is moved while no process serves it, so these stay behind: browser sessions, sign-in links, the outcome of
	// batches under way, holds on searches and deliveries, failures of searches, and the day's allowances.
	Dump(ctx context.Context, yield func(*Item) error) error
	// Fill writes items into a store that holds none, in the order of Dump, and keeps their ids and times. Labels and
	// permittees are written as they are: nothing is merged, nothing follows from them, and no label arrives. Arrivals and the marks of
	// searches keep their revisions, and the store's own begins above all of them, whatever its clock says: what had arrived
	// after a mark still has, and what arrives from now on does so after every mark. It fails with ErrExists when the store holds
	// anything. On an error nothing is kept, or ErrHalfFilled says that the database must be thrown away.
	Fill(ctx context.Context, items iter.Seq2[*Item, error]) error
	// Sizes counts the records that the store holds by their kind, from one consistent state.
	Sizes(ctx context.Context) (map[ItemKind]int, error)
}

// Items returns what Dump tells of a store as Fill takes it.
func Items(ctx context.Context, from Copier) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		stopped := errors.New("no more items are taken")
		err := from.Dump(ctx, func(i *Item) error {
			if !yield(i, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(nil, err)
		}
	}
}

// ItemKind tells what an item is.
type ItemKind string

// The kinds.
const (
	ItemAccount      ItemKind = "accounts"
	ItemKey          ItemKind = "keys"
	ItemApp          ItemKind = "connected apps"
	ItemIdentity     ItemKind = "identities"
	ItemLink         ItemKind = "links"
	ItemSignIn       ItemKind = "sign-ins"
	ItemSearch       ItemKind = "saved searches"
	ItemRun          ItemKind = "runs of saved searches"
	ItemMatch        ItemKind = "matches of saved searches"
	ItemDestination  ItemKind = "destinations"
	ItemDelivery     ItemKind = "deliveries"
	ItemAttempt      ItemKind = "attempts to deliver"
	ItemCreation     ItemKind = "requests that made saved searches"
	ItemConfirmation ItemKind = "requests to confirm an address"
	ItemMonth        ItemKind = "monthly usage"
	ItemDay          ItemKind = "daily usage"
	ItemGrant        ItemKind = "requests of the last minute"
	ItemRefusal      ItemKind = "refusals"
	ItemReferences   ItemKind = "reference data"
	ItemPermittee    ItemKind = "permittees"
	ItemCola         ItemKind = "labels"
	ItemArrival      ItemKind = "arrivals"
)

// ItemKinds returns the kinds in the order of Dump.
func ItemKinds() []ItemKind {
	return []ItemKind{
		ItemAccount, ItemKey, ItemApp, ItemIdentity, ItemLink, ItemSignIn, ItemSearch, ItemRun, ItemMatch, ItemDestination, ItemDelivery, ItemAttempt,
		ItemCreation, ItemConfirmation, ItemMonth, ItemDay, ItemGrant, ItemRefusal, ItemReferences, ItemPermittee, ItemCola, ItemArrival,
	}
}

// Item is one record of a whole registry; of reference data, all of it. Kind says which of the other fields is set.
type Item struct {
	Kind         ItemKind
	Account      Account
	Key          StoredKey
	App          App
	Identity     AccountIdentity
	Link         Link // neither its email nor anything of its app but the id counts
	SignIn       SignIn
	Search       StoredSearch
	Run          StoredRun
	Match        StoredMatch
	Destination  StoredDestination
	Delivery     StoredDelivery
	Attempt      StoredAttempt
	Creation     StoredCreation
	Confirmation StoredConfirmation
	Month        MonthUsage
	Day          AccountDay
	Grant        AccountGrant
	Refusal      AccountRefusal
	References   *ReferenceSets // its Revision counts for nothing
	Permittee    StoredPermittee
	Cola         *cola.Cola // settled by Derive
	Arrival      StoredArrival
}

// Records returns how many records the item is: as many as Sizes counts.
func (i *Item) Records() int {
	if i.Kind != ItemReferences {
		return 1
	}
	r := i.References
	return len(r.AVAs) + len(r.ProductionReports) + len(r.ProcessingTimes) + len(r.FormulaProcessingTimes) +
		len(r.RegistrationProcessingTimes) + len(r.CategoryAliases)
}

// StoredKey is a key with the hash that finds it. Its email is that of the account, and counts for nothing.
type StoredKey struct {
	Key
	Hash KeyHash
}

// AccountIdentity is an identity with the account that it has.
type AccountIdentity struct {
	Account cola.AccountID
	Identity
}

// StoredSearch is a saved search with what only the store knows of it. Its addresses count for nothing.
type StoredSearch struct {
	ID      int64 // rises in the order of creation
	Account cola.AccountID
	Mark    Mark
	Feed    *FeedHash // nil when it has none
	cola.SavedSearch

	// What the schedule tells of a search that has one, of one that has none: when it is due, since somebody has asked for a run, and
	// why it is not run. Zero and empty for neither.
	Due         time.Time
	PauseReason string
}

// StoredDestination is a destination with what only the store knows of it. The UUID of its search counts for nothing, and neither does
// the address of the account's own one.
type StoredDestination struct {
	ID     int64
	Search int64 // id of its only search; 0: all
	Destination
	LinkHash []byte // see DestinationByLink; nil: none
}

// StoredDelivery is a delivery by the ids of what it belongs to; its UUIDs count for nothing.
type StoredDelivery struct {
	Account        cola.AccountID
	Destination    int64
	Search, Run    int64 // 0: none
	FirstAttemptAt time.Time
	cola.Delivery
}

// StoredAttempt is the n-th attempt of a delivery.
type StoredAttempt struct {
	Delivery int64
	N        int
	At       time.Time
	Took     time.Duration
	Status   int    // 0: there was no answer
	Error    string // empty: it got through
}

// StoredCreation is what is remembered of a request that made a saved search, so that one that is sent again makes none.
type StoredCreation struct {
	Account     cola.AccountID
	Key         string
	Fingerprint [32]byte
	UUID        string // of the search, which may be gone
	Until       time.Time
}

// StoredConfirmation is a request to confirm a destination.
type StoredConfirmation struct {
	Account cola.AccountID
	Address string // see Recipient
	At      time.Time
}

// StoredRun is a run of the search with an id.
type StoredRun struct {
	Search int64
	UpTo   cola.Revision // up to which it looked at arrivals; 0: not noted
	Named  int           // how many labels messages name, the first by ID
	cola.SavedSearchRun
}

// StoredMatch is a match of the search with an id.
type StoredMatch struct {
	Search int64
	cola.SavedSearchMatch
}

// StoredArrival says that a label has arrived, or cannot any more.
type StoredArrival struct {
	TTBID        cola.TTBID
	At           cola.Revision // zero: its first approval date was history, and was lost
	ApprovalDate cola.Date     // the label's; zero when it has none
}

// MonthUsage is an account's counters of one month.
type MonthUsage struct {
	Account cola.AccountID
	Period  cola.Period
	Used    cola.Used
}

// AccountDay is a row of an account's daily usage.
type AccountDay struct {
	Account cola.AccountID
	DayUsage
}

// AccountGrant is a grant in an account's window. It may have left the window already.
type AccountGrant struct {
	Account cola.AccountID
	Grant
}

// StoredPermittee is a permittee with what only the store knows of it.
type StoredPermittee struct {
	cola.Permittee
	FromLabels bool // only ever seen on labels: they may fill in what is unknown
}
