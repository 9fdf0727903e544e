package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// reasonBurst is the details.reason of a rate-limit rejection. For an exhausted quota, the reason
// is the meter's name.
const reasonBurst = "burst"

// Window is the length of the sliding window for a tier's PerMinute rate limit.
const Window = time.Minute

// Request is a request to charge.
type Request struct {
	Caller cola.Caller
	Meter  cola.Meter
	Units  int // units requested; zero with MeterNone

	// Page identifies the rows of a page of list records that a dashboard session may reload for
	// store.PageRetention without a charge. It is a hash of everything that determines the rows, so
	// that no other rows are free. It is empty if a reload is charged.
	Page string

	// Peek only checks the credential and reads the account's state. Such a request is exempt from
	// the rate limit and is not counted, but it does update the credential's last use.
	Peek bool
}

// exempt reports whether the request is exempt from the rate limit. Requests from the dashboard are
// charged but exempt: opening pages must not block the account's API clients, or be blocked by
// them. The dashboard limits its pages itself.
func (q Request) exempt() bool { return q.Peek || q.Caller.Channel == cola.ChannelDashboard }

// Grant is the result of a charge.
type Grant struct {
	Units int             // charged now or earlier for the same page; fewer than requested if fewer list records are left
	State cola.QuotaState // after the charge, for the response headers

	// Scopes are the caller's scopes when the request was decided. They are nil if it was rejected
	// earlier or by the credential check.
	Scopes []cola.Scope
}

// outcome is a grant, or an error with the quota state for the response headers.
type outcome struct {
	grant Grant
	err   error
}

// Rules decide charges. A decision depends only on the account's state, the current time and the
// requests, so it is the same on every database and testable without one.
type Rules struct {
	UpgradeURL string // upgrade page, for quota errors unless the account has the largest plan
}

// decide decides an account's queued requests in order of arrival, and returns the outcomes and the
// entry to charge. For each request:
//
//  1. The credential must be valid and the account not suspended, and an API key must be sent from
//     one of its networks. Otherwise the request is rejected and does not count. A key sent from
//     outside its networks reveals nothing about the account, and counts as unused.
//  2. A peek gets the account's state and does not count.
//  3. The rate-limit window must have room, unless the request is exempt. Otherwise the request is
//     rejected and does not count.
//  4. The request now counts in the window, unless it is exempt, and in the account's usage, even
//     if step 5 rejects it.
//  5. The caller must have the scope that the request needs. Detail views are granted in full or
//     rejected. List records are granted up to the remaining quota, and rejected if it is zero.
//     Records already paid for on the same page aren't charged again.
//
// decide removes from state.Valid the keys that were sent only from outside their networks.
func (r Rules) decide(now time.Time, state store.AccountState, requests []Request) ([]outcome, store.Entry) {
	d := decision{rules: r, now: now, quota: cola.QuotaState{
		Tier: state.Tier, Period: cola.PeriodOf(now), Limits: state.Tier.Limits(), Used: state.Used,
	}, grants: state.Grants, paid: maps.Clone(state.Paid), paidBefore: state.Paid, entry: store.Entry{Account: state.Account}}
	for _, g := range state.Grants {
		d.inWindow += g.Requests
	}
	outcomes := make([]outcome, len(requests))
	used := map[cola.Credential]bool{}
	for i, q := range requests {
		if err := checkCredential(state, q.Caller); err != nil {
			outcomes[i] = outcome{err: err}
			continue
		}
		used[q.Caller.Credential] = true
		scopes := scopesOf(state, q.Caller)
		missing := missingScope(q.Caller, scopes)
		switch {
		case state.Suspended != "":
			outcomes[i] = outcome{Grant{State: d.quota}, suspended(state)}
		case q.Peek:
			outcomes[i] = outcome{Grant{State: d.quota}, missing}
		default:
			outcomes[i] = d.decideOne(q, missing)
		}
		outcomes[i].grant.Scopes = scopes
	}
	maps.DeleteFunc(state.Valid, func(c cola.Credential, _ bool) bool { return !used[c] })
	return outcomes, d.entry
}

