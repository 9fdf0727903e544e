package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Copier copies a store to another database, except for the short-lived data listed below. Use it
// while no process serves the registry. The files of label images are not in the database; only
// their ImageFiles are copied.
//
// Some data is not copied: browser sessions, sign-in links, request logs, IDs of processed Stripe
// events, the outcomes of recent batches, all claims, failure counts of searches, counts against
// daily allowances and limits, and the request slots, pause and block for TTB's site.
type Copier interface {
	// Dump calls yield with every item in the store, from one consistent snapshot, in the order of
	// ItemKinds: an item comes after those it refers to. An item is valid only during the call. If
	// yield fails, Dump stops and returns its error.
	Dump(ctx context.Context, yield func(*Item) error) error
	// Fill writes items, in the order of Dump, into an empty store. They keep their IDs and times.
	// Labels and permittees are written as is, without merging, and do not count as arrivals.
	// Arrivals and search marks keep their revisions, and the store's next revision is above all of
	// them, so every search sees exactly the arrivals after its mark. Fill fails with ErrExists if
	// the store is not empty. A failed call writes nothing, unless it returns ErrHalfFilled; in
	// that case, the database must be deleted.
	Fill(ctx context.Context, items iter.Seq2[*Item, error]) error
	// Sizes counts the store's records by kind, from one consistent snapshot.
	Sizes(ctx context.Context) (map[ItemKind]int, error)
}

