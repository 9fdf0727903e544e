package registry

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/store"
)

// Each process records a burst of up to requestBurst requests per account, then one per
// requestEvery, which is the rate limit of the free plan. Beyond that, it still records a burst of
// up to errorBurst errors, then one per errorEvery. An account therefore has at most 123,500 rows
// per process in a week.
const (
	requestBurst       = 2_000
	requestEvery       = 6 * time.Second
	errorBurst         = 500
	errorEvery         = 30 * time.Second
	maxSampledAccounts = 20_000 // accounts in memory; beyond that, the least recently active ones start over
)

const (
	// requestInterval is the delay before requests are written. A crash loses the requests of the
	// last interval.
	requestInterval = time.Second
	// maxPendingRequests is the maximum number of requests in memory, including those being
	// written. Each is up to 7 KB, but typically 400 bytes.
	maxPendingRequests = 5_000
	// maxPendingGaps is the maximum number of counts in memory.
	maxPendingGaps = 10_000
)

// requestRecorder samples each account's requests and writes them in the background, so that
// requests don't wait for the database. Failed writes are retried; if the database committed one
// anyway, its requests are recorded twice.
type requestRecorder struct {
	background
	store     store.RequestLog
	now       cola.Clock
	retention time.Duration
	metrics   *requestLogMetrics
	requests  *ratelimit.Limiter[cola.AccountID]
	errors    *ratelimit.Limiter[cola.AccountID] // limits the errors recorded beyond the requests limit

	// Guarded by mu.
	pending []store.RecordedRequest
	writing int // requests taken from pending, but neither written nor requeued
	gaps    map[gapKey]*store.RequestGap
}

// gapKey identifies requests that are counted together.
type gapKey struct {
	account cola.AccountID
	hour    int64 // hours since 1970
}

// newRequestRecorder returns a recorder whose requests are deleted after the given number of days.
func newRequestRecorder(st store.RequestLog, days int, now cola.Clock, log *slog.Logger,
	m *requestLogMetrics) *requestRecorder {
	r := &requestRecorder{
		background: newBackground("requests", requestInterval, log), store: st, now: now, metrics: m,
		retention: time.Duration(days) * 24 * time.Hour,
		requests:  ratelimit.New[cola.AccountID](requestBurst, requestEvery, maxSampledAccounts, now),
		errors:    ratelimit.New[cola.AccountID](errorBurst, errorEvery, maxSampledAccounts, now),
		gaps:      map[gapKey]*store.RequestGap{},
	}
	r.write = r.writePending
	return r
}

// record records a request that has just been answered, or counts it as left out if there are too
// many requests. It never blocks on the database. describe is called only if the request is
// recorded.
func (r *requestRecorder) record(account cola.AccountID, failed bool, describe func() cola.LoggedRequest) {
	now := r.now()
	if r.requests.Take(account, 1) > 0 && (!failed || r.errors.Take(account, 1) > 0) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.metrics.sampled.Inc()
		r.leaveOut(account, now, failed)
		return
	}
	if r.dropFull(account, now, failed) {
		return
	}
	request := store.RecordedRequest{Account: account, LoggedRequest: describe()}
	request.At = now.Add(-request.Duration)
	request.ExpiresAt = request.At.Add(r.retention)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(request)
}

// dropFull reports whether the queue is full. If so, it counts the request as left out.
func (r *requestRecorder) dropFull(account cola.AccountID, at time.Time, failed bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	full := r.full()
	if full {
		r.metrics.dropped.Inc()
		r.leaveOut(account, at, failed)
	}
	return full
}

// full reports whether the queue accepts no more requests. The caller holds the lock.
func (r *requestRecorder) full() bool {
	return r.closed || len(r.pending)+r.writing >= maxPendingRequests
}

// add queues a request. It counts the request as left out if the queue is full, or if the request
// can't be stored, which would fail every request in its batch. The caller holds the lock.
func (r *requestRecorder) add(request store.RecordedRequest) {
	if r.full() || request.Check() != nil {
		r.metrics.dropped.Inc()
		r.leaveOut(request.Account, request.At, request.Failed())
		return
	}
	r.pending = append(r.pending, request)
	r.schedule()
}

