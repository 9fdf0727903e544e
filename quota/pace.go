package quota

import "time"

const (
	// maxWait is the maximum estimated time until a charge is committed; the charge is rejected if
	// the estimate is longer. The estimate can be off by half, and the response also takes time:
	// the goal is to respond within a second.
	maxWait = 500 * time.Millisecond
	// minAccounts is the number of accounts that may always wait, whatever the estimate, so that
	// they share slow commits.
	minAccounts = 512

	paceWeight = 1. / 16 // weight of the latest batch in the averages

	// Until batches of different sizes have been measured, an account is assumed to take
	// assumedSeconds, as on a small machine. The assumption carries as much weight as batches whose
	// sizes have the variance assumedVariance. Without it, the first surge after a few quiet
	// minutes would be rejected, because each account would seem to take as long as a commit.
	assumedSeconds  = 50e-6
	assumedVariance = 32 * 32
)

// pace estimates how long a batch takes: a fixed time for its transaction plus a time per account.
// Several requests from one account take barely longer than one. The estimate is a linear
// regression over recent batches, weighted exponentially. The zero value is ready to use.
type pace struct {
	accounts, seconds    float64 // averages
	variance, covariance float64 // variance of accounts; covariance of accounts and seconds
	known                bool
}

// observe adds a batch.
func (p *pace) observe(accounts int, took time.Duration) {
	if !p.known {
		p.accounts, p.seconds, p.known = float64(accounts), took.Seconds(), true
		return
	}
	da, ds := float64(accounts)-p.accounts, took.Seconds()-p.seconds
	p.accounts += paceWeight * da
	p.seconds += paceWeight * ds
	p.variance = (1 - paceWeight) * (p.variance + paceWeight*da*da)
	p.covariance = (1 - paceWeight) * (p.covariance + paceWeight*da*ds)
}

// times returns the fixed time of a batch and the time per account, in seconds. The latter is
// positive.
func (p *pace) times() (fixed, each float64) {
	each = (p.covariance + assumedSeconds*assumedVariance) / (p.variance + assumedVariance)
	if p.known {
		each = min(each, p.seconds/p.accounts)
	}
	each = max(each, assumedSeconds/100)
	return max(0, p.seconds-each*p.accounts), each
}

// estimate returns how long it takes to commit the batch that is being settled and the next one, if
// they have the given number of accounts in total.
func (p *pace) estimate(accounts int) time.Duration {
	fixed, each := p.times()
	return time.Duration((2*fixed + each*float64(accounts)) * float64(time.Second))
}

// maxAccounts returns the total number of accounts in both batches at which the estimate reaches
// maxWait, but at least minAccounts and at most maxQueued.
func (p *pace) maxAccounts() int {
	fixed, each := p.times()
	return int(max(minAccounts, min(maxQueued, (maxWait.Seconds()-2*fixed)/each)))
}
