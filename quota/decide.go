package quota

import (
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// reasonBurst is the reason of a refusal for a full window. Refusals for a used-up quota have the
// meter's name.
const reasonBurst = "burst"

// Window is the period of a tier's PerMinute limit: any 60 seconds.
const Window = time.Minute

// Request is a request to charge.
type Request struct {
	Caller cola.Caller
	Meter  cola.Meter
	Units  int // requested; zero with MeterNone

	// Peek only checks the credential and reads the account's state. Such a request is never
	// refused for a full window and is not counted. It does count as a use of the credential.
	Peek bool
}

// Grant is what a request was granted.
type Grant struct {
	Units int // charged: as requested, or fewer if fewer list records are left
	State cola.QuotaState
}

// outcome is a grant, or an error with the quota state for the response headers.
type outcome struct {
	grant Grant
	err   error
}

// Rules decide what is granted. The decision is a pure function of the account's state, the instant
// and the requests, so it is the same over every database and testable without one.
type Rules struct {
	UpgradeURL string // for quota errors
}

// decide decides an account's waiting requests in arrival order, and returns what to charge.
//
// For each request, the credential must be valid and the account not suspended; otherwise it is
// refused and not counted. Then the window must have room; otherwise it is refused and not counted.
// From there on the request counts in the window, even if its quota is used up. A detail view is
// granted or refused. List records are granted as far as they last, and refused when none are left.
func (r Rules) decide(now time.Time, state store.AccountState, requests []Request) ([]outcome, store.Entry) {
	d := decision{rules: r, now: now, quota: cola.QuotaState{
		Tier: state.Tier, Period: cola.PeriodOf(now), Limits: state.Tier.Limits(), Used: state.Used,
	}, grants: state.Grants, entry: store.Entry{Account: state.Account}}
	for _, g := range state.Grants {
		d.inWindow += g.Requests
	}
	outcomes := make([]outcome, len(requests))
	for i, q := range requests {
		if !state.Exists || !state.Valid[q.Caller.Credential] {
			outcomes[i] = outcome{err: ended(q.Caller.Credential)}
			continue
		}
		if state.Suspended != "" {
			outcomes[i] = outcome{Grant{State: d.quota}, suspended(state.Suspended)}
			continue
		}
		if q.Peek {
			outcomes[i] = outcome{grant: Grant{State: d.quota}}
			continue
		}
		outcomes[i] = d.one(q)
	}
	return outcomes, d.entry
}

// ended is the refusal of a credential that became invalid after the request was authenticated.
func ended(c cola.Credential) error {
	switch c.Kind {
	case cola.CredentialLink:
		return cola.Errorf(cola.CodeUnauthorized, "The app's access has been ended, by the account holder or by the operator.")
	case cola.CredentialSignIn:
		return cola.Errorf(cola.CodeUnauthorized, "This browser was signed out. Sign in again.")
	}
	return cola.Errorf(cola.CodeUnauthorized, "The credential has been revoked or has expired. Make a new API key.")
}

// suspended is the refusal of a suspended account, with a nonempty reason.
func suspended(because string) error {
	sentence := because
	if !strings.ContainsAny(sentence[len(sentence)-1:], ".!?") {
		sentence += "."
	}
	refusal := cola.Errorf(cola.CodeAccountSuspended, "The account is suspended: %s Ask the operator of this service; nothing of the account is lost.", sentence)
	refusal.Details = map[string]any{"reason": because}
	return refusal
}

type decision struct {
	rules    Rules
	now      time.Time
	quota    cola.QuotaState
	grants   []store.Grant
	inWindow int
	entry    store.Entry
}

func (d *decision) one(q Request) outcome {
	if d.inWindow >= d.quota.Limits.PerMinute {
		return outcome{Grant{State: d.quota}, d.burst()}
	}
	d.inWindow++
	d.entry.Requests++
	units, err := d.spend(q)
	d.count(q, units)
	state := d.quota
	state.Charged = units
	return outcome{Grant{Units: units, State: state}, err}
}

// spend takes the units from what is left of the meter and returns how many were had.
func (d *decision) spend(q Request) (int, error) {
	switch q.Meter {
	case cola.MeterDetailViews:
		if q.Units > d.quota.DetailViewsRemaining() {
			return 0, d.exhausted(q.Meter, d.quota.Used.DetailViews, d.quota.Limits.DetailViews)
		}
		d.quota.Used.DetailViews += q.Units
		return q.Units, nil
	case cola.MeterListRecords:
		units := min(q.Units, d.quota.ListRecordsRemaining())
		if units == 0 && q.Units > 0 {
			return 0, d.exhausted(q.Meter, d.quota.Used.ListRecords, d.quota.Limits.ListRecords)
		}
		d.quota.Used.ListRecords += units
		return units, nil
	}
	return 0, nil
}

// count notes the request in the entry, summed with those of the same kind.
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

// burst returns the refusal of a request that finds the window full, with the exact time until a
// place is free.
func (d *decision) burst() error {
	limit := d.quota.Limits.PerMinute
	wait := Window // all of this batch's own grants are at now
	left := d.inWindow
	for _, g := range d.grants {
		if left -= g.Requests; left < limit {
			wait = g.At.Add(Window).Sub(d.now)
			break
		}
	}
	return burstError(d.quota, wait)
}

func burstError(q cola.QuotaState, wait time.Duration) error {
	limit := q.Limits.PerMinute
	return cola.TooMany(reasonBurst, limit, wait, fmt.Sprintf("The plan %q allows %d requests in any 60 seconds.", q.Tier, limit))
}

func (d *decision) exhausted(m cola.Meter, used, limit int) error {
	reset := d.quota.Period.End()
	what := "detail views"
	if m == cola.MeterListRecords {
		what = "list records"
	}
	more := "; a larger plan has more."
	if d.quota.Tier.Largest() {
		more = "."
	}
	return &cola.Error{
		Code: cola.CodeQuotaExceeded,
		Message: fmt.Sprintf("The %d %s of the plan %q for %s are used up. They start again on %s%s",
			limit, what, d.quota.Tier, d.quota.Period, reset.Format(time.DateOnly), more),
		Details: map[string]any{
			"reason": string(m), "limit": limit, "used": used, "reset": reset.Format(time.RFC3339),
		},
		UpgradeURL: d.rules.UpgradeURL,
	}
}
