package sqlstore

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// Window is how long a grant counts against an account's rate limit.
	Window = time.Minute
	// UseInterval is the minimum interval between updates of a credential's last use.
	UseInterval = time.Minute
	// BatchRetention is how long the outcome of a batch is stored.
	BatchRetention = 2 * time.Hour
)

// SelectCredentials reads keys, links and sign-ins by ID. Its parameters are the three lists that
// CredentialIDs returns, and its columns match CredentialRow.Columns. A link to a disabled app
// counts as revoked.
const SelectCredentials = `SELECT '` + string(cola.CredentialKey) + `', id, account_id, last_used_at, revoked_at, expires_at, scopes, networks
	FROM api_keys WHERE id = ANY($1)
	UNION ALL SELECT '` + string(cola.CredentialLink) + `', l.id, l.account_id, l.last_used_at, coalesce(l.revoked_at, p.disabled_at), NULL, NULL, NULL
	FROM links l JOIN apps p ON p.id = l.app_id WHERE l.id = ANY($2)
	UNION ALL SELECT '` + string(cola.CredentialSignIn) + `', id, account_id, last_used_at, ended_at, expires_at, NULL, NULL
	FROM sign_ins WHERE id = ANY($3)`

// AccountRow is an account's row with its window.
type AccountRow struct {
	Account store.Account // only ID, tier, suspension and DeletesAt
	Used    cola.Used     // in the current month
	Grants  []store.Grant // in the window, oldest first; may include expired ones
}

// State returns an account's ledger state at the given time, and the number of requests granted
// after that time. Such grants exist if the clock was set back, or after a failover to a server
// whose clock is behind. They count as granted now: if their times were kept, they would fill the
// window until the clock catches up, which may take hours; if they were dropped, the account could
// exceed its limit.
//
// The state's grants share memory with the row.
func (r *AccountRow) State(now time.Time) (state store.AccountState, ahead int) {
	state = store.AccountState{
		Account:   r.Account.ID,
		Exists:    true,
		Suspended: r.Account.Suspended(),
		DeletesAt: r.Account.DeletesAt,
		Tier:      r.Account.Tier,
		Used:      r.Used,
	}
	first, end := 0, len(r.Grants)
	for start := now.Add(-Window); first < end && !r.Grants[first].At.After(start); {
		first++
	}
	for ; end > first && r.Grants[end-1].At.After(now); end-- {
		ahead += r.Grants[end-1].Requests
	}
	if first < end {
		state.Grants = r.Grants[first:end:end]
	}
	if ahead > 0 {
		state.Grants = store.AddGrant(state.Grants, store.Grant{At: now, Requests: ahead})
	}
	return state, ahead
}

// Revert subtracts requests from the window's grant at the given time. It reports whether the
// window still had that grant.
func (r *AccountRow) Revert(at time.Time, requests int) bool {
	i := slices.IndexFunc(r.Grants, func(g store.Grant) bool { return g.At.Equal(at) })
	if i < 0 {
		return false
	}
	if r.Grants[i].Requests -= requests; r.Grants[i].Requests <= 0 {
		r.Grants = slices.Delete(r.Grants, i, i+1)
	}
	return true
}

// CredentialRow is the part of a key, link or sign-in that a settlement needs.
type CredentialRow struct {
	cola.Credential
	Account                      cola.AccountID
	LastUsed, Revoked, ExpiresAt time.Time // zero if never
	store.KeyAccess                        // empty unless the credential is a key
}

// Columns returns pointers to the fields in the order of SelectCredentials.
func (c *CredentialRow) Columns() []any {
	return []any{&c.Kind, &c.ID, &c.Account, &c.LastUsed, &c.Revoked, &c.ExpiresAt, &c.Scopes, &c.Networks}
}

// valid reports whether the credential is valid at time now.
func (c *CredentialRow) valid(now time.Time) bool {
	return c.Revoked.IsZero() && (c.ExpiresAt.IsZero() || c.ExpiresAt.After(now))
}

