package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/colaregistry/colaregistry/collect/ttb"
	"github.com/colaregistry/colaregistry/store"
)

// claim is a claimed window or label.
type claim struct {
	what     string // name for messages
	attempts int    // earlier failed attempts
	extend   func(ctx context.Context, hold time.Duration) error
	release  func(ctx context.Context) error
	// fail releases the claim after a failure. A negative wait means that there are no more
	// attempts.
	fail func(ctx context.Context, failure string, wait time.Duration) error
}

// permanentError is a failure that a retry can't fix.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// errQuiet means that a request was not sent because quiet hours have begun.
var errQuiet = errors.New("quiet hours")

// waitError means that a request was not sent because of a store error, quiet hours or a shutdown.
type waitError struct{ err error }

func (e *waitError) Error() string { return e.err.Error() }
func (e *waitError) Unwrap() error { return e.err }

// do runs work for a claim and extends the claim while it runs. If the work fails, do releases the
// claim or records the failure. failure is set if there are no more attempts. err ends the run.
func (c *collector) do(cl claim, work func(ctx context.Context) error) (failure string, err error) {
	ctx, end := c.keepClaim(cl)
	err = catch(c.o.Logger, func() error { return work(ctx) })
	lost := errors.Is(context.Cause(ctx), store.ErrNotFound)
	end()
	blocked, waiting, fatal := (*ttb.BlockedError)(nil), (*waitError)(nil), (*fatalError)(nil)
	ctx = context.WithoutCancel(c.ctx)
	switch {
	case err == nil:
		c.failures, c.fatals = 0, 0
		return "", nil
	case lost || errors.Is(err, store.ErrNotFound):
		c.o.Logger.Warn("another collector took over", "work", cl.what)
		return "", nil
	case errors.As(err, &blocked):
		return "", errors.Join(c.block(ctx, blocked), cl.release(ctx))
	case c.stop.Err() != nil, errors.Is(err, errQuiet):
		return "", cl.release(ctx)
	case errors.As(err, &fatal) && !errors.As(err, &waiting) && c.o.Follow && !errors.Is(err, store.ErrUnavailable):
		return c.retryFatal(ctx, cl, err)
	case errors.As(err, &waiting), errors.As(err, &fatal):
		return "", errors.Join(err, cl.release(ctx))
	}
	return c.retry(ctx, cl, err)
}