// Items returns the items of Dump in the form that Fill accepts.
func Items(ctx context.Context, from Copier) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		errStop := errors.New("stopped")
		err := from.Dump(ctx, func(i *Item) error {
			if !yield(i, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

// ItemKind is the kind of an Item.
type ItemKind string

// The kinds.
const (
	ItemAccount      ItemKind = "accounts"
	ItemSubscription ItemKind = "subscriptions"
	ItemKey          ItemKind = "keys"
	ItemApp          ItemKind = "connected apps"
	ItemIdentity     ItemKind = "identities"
	ItemLink         ItemKind = "links"
	ItemSignIn       ItemKind = "sign-ins"
	ItemSearch       ItemKind = "saved searches"
	ItemRun          ItemKind = "saved search runs"
	ItemMatch        ItemKind = "saved search matches"
	ItemDestination  ItemKind = "destinations"
	ItemDelivery     ItemKind = "deliveries"
	ItemAttempt      ItemKind = "delivery attempts"
	ItemCreation     ItemKind = "saved search creations"
	ItemConfirmation ItemKind = "confirmation requests"
	ItemAccountEmail ItemKind = "account emails"
	ItemMonth        ItemKind = "monthly usage"
	ItemDay          ItemKind = "daily usage"
	ItemGrant        ItemKind = "rate limit grants"
	ItemRefusal      ItemKind = "refusals"
	ItemReferences   ItemKind = "reference data"
	ItemImport       ItemKind = "imports"
	ItemImageFile    ItemKind = "image files"
	ItemFetchWindow  ItemKind = "fetch windows"
	ItemFetchLabel   ItemKind = "queued labels"
	ItemFetchSource  ItemKind = "reference sources"
	ItemEnrichment   ItemKind = "enrichments"
	ItemPermittee    ItemKind = "permittees"
	ItemCola         ItemKind = "labels"
	ItemArrival      ItemKind = "arrivals"
)

// ItemKinds returns the kinds in the order of Dump.
func ItemKinds() []ItemKind {
	return []ItemKind{
		ItemAccount, ItemSubscription, ItemKey, ItemApp, ItemIdentity, ItemLink, ItemSignIn,
		ItemSearch, ItemRun, ItemMatch, ItemDestination, ItemDelivery, ItemAttempt,
		ItemCreation, ItemConfirmation, ItemAccountEmail, ItemMonth, ItemDay, ItemGrant,
		ItemRefusal, ItemReferences, ItemImport, ItemImageFile, ItemFetchWindow, ItemFetchLabel,
		ItemFetchSource, ItemEnrichment, ItemPermittee, ItemCola, ItemArrival,
	}
}

// Item is one record, or all reference data. Kind says which other field is set.
type Item struct {
	Kind         ItemKind
	Account      Account
	Subscription Subscription
	Key          StoredKey
	App          App
	Identity     AccountIdentity
	Link         Link // without its email, and with only the ID of its app
	SignIn       SignIn
	Search       StoredSearch
	Run          StoredRun
	Match        StoredMatch
	Destination  StoredDestination
	Delivery     StoredDelivery
	Attempt      StoredAttempt
	Creation     StoredCreation
	Confirmation StoredConfirmation
	AccountEmail StoredAccountEmail
	Month        MonthUsage
	Day          AccountDay
	Grant        AccountGrant
	Refusal      AccountRefusal
	References   *ReferenceSets // without its Revision
	Import       cola.Import
	ImageFile    ImageFile
	FetchWindow  StoredFetchWindow
	FetchLabel   StoredFetchLabel
	FetchSource  ReferenceFetch
	Enrichment   Enrichment // without its Revision and Hold
	Permittee    StoredPermittee
	Cola         *cola.Cola // normalized by Derive
	Arrival      StoredArrival
}

// Records returns the number of records that Sizes counts for the item.
func (i *Item) Records() int {
	if i.Kind != ItemReferences {
		return 1
	}
	r := i.References
	return len(r.AVAs) + len(r.ProductionReports) + len(r.ProcessingTimes) + len(r.FormulaProcessingTimes) +
		len(r.RegistrationProcessingTimes) + len(r.CategoryAliases)
}

// StoredAccountEmail is an email to an account holder as stored.
type StoredAccountEmail struct {
	ID                       int64
	Account                  cola.AccountID
	Once                     string // empty if it may be repeated
	Event                    AccountEvent
	About                    string
	Address                  string // empty to use the account's address
	CreatedAt, NextAttemptAt time.Time
	Attempts                 int
}

// StoredKey is a key with its hash, without its email.
type StoredKey struct {
	Key
	Hash KeyHash
}

// AccountIdentity is an identity with its account.
type AccountIdentity struct {
	Account cola.AccountID
	Identity
}

// StoredSearch is a saved search with its internal fields and without its URLs.
type StoredSearch struct {
	ID      int64 // ascending by creation
	Account cola.AccountID
	Mark    Mark
	Feed    *FeedHash // nil if it has none
	cola.SavedSearch

	// Due is the due time of a requested run of a search without a schedule, or zero.
	Due         time.Time
	PauseReason string // set for a paused search without a schedule
}

// StoredDestination is a destination with its internal fields. It has the ID of its search instead
// of the UUID, and no address if Own is set.
type StoredDestination struct {
	ID     int64
	Search int64 // 0 for all searches
	Destination
	LinkHash []byte // nil without a link; see DestinationByLink
}

// StoredDelivery is a delivery with the IDs of its destination, search and run instead of UUIDs.
type StoredDelivery struct {
	Account        cola.AccountID
	Destination    int64
	Search, Run    int64 // 0 if unset
	FirstAttemptAt time.Time
	cola.Delivery
}

// StoredAttempt is the Nth attempt at a delivery.
type StoredAttempt struct {
	Delivery int64
	N        int
	At       time.Time
	Took     time.Duration
	Status   int    // 0 without a response
	Error    string // empty if delivered
	Sent     []byte // compressed; the rest of the exchange follows

	Subject, Headers, Response string
}

// StoredCreation records a request that created a saved search, so that repeating the request
// doesn't create another.
type StoredCreation struct {
	Account     cola.AccountID
	Key         string
	Fingerprint [32]byte
	UUID        string    // of the search, which may have been deleted
	Until       time.Time // when the record may be deleted
}

// StoredConfirmation records a request to confirm a destination.
type StoredConfirmation struct {
	Account cola.AccountID
	Address string // see Recipient
	At      time.Time
}

// StoredRun is a run with the ID of its search.
type StoredRun struct {
	Search int64
	UpTo   cola.Revision // latest arrival that it read; 0 if unknown
	Named  int           // number of labels that messages name: those with the lowest IDs
	cola.SavedSearchRun
}

// StoredMatch is a match with the ID of its search.
type StoredMatch struct {
	Search int64
	cola.SavedSearchMatch
}

// StoredArrival records the arrival of a label, or that it never arrives.
type StoredArrival struct {
	TTBID cola.TTBID
	// At is 0 if the label never arrives, because its first effective date was loaded as history or
	// was cleared.
	At           cola.Revision
	ApprovalDate cola.Date // effective date of the label, which may be an estimate; zero if unset
}

// StoredFetchWindow is a window with its state, without its claim.
type StoredFetchWindow struct {
	FetchWindow
	State       string
	Total       cola.Opt[int] // labels in a split or complete window
	DueAt       time.Time
	CompletedAt time.Time // zero unless complete
	SettledAt   time.Time
	Failure     cola.Opt[string]
}

// StoredFetchLabel is a label in the queue with its state, without its claim.
type StoredFetchLabel struct {
	FetchLabel
	State   string
	DueAt   time.Time
	Failure cola.Opt[string]
}

// MonthUsage is an account's usage in one month.
type MonthUsage struct {
	Account cola.AccountID
	Period  cola.Period
	Used    cola.Used
}

// AccountDay is an account's usage on one day, for one channel, credential and meter.
type AccountDay struct {
	Account cola.AccountID
	DayUsage
}

// AccountGrant is a grant with its account. It may be too old for the rate limit window.
type AccountGrant struct {
	Account cola.AccountID
	Grant
}

// StoredPermittee is a permittee with its internal fields.
type StoredPermittee struct {
	cola.Permittee
	FromLabels bool // known only from labels, which may fill in its empty fields
}