// useIsDue reports whether a use at time now must be recorded.
func (c *CredentialRow) useIsDue(now time.Time) bool {
	return !c.LastUsed.After(now.Add(-UseInterval)) || c.LastUsed.After(now)
}

// CredentialIDs returns the IDs of the credentials of each kind, for SelectCredentials.
func CredentialIDs(credentials []cola.Credential) (keys, links, signIns []int64) {
	for _, c := range credentials {
		switch c.Kind {
		case cola.CredentialKey:
			keys = append(keys, c.ID)
		case cola.CredentialLink:
			links = append(links, c.ID)
		case cola.CredentialSignIn:
			signIns = append(signIns, c.ID)
		}
	}
	return keys, links, signIns
}

// Settlement is the state of a batch's accounts and the sums of its entries. With the sums, writing
// a batch takes one statement per table, however many accounts it has.
type Settlement struct {
	Now    time.Time
	States []store.AccountState // in the order of the batch's accounts
	Ahead  []int                // for each state, the requests granted after Now
	Stored []int                // for each state, the number of grants in its row, including expired ones

	Months   Sums[cola.AccountID, cola.Used]
	Days     Sums[DayKey, DayCount]
	Requests Sums[cola.AccountID, int] // granted; all positive, or all negative in a reversal
	Pages    []PagePayment             // not in a reversal

	place       map[cola.AccountID]int // index into States
	credentials map[cola.Credential]*CredentialRow
}

// DayKey identifies a row of daily usage on one day.
type DayKey struct {
	Account    cola.AccountID
	Channel    cola.Channel
	Credential cola.Credential
	Meter      cola.Meter
}

// DayCount is the usage in a row of daily usage.
type DayCount struct{ Units, Requests int }

// NewSettlement returns the state of a batch's accounts at the given time.
func NewSettlement(
	batch store.Batch, now time.Time, accounts []AccountRow, credentials []CredentialRow,
) *Settlement {
	n := len(batch.Accounts)
	s := &Settlement{
		Now:    now,
		States: make([]store.AccountState, n),
		Ahead:  make([]int, n),
		Stored: make([]int, n),
		place:  make(map[cola.AccountID]int, n),

		// Most accounts in a batch are charged, and each affects one row of daily usage.
		Months: newSums[cola.AccountID, cola.Used](n), Days: newSums[DayKey, DayCount](n),
		Requests: newSums[cola.AccountID, int](n),
	}
	for i, id := range batch.Accounts {
		s.States[i].Account, s.place[id] = id, i
	}
	for i := range accounts {
		at := s.place[accounts[i].Account.ID]
		s.States[at], s.Ahead[at] = accounts[i].State(now)
		s.Stored[at] = len(accounts[i].Grants)
	}
	for i := range s.States {
		s.States[i].Valid = map[cola.Credential]bool{}
		s.States[i].Keys = map[cola.Credential]store.KeyAccess{}
	}
	s.credentials = make(map[cola.Credential]*CredentialRow, len(credentials))
	for i := range credentials {
		c := &credentials[i]
		s.credentials[c.Credential] = c
		if at, requested := s.place[c.Account]; requested && c.valid(now) {
			s.States[at].Valid[c.Credential] = true
			if c.Kind == cola.CredentialKey {
				s.States[at].Keys[c.Credential] = c.KeyAccess
			}
		}
	}
	return s
}

// NewReversal returns the sums that undo the entries of a batch that was settled at the given time.
func NewReversal(entries []store.Entry, settled time.Time) (*Settlement, error) {
	s := &Settlement{Now: settled, place: map[cola.AccountID]int{}}
	for i, e := range entries {
		s.States = append(s.States, store.AccountState{Account: e.Account, Exists: true})
		s.place[e.Account] = i
	}
	return s, s.addAll(entries, -1)
}