// catch turns a panic in f into an error, so that a page that triggers a bug counts as a failed
// attempt.
func catch(log *slog.Logger, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("fetching panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// retryFatal counts a failed attempt after an error that the site did not cause. The error may be
// specific to this day or label, such as an image file that can't be read, and must not stop work
// on other days and labels. If the image store is down, or there are too many such errors in a row,
// the run ends.
func (c *collector) retryFatal(ctx context.Context, cl claim, cause error) (failure string, err error) {
	if err := c.checkImages(ctx); err != nil {
		return "", errors.Join(err, cl.release(ctx))
	}
	failure, err = c.retry(ctx, cl, cause)
	c.fatals++
	if err == nil && c.fatals >= maxFatals {
		err = cause
	}
	return failure, err
}

// fatalError is an error that the site did not cause. It ends the run or, with Follow, counts as a
// failed attempt (see retryFatal).
type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

// fatal marks a store error. It leaves nil unchanged, and also ErrNotFound, which means a lost
// claim.
func fatal(err error) error {
	if err == nil || errors.Is(err, store.ErrNotFound) {
		return err
	}
	return &fatalError{err}
}

// keepClaim extends a claim until end is called. If the claim has ended, the cause of ctx is
// ErrNotFound.
func (c *collector) keepClaim(cl claim) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(c.o.Hold / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := cl.extend(ctx, c.o.Hold); errors.Is(err, store.ErrNotFound) {
				cancel(err)
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// block stops requests from all collectors.
func (c *collector) block(ctx context.Context, page *ttb.BlockedError) error {
	c.blocked = page.Error()
	c.metrics.blocked()
	c.o.Logger.Error("the site blocked this collector", "reason", c.blocked)
	return c.recordBlock(ctx)
}

// recordBlock stores the block and returns it as a SiteBlockedError. If the store fails, it returns
// the store's error, and the next request tries again.
func (c *collector) recordBlock(ctx context.Context) error {
	if err := c.st.BlockSite(ctx, c.blocked); err != nil {
		return err
	}
	err := store.SiteBlockedError{Reason: c.blocked}
	c.blocked = ""
	return err
}

// retry records a failure, and delays requests if the site asks for a delay or fails repeatedly.
func (c *collector) retry(ctx context.Context, cl claim, cause error) (failure string, err error) {
	siteFailure := isSiteFailure(cause)
	c.metrics.failed(siteFailure)
	if siteFailure {
		c.failures++
	}
	wait := c.o.backoff(cl.attempts)
	if temporary := (*ttb.TemporaryError)(nil); errors.As(cause, &temporary) {
		wait = max(wait, temporary.After)
		if busy(temporary.Status) || c.failures > 2 {
			pause := max(temporary.After, c.o.backoff(c.failures-1))
			if err := c.st.PauseRequests(ctx, pause); err != nil {
				return "", err
			}
			wait = max(wait, pause+min(pause, c.o.MaxBackoff)) // so that the next request is for other work, if there is any
		}
	}
	if siteFailure && c.failures >= downFailures {
		up, err := c.probe(ctx, cl)
		switch {
		case errors.Is(err, errQuiet):
			return "", cl.release(ctx)
		case err != nil || c.stop.Err() != nil:
			return "", errors.Join(err, cl.release(ctx))
		case !up:
			return "", c.siteDown(ctx, cl, cause)
		}
		c.failures = 0
	}
	permanent := (*permanentError)(nil)
	final := errors.As(cause, &permanent) || cl.attempts+1 >= MaxAttempts
	if final {
		wait, failure = -1, cause.Error()
	}
	c.o.Logger.Warn("fetch attempt failed", "work", cl.what, "attempt", cl.attempts+1, "final", final, "wait", wait, "error", cause)
	if err := cl.fail(ctx, cause.Error(), wait); err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	return failure, nil
}

// isSiteFailure reports whether a site outage may have caused a failure. Wrong content, such as a
// page that can't be read, shows that the site works.
func isSiteFailure(err error) bool {
	temporary := (*ttb.TemporaryError)(nil)
	return errors.As(err, &temporary) || errors.Is(err, ttb.ErrSessionExpired) || errors.Is(err, ttb.ErrNoLabel)
}

// probe reports whether the site answers an unrelated request: for the form that it served last or,
// if there is none, for a search. probe extends the claim while it waits. An error ends the run,
// unless quiet hours have begun.
func (c *collector) probe(ctx context.Context, cl claim) (up bool, err error) {
	claimCtx, end := c.keepClaim(cl)
	defer end()
	if c.served != 0 {
		_, err = c.site.Form(claimCtx, c.served)
	} else {
		status, statusErr := c.st.FetchStatus(ctx)
		if statusErr != nil {
			return false, statusErr
		}
		day := cmp.Or(status.LastDay, EarliestDay)
		_, err = c.site.Search(claimCtx, ttb.Search{First: day, Last: day})
	}
	blocked, waiting := (*ttb.BlockedError)(nil), (*waitError)(nil)
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &blocked):
		return false, c.block(ctx, blocked)
	case errors.As(err, &waiting) && c.stop.Err() == nil && claimCtx.Err() == nil:
		return false, err
	}
	c.o.Logger.Debug("probe failed", "error", err)
	return false, nil
}

// siteDown releases a claim without counting an attempt, and pauses all requests. Without Follow,
// it ends the run if the site has been down for too long.
func (c *collector) siteDown(ctx context.Context, cl claim, cause error) error {
	if c.failures == downFailures || time.Since(c.loggedDown) >= time.Hour {
		c.o.Logger.Warn("requests to the site keep failing", "failures", c.failures, "work", cl.what, "error", cause)
		c.loggedDown = time.Now()
	}
	if err := cl.release(ctx); err != nil {
		return err
	}
	if c.failures >= maxSiteFailures && !c.o.Follow {
		return fmt.Errorf("requests to the site keep failing; run the command again later: %w", cause)
	}
	return c.st.PauseRequests(ctx, c.o.backoff(c.failures-1))
}

// busy reports whether a status asks for fewer requests.
func busy(status int) bool { return status == 429 || status == 503 }

// backoff returns a random wait (full jitter). Its bound doubles with each previous attempt.
func (o *Options) backoff(attempts int) time.Duration {
	bound := o.MaxBackoff
	if attempts < 20 {
		bound = min(bound, o.Backoff<<attempts)
	}
	return rand.N(bound) + 1
}

// longWait is the wait for a slot beyond which a log line explains the delay.
const longWait = time.Minute

// wait reserves the next slot for a request and waits for it, or until quiet hours begin. The
// client calls it before every request.
func (c *collector) wait(ctx context.Context) error {
	if err := context.Cause(c.stop); err != nil {
		return &waitError{err}
	}
	if c.blocked != "" {
		return &waitError{c.recordBlock(ctx)}
	}
	if !c.o.QuietHours.Until(c.o.Now()).IsZero() {
		return &waitError{errQuiet}
	}
	d, err := c.st.ReserveRequest(ctx, c.o.Interval)
	if err != nil {
		return &waitError{err}
	}
	if d > longWait {
		c.o.Logger.Warn("requests are paused", "until", c.o.Now().Add(d).UTC().Format(time.RFC3339))
	}
	quiet := false
	if q := c.o.QuietHours; q.length > 0 {
		now := c.o.Now()
		untilQuiet := q.next(now).Sub(now)
		quiet, d = untilQuiet <= d, min(untilQuiet, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		if quiet {
			return &waitError{errQuiet}
		}
		c.report.Requests++
		return nil
	case <-c.stop.Done():
		return &waitError{context.Cause(c.stop)}
	case <-ctx.Done():
		return &waitError{context.Cause(ctx)}
	}
}

// siteError classifies an error from the client.
func siteError(err error) error {
	temporary, blocked, waiting := (*ttb.TemporaryError)(nil), (*ttb.BlockedError)(nil), (*waitError)(nil)
	switch {
	case err == nil, errors.As(err, &temporary), errors.As(err, &blocked), errors.As(err, &waiting),
		errors.Is(err, ttb.ErrSessionExpired):
		return err
	}
	return &permanentError{err}
}
