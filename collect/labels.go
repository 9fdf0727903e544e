package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect/ttb"
	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/store"
)

// label collects a claimed label.
func (c *collector) label(l store.FetchLabel) error {
	stored := false
	failure, err := c.do(claim{
		what: "label " + l.TTBID.String(), attempts: l.Attempts,
		extend:  func(ctx context.Context, d time.Duration) error { return c.st.ExtendLabel(ctx, l, d) },
		release: func(ctx context.Context) error { return c.st.ReleaseLabel(ctx, l) },
		fail: func(ctx context.Context, failure string, wait time.Duration) error {
			return c.st.FailLabel(ctx, l, failure, wait)
		},
	}, func(ctx context.Context) error {
		postpone, err := c.fetchLabel(ctx, l)
		if err != nil {
			return err
		}
		stored = true
		if postpone == never {
			return fatal(c.st.FinishLabel(ctx, l))
		}
		return fatal(c.st.PostponeImages(ctx, l, postpone))
	})
	if stored {
		c.report.Labels++
	}
	if failure != "" && len(c.report.Failed) < maxListed {
		c.report.Failed = append(c.report.Failed, store.FailedLabel{TTBID: l.TTBID, Failure: failure})
	}
	return err
}

// Waits before collectors fetch a label's images that an earlier attempt didn't store.
const (
	never        time.Duration = -1                  // all are stored, or the label was queued without images
	atOnce       time.Duration = 0                   // this collector fetches no images
	retryFailing               = 24 * time.Hour      // requests for an image failed
	retryMissing               = 30 * 24 * time.Hour // an image is missing from the site or unusable
)

// fetchLabel stores a label's page and images. It returns the wait before the remaining images are
// fetched.
func (c *collector) fetchLabel(ctx context.Context, l store.FetchLabel) (postpone time.Duration, err error) {
	page, err := c.site.Form(ctx, l.TTBID)
	hasForm := err == nil
	if hasForm {
		c.served = l.TTBID
	}
	if errors.Is(err, ttb.ErrNoLabel) {
		page, err = c.site.Detail(ctx, l.TTBID)
	}
	if err != nil {
		return 0, siteError(err)
	}
	to := target{Target: c.st, record: c.records.addPage, before: func(patches []cola.Patch[cola.Cola]) error {
		return c.setCompleted(ctx, patches, l.Completed)
	}}
	report, err := c.importSource(ctx, ingest.PageSource("page of "+l.TTBID.String(), page), to, c.isHistory(l.Completed, l.History))
	switch {
	case err != nil:
		return 0, err
	case report.Rejected > 0:
		return 0, &permanentError{errors.New(report.Rejections[0].Reason)}
	case !l.Images:
		return never, nil
	case c.o.Images != None && hasForm:
		return c.fetchImages(ctx, l, page)
	}
	label, err := c.st.Cola(ctx, l.TTBID)
	switch {
	case err != nil:
		return 0, fatal(err)
	case !slices.ContainsFunc(label.Images, func(m cola.Image) bool { return m.ImageURL == "" }):
		return never, nil
	case c.o.Images == None:
		return atOnce, nil
	}
	return retryMissing, nil // the site serves no images without a form
}

var latestUpdateDate = cola.FieldIndex[cola.Cola]("latest_update_date")

// setCompleted adds the completion date, which pages don't show, to a label, unless the stored date
// is later. Without the date, a label that was not stored from its export row would look new
// whenever its window is queried again.
func (c *collector) setCompleted(ctx context.Context, patches []cola.Patch[cola.Cola], completed cola.Date) error {
	for i := range patches {
		stored, err := c.st.Cola(ctx, patches[i].Record.TTBID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if completed > stored.LatestUpdateDate {
			patches[i].Record.LatestUpdateDate = completed
			patches[i].Fields = patches[i].Fields.With(latestUpdateDate)
		}
	}
	return nil
}

// fetchImages stores the images of the label whose form was opened last, one by one. It skips
// images that are already stored. Images missing from the site don't fail the label; fetchImages
// returns the wait before they are requested again. If requests for an image fail, it fetches the
// other images before it returns the error, unless the site asks for fewer requests. On the label's
// last attempt, an image whose requests fail counts as missing.
func (c *collector) fetchImages(
	ctx context.Context, l store.FetchLabel, form []byte,
) (postpone time.Duration, err error) {
	names, err := ingest.FormFileNames(l.TTBID, form)
	if err != nil {
		return 0, &permanentError{err}
	}
	label, err := c.st.Cola(ctx, l.TTBID)
	if err != nil {
		return 0, fatal(err)
	}
	var failure error
	failing := false
	missing := 0
	for i := range label.Images {
		image := &label.Images[i]
		has, err := c.o.ImageStore.HasImage(ctx, image)
		if err != nil {
			return 0, fatal(err)
		}
		if has {
			continue
		}
		content, err := c.image(ctx, l.TTBID, cmp.Or(names[image.TTBImageID], string(image.FileName)))
		temporary := (*ttb.TemporaryError)(nil)
		retryable := errors.Is(err, ttb.ErrSessionExpired) || errors.As(err, &temporary)
		switch {
		case errors.As(err, new(*permanentError)), retryable && l.Attempts+1 >= MaxAttempts:
			missing++
			failing = failing || retryable
			c.o.Logger.Warn("fetching an image failed", "label", l.TTBID.String(), "file", image.FileName, "error", err)
			continue
		case retryable && (temporary == nil || !busy(temporary.Status)):
			failure = err
			continue
		case err != nil:
			return 0, err
		}
		usable, err := c.o.ImageStore.SaveImage(ctx, l.TTBID, image, content)
		if err != nil {
			return 0, fatal(fmt.Errorf("save image %s: %w", image.TTBImageID, err))
		}
		if usable {
			c.report.Images++
			c.metrics.images(1, 0)
		} else {
			missing++
		}
	}
	if failure != nil {
		return 0, failure
	}
	c.report.MissingImages += missing
	c.metrics.images(0, missing)
	switch {
	case failing:
		return retryFailing, nil
	case missing > 0:
		return retryMissing, nil
	}
	return never, nil
}

// imageAttempts is how many times an image is requested before the whole label is retried, which
// repeats its other requests.
const imageAttempts = 3

// image fetches an image. It opens the label's form again if the session has expired.
func (c *collector) image(ctx context.Context, id cola.TTBID, name string) (data []byte, err error) {
	if name == "" {
		return nil, &permanentError{ttb.ErrNoImage}
	}
	for attempt := range imageAttempts {
		data, err = c.site.Image(ctx, name)
		temporary := (*ttb.TemporaryError)(nil)
		switch {
		case errors.Is(err, ttb.ErrSessionExpired):
			if _, err = c.site.Form(ctx, id); err != nil {
				return nil, siteError(err)
			}
			err = ttb.ErrSessionExpired
		case errors.As(err, &temporary) && attempt+1 < imageAttempts:
			if err := c.delay(ctx, temporary, attempt); err != nil {
				return nil, fatal(err)
			}
		default:
			return data, siteError(err)
		}
	}
	return nil, siteError(err)
}

// delay waits after a failure. If the site asks for fewer requests, all processes wait.
func (c *collector) delay(ctx context.Context, failure *ttb.TemporaryError, attempt int) error {
	wait := max(failure.After, c.o.backoff(attempt))
	if busy(failure.Status) {
		return c.st.PauseRequests(ctx, wait)
	}
	c.sleep(wait)
	return nil
}