// Add adds entries to the sums.
func (s *Settlement) Add(entries []store.Entry) error { return s.addAll(entries, 1) }

func (s *Settlement) addAll(entries []store.Entry, sign int) error {
	for _, e := range entries {
		if err := s.add(e, sign); err != nil {
			return fmt.Errorf("charge account %d: %w", e.Account, err)
		}
	}
	return nil
}

// add adds an entry to the sums, or subtracts it if sign is -1.
func (s *Settlement) add(e store.Entry, sign int) error {
	i, ok := s.place[e.Account]
	if !ok || !s.States[i].Exists {
		return errors.New("account not in the batch")
	}
	if err := e.Check(); err != nil {
		return err
	}
	if e.Requests > 0 {
		s.Requests.Change(e.Account, func(n *int) { *n += sign * e.Requests })
	}
	var used cola.Used
	for _, u := range e.Units {
		used.Add(u.Meter, sign*u.Units)
		if u.Units != 0 || u.Requests != 0 {
			s.Days.Change(DayKey{e.Account, u.Channel, u.Credential, u.Meter}, func(c *DayCount) {
				c.Units += sign * u.Units
				c.Requests += sign * u.Requests
			})
		}
	}
	for _, p := range e.Pages {
		s.Pages = append(s.Pages, PagePayment{e.Account, p})
	}
	if used != (cola.Used{}) {
		s.Months.Change(e.Account, func(m *cola.Used) {
			m.DetailViews += used.DetailViews
			m.ListRecords += used.ListRecords
		})
	}
	return nil
}

// Windows returns the new window of each account that has new grants or grants ahead of the clock,
// by index into States. Expired grants are dropped, and grants ahead of the clock count as granted
// now.
func (s *Settlement) Windows() iter.Seq2[int, []store.Grant] {
	return func(yield func(int, []store.Grant) bool) {
		for i := range s.States {
			n, grants := s.Requests.Values[s.States[i].Account], s.States[i].Grants
			if n == 0 && s.Ahead[i] == 0 {
				continue
			}
			if n > 0 {
				grants = append(make([]store.Grant, 0, len(grants)+1), grants...)
				grants = store.AddGrant(grants, store.Grant{At: s.Now, Requests: n})
			}
			if !yield(i, grants) {
				return
			}
		}
	}
}

// DueUses returns the credentials of one kind whose use must be recorded, with their accounts. It
// considers the batch's valid credentials and those that its entries charge.
func (s *Settlement) DueUses(kind cola.CredentialKind) (ids []int64, accounts []cola.AccountID) {
	seen := map[int64]bool{}
	use := func(account cola.AccountID, c cola.Credential) {
		if c.Kind != kind || seen[c.ID] {
			return
		}
		seen[c.ID] = true
		if row := s.credentials[c]; row == nil || row.useIsDue(s.Now) {
			ids, accounts = append(ids, c.ID), append(accounts, account)
		}
	}
	for i := range s.States {
		for c := range s.States[i].Valid {
			use(s.States[i].Account, c)
		}
	}
	for _, k := range s.Days.Keys {
		use(k.Account, k.Credential)
	}
	return ids, accounts
}

// Sums holds a value for each key. The zero value is empty.
type Sums[K comparable, V any] struct {
	Keys   []K // in the order in which they were added
	Values map[K]V
}

// newSums returns sums with room for n keys.
func newSums[K comparable, V any](n int) Sums[K, V] {
	return Sums[K, V]{Keys: make([]K, 0, n), Values: make(map[K]V, n)}
}

// Change changes the value of a key, which starts at zero.
func (s *Sums[K, V]) Change(key K, by func(*V)) {
	v, known := s.Values[key]
	if !known {
		if s.Values == nil {
			s.Values = map[K]V{}
		}
		s.Keys = append(s.Keys, key)
	}
	by(&v)
	s.Values[key] = v
}
