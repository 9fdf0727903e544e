package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
)

// Check refuses what would make the books wrong: an account that is not among the states, so was not looked at, or usage
// that the month cannot tell.
func (e Entry) Check(states []AccountState) error {
	asked := func(s AccountState) bool { return s.Exists && s.Account == e.Account }
	if !slices.ContainsFunc(states, asked) {
		return errors.New("not among the batch's accounts")
	}
	if e.Requests < 0 {
		return fmt.Errorf("%d requests", e.Requests)
	}
	for _, u := range e.Units {
		if err := u.check(); err != nil {
			return err
		}
	}
	return nil
}

func (u Units) check() error {
	if u.Units < 0 || u.Requests < 0 {
		return fmt.Errorf("%d units by %d requests", u.Units, u.Requests)
	}
	switch u.Meter {
	case cola.MeterDetailViews, cola.MeterListRecords:
	case cola.MeterNone:
		if u.Units > 0 {
			return fmt.Errorf("%d units without a meter", u.Units)
		}
	default:
		return fmt.Errorf("unknown meter %q", u.Meter)
	}
	return nil
}

// AddGrant adds a grant that is not earlier than the others: to the last one, when it is of the same instant.
func AddGrant(grants []Grant, g Grant) []Grant {
	if n := len(grants); n > 0 && grants[n-1].At.Equal(g.At) {
		grants[n-1].Requests += g.Requests
		return grants
	}
	return append(grants, g)
}
