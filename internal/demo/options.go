package demo

import (
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// DefaultColas is how many labels are made where no number is asked for.
const DefaultColas = 20_000

// MaxColas is the largest number of labels that can be asked for: the day with the most receipts must not run out of the
// six digits that number a day's applications.
const MaxColas = 10_000_000

// Options says which registry to make up. Equal options give equal records.
type Options struct {
	Colas int       // number of labels
	Seed  uint64    // another seed is another registry
	AsOf  cola.Date // the day it is: no label is dated later, and the year before it is never empty
}

// firstReceipt is the day from which the registry holds labels.
var firstReceipt = cola.NewDate(2005, time.January, 3)

// Check reports what makes records impossible: a negative or too large number of labels, or a day so early that there is
// no year of receipts before it, or so late that two-digit years in TTB ids repeat.
func (o Options) Check() error {
	if o.Colas < 0 || o.Colas > MaxColas {
		return fmt.Errorf("demonstration data: %d labels asked for; the number is from 0 to %d", o.Colas, MaxColas)
	}
	first, last := cola.NewDate(2006, time.January, 1), cola.NewDate(2099, time.December, 31)
	if o.AsOf < first || o.AsOf > last {
		return fmt.Errorf("demonstration data: day %q; it is from %s to %s", o.AsOf, first, last)
	}
	return nil
}