// leaveOut counts a request that isn't recorded. The caller holds the lock.
func (r *requestRecorder) leaveOut(account cola.AccountID, at time.Time, failed bool) {
	hour := at.UTC().Truncate(time.Hour)
	gap := store.RequestGap{Account: account, Hour: hour, ExpiresAt: hour.Add(r.retention + time.Hour), Successes: 1}
	if failed {
		gap.Successes, gap.Errors = 0, 1
	}
	r.addGap(gap)
}

// addGap adds to a pending count, unless there are too many counts. The caller holds the lock.
func (r *requestRecorder) addGap(gap store.RequestGap) {
	key := gapKey{gap.Account, gap.Hour.Unix() / 3600}
	switch known := r.gaps[key]; {
	case known != nil:
		known.Successes += gap.Successes
		known.Errors += gap.Errors
	case !r.closed && len(r.gaps) < maxPendingGaps:
		r.gaps[key] = &gap
	}
	r.schedule()
}

// writePending writes the pending requests and counts, and requeues those that it could not write.
func (r *requestRecorder) writePending(ctx context.Context) error {
	requests, gaps := r.takePending()
	var err error
	for len(requests)+len(gaps) > 0 && err == nil {
		n, counts := min(len(requests), store.RequestBatch), min(len(gaps), store.RequestBatch)
		err = r.store.RecordRequests(ctx, requests[:n], gaps[:counts])
		if err == nil {
			r.written(requests[:n])
			requests, gaps = requests[n:], gaps[counts:]
		}
	}
	r.requeue(requests, gaps)
	return err
}

// takePending returns the pending requests and counts, and resets them.
func (r *requestRecorder) takePending() (requests []store.RecordedRequest, gaps []store.RequestGap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for g := range maps.Values(r.gaps) {
		gaps = append(gaps, *g)
	}
	requests = r.pending
	r.pending, r.writing = make([]store.RecordedRequest, 0, len(requests)), len(requests) // sized for as many again
	clear(r.gaps)
	return requests, gaps
}

// written counts requests as recorded and frees their places in the queue.
func (r *requestRecorder) written(requests []store.RecordedRequest) {
	r.metrics.recorded.Add(float64(len(requests)))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writing -= len(requests)
	clear(requests) // frees their text before the remaining batches are written
}

// requeue puts unwritten requests before those that arrived in the meantime, and merges unwritten
// counts with later ones.
func (r *requestRecorder) requeue(requests []store.RecordedRequest, gaps []store.RequestGap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending, r.writing = append(slices.Clip(requests), r.pending...), 0
	for _, g := range gaps {
		r.addGap(g)
	}
	r.reschedule(len(r.pending)+len(r.gaps) > 0)
}

// close writes the pending requests and stops the recorder. Later requests are dropped, and so are
// those that the database does not accept within flushTimeout.
func (r *requestRecorder) close() {
	r.background.close()
	if lost, _ := r.takePending(); len(lost) > 0 {
		r.metrics.dropped.Add(float64(len(lost)))
		r.log.Warn("request log entries lost at shutdown", "requests", len(lost))
	}
}

// requestLogMetrics counts requests by whether they were recorded.
type requestLogMetrics struct{ recorded, sampled, dropped prometheus.Counter }

// newRequestLogMetrics returns the metrics, registered unless registerer is nil.
func newRequestLogMetrics(registerer prometheus.Registerer) *requestLogMetrics {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_request_log_requests_total",
		Help: "Account requests, by outcome: recorded; sampled (left out because of the per-account limit); " +
			"dropped (left out because the buffer was full, the database was unavailable or the text was invalid).",
	}, []string{"outcome"})
	if registerer != nil {
		registerer.MustRegister(requests)
	}
	return &requestLogMetrics{
		requests.WithLabelValues("recorded"), requests.WithLabelValues("sampled"), requests.WithLabelValues("dropped"),
	}
}
