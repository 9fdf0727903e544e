package quota

import (
	"log/slog"
	"sync"
	"time"
)

// tellEvery is how often it is logged that batches are still not committed.
const tellEvery = time.Minute

// failures tells of batches that were not committed: of the first with its reason, of those behind it only how many there are.
// Otherwise an outage would write as much into the log as there are requests.
type failures struct {
	log *slog.Logger

	mu      sync.Mutex
	unclear bool // an attempt with an unknown outcome was told of
	batches int  // not committed, since one last was
	charges int  // in them
	told    time.Time
}

// attempt tells of an attempt that failed with an unknown outcome.
func (f *failures) attempt(charges int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unclear {
		return
	}
	f.unclear = true
	f.log.Warn("ledger batch unclear, settling it again", "charges", charges, "error", err)
}

// batch tells of a batch that was not committed.
func (f *failures) batch(charges int, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches++
	f.charges += charges
	switch {
	case f.batches == 1:
		f.log.Error("ledger batch not committed", "charges", charges, "error", err)
	case now.Sub(f.told) >= tellEvery:
		f.log.Error("ledger batches still not committed", "batches", f.batches, "charges", f.charges, "error", err)
	default:
		return
	}
	f.told = now
}

// committed ends a row of failures.
func (f *failures) committed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.batches > 1 {
		f.log.Info("ledger batches are committed again", "failed_batches", f.batches, "failed_charges", f.charges)
	}
	f.unclear, f.batches, f.charges = false, 0, 0
}