// checkCredential returns an error if the caller's credential is invalid, or is a key sent from
// outside its networks.
func checkCredential(state store.AccountState, c cola.Caller) error {
	if !state.Exists || !state.Valid[c.Credential] {
		return invalidCredential(c.Credential)
	}
	if !state.Keys[c.Credential].Networks.Allow(c.Client) {
		return c.OutsideNetworks()
	}
	return nil
}

// scopesOf returns the caller's scopes. A key has the stored scopes, even if they have changed
// since the caller was authenticated.
func scopesOf(state store.AccountState, c cola.Caller) []cola.Scope {
	if c.Credential.Kind != cola.CredentialKey {
		return c.Scopes
	}
	return state.Keys[c.Credential].Scopes
}

// missingScope returns an error if a caller with the given scopes lacks the one that the request
// needs.
func missingScope(c cola.Caller, scopes []cola.Scope) error {
	if c.Needs == "" || slices.Contains(scopes, c.Needs) {
		return nil
	}
	return c.Lacks(c.Needs)
}

// invalidCredential returns the error for a credential that became invalid after the request was
// authenticated.
func invalidCredential(c cola.Credential) error {
	switch c.Kind {
	case cola.CredentialLink:
		return cola.Errorf(cola.CodeUnauthorized,
			"This app's access was revoked by the account holder or the operator.")
	case cola.CredentialSignIn:
		return cola.Errorf(cola.CodeUnauthorized, "This session was signed out. Sign in again.")
	}
	return cola.Errorf(cola.CodeUnauthorized, "The API key was revoked or has expired. Create a new one.")
}

// suspended returns the error for a suspended account.
func suspended(state store.AccountState) error {
	reason, sentence := state.Suspended, state.Suspended
	if at := state.DeletesAt.UTC(); !at.IsZero() {
		err := cola.Errorf(cola.CodeAccountSuspended, "The account will be deleted on %s. Until then, the account holder can "+
			"sign in to the dashboard to keep it.", at.Format("January 2, 2006, at 15:04 UTC"))
		err.Details = map[string]any{"reason": reason, cola.DetailDeletesAt: at.Format(time.RFC3339)}
		return err
	}
	if !strings.ContainsAny(sentence[len(sentence)-1:], ".!?") {
		sentence += "."
	}
	err := cola.Errorf(cola.CodeAccountSuspended,
		"The account is suspended: %s Contact the operator. Your data is kept.", sentence)
	err.Details = map[string]any{"reason": reason}
	return err
}

// decision is the state while one account's requests are being decided.
type decision struct {
	rules    Rules
	now      time.Time
	quota    cola.QuotaState // includes the requests granted so far
	grants   []store.Grant   // requests from earlier batches in the window
	inWindow int             // requests in the window, including those granted so far
	entry    store.Entry     // entry to charge

	paid       map[store.PageKey]int // list records charged for pages, including those granted so far
	paidBefore map[store.PageKey]int // list records that earlier batches charged for pages
}

// decideOne applies steps 3 to 5 of decide to one request. missing is the error for a missing
// scope, or nil.
func (d *decision) decideOne(q Request, missing error) outcome {
	if !q.exempt() {
		if d.inWindow >= d.quota.Limits.PerMinute {
			return outcome{Grant{State: d.quota}, d.burst()}
		}
		d.inWindow++
		d.entry.Requests++
	}
	if missing != nil {
		d.count(q, 0)
		return outcome{Grant{State: d.quota}, missing}
	}
	page, isPage := q.page()
	paid := min(d.paid[page], q.Units)
	units, err := d.spend(q, paid)
	d.count(q, units)
	if isPage && err == nil {
		d.payPage(page, paid, units)
	}
	state := d.quota
	state.Charged = units
	return outcome{Grant{Units: paid + units, State: state}, err}
}

// page returns the key of the request's page, and whether it has one.
func (q Request) page() (store.PageKey, bool) {
	c := q.Caller.Credential
	if q.Page == "" || q.Meter != cola.MeterListRecords || c.Kind != cola.CredentialSignIn {
		return store.PageKey{}, false
	}
	return store.PageKey{SignIn: c.ID, Page: q.Page}, true
}

