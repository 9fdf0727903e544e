package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Fetches stores the work of collectors, which fetch labels from TTB's Public COLA Registry. The
// work consists of windows and labels: a window's export lists labels, and a label's pages contain
// its detail.
//
// Collectors in any number of processes share the work and the rate limit. They claim one window or
// label at a time. If a process stops, its claims expire and others take over. A claim is
// identified by its hold number. Once a claim has ended, methods that need it return ErrNotFound
// without writing. Due times and claims follow the database's clock.
type Fetches interface {
	// PlanWindows adds a pending window for every day from first to last that has none. It also
	// makes two kinds of windows in the range pending again and deletes their parts: incomplete
	// ones, and those completed before both their Settled time and the given time. If history is
	// set, it marks the windows in the range that are not complete as history. It returns the
	// number of pending windows in the range.
	PlanWindows(ctx context.Context, first, last cola.Date, before time.Time, history bool) (pending int, err error)
	// CountWindows counts the days from first to last that have a window. Stale depends on the
	// given time, as in PlanWindows.
	CountWindows(ctx context.Context, first, last cola.Date, before time.Time) (WindowCounts, error)
	// ClaimWindow claims a pending window that is due, for a day from first to last: the one with
	// the latest day, then the first by class. ClaimWindow fails with ErrNotFound if none is due.
	ClaimWindow(ctx context.Context, first, last cola.Date, hold time.Duration) (FetchWindow, error)
	// SplitWindow replaces a claimed window with parts, which are history if the window is. A split
	// day is complete when its parts are.
	SplitWindow(ctx context.Context, w FetchWindow, total int, parts []ClassRange) error
	// CompleteWindow records that all labels of a claimed window are stored. If it was the last
	// part of a split day, CompleteWindow completes the day, or makes it incomplete if the totals
	// of the parts don't add up to the day's. A complete window is no longer history: labels that a
	// later plan finds on its day are new.
	CompleteWindow(ctx context.Context, w FetchWindow, total int) error
	// FailWindow releases a claimed window after a failure. The window is due again after the given
	// wait, or becomes incomplete if wait is negative.
	FailWindow(ctx context.Context, w FetchWindow, failure string, wait time.Duration) error

	// QueueLabels adds labels to the queue, and makes queued ones pending and due again. A queued
	// label keeps Images and History if they are set. QueueLabels ends claims, so that a collector
	// that read an older state doesn't remove the labels.
	QueueLabels(ctx context.Context, labels []FetchLabel) error
	// RetryFailedLabels makes all failed labels pending and due again.
	RetryFailedLabels(ctx context.Context) error
	// ClaimLabel claims a pending label that is due: the one with the latest completion date, then
	// the highest ID. If there is none, and images is set, it claims a label with postponed images
	// that are due. ClaimLabel fails with ErrNotFound if none is due.
	ClaimLabel(ctx context.Context, images bool, hold time.Duration) (FetchLabel, error)
	// FinishLabel removes a claimed label from the queue.
	FinishLabel(ctx context.Context, l FetchLabel) error
	// PostponeImages releases a claimed label whose page is stored, but not all of its images. The
	// label stays in the queue for collectors that fetch images, and is due after the given wait.
	PostponeImages(ctx context.Context, l FetchLabel, wait time.Duration) error
	// FailLabel releases a claimed label after a failure. The label is due again after the given
	// wait, or stays in the queue as failed if wait is negative.
	FailLabel(ctx context.Context, l FetchLabel, failure string, wait time.Duration) error

	// ReleaseWindow and ReleaseLabel release a claim without counting an attempt. They ignore
	// claims that have ended.
	ReleaseWindow(ctx context.Context, w FetchWindow) error
	ReleaseLabel(ctx context.Context, l FetchLabel) error
	// ExtendWindow and ExtendLabel make a claim last for hold from now.
	ExtendWindow(ctx context.Context, w FetchWindow, hold time.Duration) error
	ExtendLabel(ctx context.Context, l FetchLabel, hold time.Duration) error

	// ReserveRequest counts a request to the site, reserves the next time slot for it, and returns
	// how long to wait. Slots are at least interval apart across all processes. ReserveRequest
	// fails with a SiteBlockedError if the site is blocked.
	ReserveRequest(ctx context.Context, interval time.Duration) (wait time.Duration, err error)
	// PauseRequests delays the next slot until at least wait from now.
	PauseRequests(ctx context.Context, wait time.Duration) error
	// BlockSite stops the requests of all processes and records the reason. UnblockSite permits
	// them again. It also ends a pause, and the next slot ignores slots reserved in the future, so
	// that a mistaken pause doesn't stop requests for good.
	BlockSite(ctx context.Context, reason string) error
	UnblockSite(ctx context.Context) error

	// FetchStatus returns a consistent snapshot of the work.
	FetchStatus(ctx context.Context) (FetchStatus, error)
}