// payPage records that a page was granted. paid is the number of rows that were charged before, and
// units the number charged now.
func (d *decision) payPage(page store.PageKey, paid, units int) {
	if paid+units == 0 {
		return
	}
	if d.paid == nil {
		d.paid = map[store.PageKey]int{}
	}
	d.paid[page] += units
	i := slices.IndexFunc(d.entry.Pages, func(p store.PagePayment) bool { return p.PageKey == page })
	if i < 0 {
		i, d.entry.Pages = len(d.entry.Pages), append(d.entry.Pages, store.PagePayment{PageKey: page})
	}
	d.entry.Pages[i].Units += units
	d.entry.Pages[i].Reloaded = d.paidBefore[page] > 0
}

// spend charges the requested units, except those already paid for, against the remaining quota,
// and returns how many it charged.
func (d *decision) spend(q Request, paid int) (int, error) {
	switch q.Meter {
	case cola.MeterDetailViews:
		if q.Units > d.quota.DetailViewsRemaining() {
			return 0, d.exhausted(q.Meter, d.quota.Used.DetailViews, d.quota.Limits.DetailViews)
		}
		d.quota.Used.DetailViews += q.Units
		return q.Units, nil
	case cola.MeterListRecords:
		units := min(q.Units-paid, d.quota.ListRecordsRemaining())
		if paid+units == 0 && q.Units > 0 {
			return 0, d.exhausted(q.Meter, d.quota.Used.ListRecords, d.quota.Limits.ListRecords)
		}
		d.quota.Used.ListRecords += units
		return units, nil
	}
	return 0, nil
}

// count adds the request to the entry, merging it with requests that have the same channel,
// credential and meter.
func (d *decision) count(q Request, units int) {
	u := store.Units{Channel: q.Caller.Channel, Credential: q.Caller.Credential, Meter: q.Meter}
	for i := range d.entry.Units {
		e := &d.entry.Units[i]
		if e.Channel == u.Channel && e.Credential == u.Credential && e.Meter == u.Meter {
			e.Units += units
			e.Requests++
			return
		}
	}
	u.Units, u.Requests = units, 1
	d.entry.Units = append(d.entry.Units, u)
}

// burst returns the error for a full window, with the exact time until the window has room.
func (d *decision) burst() error {
	limit := d.quota.Limits.PerMinute
	wait := Window // requests in this batch leave the window a full Window from now
	left := d.inWindow
	for _, g := range d.grants {
		left -= g.Requests
		if left < limit {
			wait = g.At.Add(Window).Sub(d.now)
			break
		}
	}
	return burstError(d.quota, wait)
}

// burstError returns the rate-limit error, with the time until the window has room.
func burstError(q cola.QuotaState, wait time.Duration) error {
	limit := q.Limits.PerMinute
	return cola.TooMany(reasonBurst, limit, wait,
		fmt.Sprintf("The %s plan allows %d requests in any 60-second window.", q.Tier, limit))
}

// exhausted returns the error for an exhausted monthly quota.
func (d *decision) exhausted(m cola.Meter, used, limit int) error {
	reset := d.quota.Period.End()
	units := "detail views"
	if m == cola.MeterListRecords {
		units = "list records"
	}
	upgradeURL, upgrade := d.rules.UpgradeURL, " A larger plan includes more."
	if d.quota.Tier.Largest() {
		upgradeURL, upgrade = "", ""
	}
	return &cola.Error{
		Code: cola.CodeQuotaExceeded,
		Message: fmt.Sprintf("The %s plan's %d %s for %s are used up. The quota resets on %s.%s",
			d.quota.Tier, limit, units, d.quota.Period, reset.Format(time.DateOnly), upgrade),
		Details: map[string]any{
			"reason": string(m), "limit": limit, "used": used, "reset": reset.Format(time.RFC3339),
		},
		UpgradeURL: upgradeURL,
	}
}