// FetchWindow is a window of labels: those completed on one day, or a part of them by class.
type FetchWindow struct {
	Day      cola.Date
	Class    ClassRange // the zero value for all classes
	History  bool       // whether its labels are history, from an initial load
	Attempts int        // failed attempts since it became pending
	Hold     int64      // identifies the claim
}

// ClassRange is an inclusive range of TTB's class/type codes.
type ClassRange struct{ From, To string }

// Settled returns the time after which a day's labels no longer change: SettleDays after its end.
func (w FetchWindow) Settled() time.Time {
	return w.Day.AddDays(SettleDays + 1).Time()
}

// SettleDays is the number of days after a completion date during which TTB still adds labels with
// that date.
const SettleDays = 7

// FetchLabel is a label with pages to fetch.
type FetchLabel struct {
	TTBID     cola.TTBID
	Completed cola.Date // zero if unknown
	Images    bool      // whether to fetch its images too
	History   bool      // whether a history window listed it
	Attempts  int       // failed attempts since it was queued
	Hold      int64     // identifies the claim
}

// FetchStatus is the state of the work.
type FetchStatus struct {
	Windows    map[string]int // days by state
	Labels     map[string]int // labels in the queue by state
	WithImages int            // pending labels whose images must be fetched too
	ImagesDue  int            // labels with postponed images that are due
	// FirstDay and LastDay are the first and the last complete day; zero if there is none.
	FirstDay, LastDay cola.Date
	Requests          int64         // so far, including failed ones
	FirstRequest      time.Time     // zero if there are none
	LastRequest       time.Time     // the latest reserved slot
	Interval          time.Duration // of the latest reservation
	PausedUntil       time.Time     // may be in the past; zero if there has been no pause since UnblockSite
	Blocked           string        // the reason, or empty
	BlockedAt         time.Time
	LastFailure       string // of a window or label, or empty
	LastFailureAt     time.Time
	// Incomplete lists the latest incomplete days, at most 20.
	Incomplete []IncompleteWindow
	// NewestDay is the latest day with fetched labels, which is the newest completion date. It
	// doesn't change while the day is being queried again. It is zero if there is none.
	NewestDay cola.Date
	// OldestPending is the earliest day that is pending or split; zero if there is none.
	OldestPending cola.Date
	// Failed lists the latest failed labels, at most 20.
	Failed []FailedLabel
}

const (
	// WindowRequests is the number of requests for a day: a search and an export.
	WindowRequests = 2
	// ImagesPerLabel is the average number of images per label, measured on the real labels that
	// tests use.
	ImagesPerLabel = 1.9
)

// LabelRequests estimates the requests for the queued labels and their images.
func (s FetchStatus) LabelRequests() int {
	return s.Labels[FetchPending] + int(float64(s.WithImages)*ImagesPerLabel)
}

// Left estimates the time until all planned days and queued labels are done, at the most recent
// request rate.
func (s FetchStatus) Left() time.Duration {
	days := s.Windows[FetchPending] + s.Windows[FetchSplit]
	return time.Duration(days*WindowRequests+s.LabelRequests()) * s.Interval
}

// IncompleteWindow is a window that could not be completed.
type IncompleteWindow struct {
	Day     cola.Date
	Class   ClassRange
	Failure string
}

// FailedLabel is a label that could not be fetched.
type FailedLabel struct {
	TTBID   cola.TTBID
	Failure string // of the last attempt
}

// The states of windows and queued labels.
const (
	FetchPending    = "pending"
	FetchSplit      = "split"      // windows only: replaced by parts
	FetchComplete   = "complete"   // windows only
	FetchIncomplete = "incomplete" // windows only: given up until planned again
	FetchFailed     = "failed"     // labels only: given up until queued again or retried
	FetchImages     = "images"     // labels only: the page is stored, the images are postponed
)

// SiteBlockedError means that a request failed because the site is blocked.
type SiteBlockedError struct{ Reason string }

// Error returns the reason.
func (e SiteBlockedError) Error() string { return e.Reason }

// WindowCounts counts days by the state of their windows.
type WindowCounts struct {
	Pending    int // including split ones
	Complete   int
	Incomplete int
	Stale      int // complete ones that PlanWindows would make pending again
}
