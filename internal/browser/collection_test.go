package browser

import (
	"errors"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/store"
)

// simulateCollection stores the state of an unfinished collection. Most days are complete; one day
// and part of another have failed. Labels are queued, and some have failed.
func (s *site) simulateCollection() {
	s.t.Helper()
	f, today := s.registry.Store, cola.DateOf(s.registry.Now())
	first := today.AddDays(-40)
	_, err := f.PlanWindows(s.t.Context(), first, today, time.Time{}, false)
	for n := 0; n < 32 && err == nil; n++ {
		err = s.collectDay(f, n, first, today)
	}
	var labels []store.FetchLabel
	for n := range 1_240 {
		labels = append(labels, store.FetchLabel{TTBID: cola.TTBID(26_300_001_000_000 + n), Completed: today, Images: n%3 == 0})
	}
	err = errors.Join(err, f.QueueLabels(s.t.Context(), labels))
	for range 3 {
		label, claimErr := f.ClaimLabel(s.t.Context(), true, time.Minute)
		err = errors.Join(err, claimErr, f.FailLabel(s.t.Context(), label, "the site answered 500 Internal Server Error", -1))
	}
	label, claimErr := f.ClaimLabel(s.t.Context(), true, time.Minute)
	err = errors.Join(err, claimErr, f.PostponeImages(s.t.Context(), label, time.Hour), s.fetchReferences())
	for range 2_841 {
		if _, reserveErr := f.ReserveRequest(s.t.Context(), time.Second); reserveErr != nil {
			err = reserveErr
		}
		s.registry.Advance(time.Second)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// fetchReferences records a successful and a failed download of reference data.
func (s *site) fetchReferences() error {
	for source, failure := range map[string]string{"permits": "", "avas": "status 503"} {
		_, err := s.registry.Store.ClaimReferenceFetch(s.t.Context(), source, 0)
		if err == nil && failure != "" {
			err = s.registry.Store.FailReferenceFetch(s.t.Context(), source, failure)
		} else if err == nil {
			content := store.ReferenceContent{URL: "https://ttb.example/" + source, Hash: make([]byte, 32)}
			err = s.registry.Store.SaveReferenceFetch(s.t.Context(), source, content, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// collectDay records the outcome of the nth day. Day 4 fails. Day 9 is split into two parts, the
// second of which fails. The other days succeed.
func (s *site) collectDay(f store.Fetches, n int, first, last cola.Date) error {
	w, err := f.ClaimWindow(s.t.Context(), first, last, time.Minute)
	switch {
	case err != nil:
		return err
	case n == 4:
		return f.FailWindow(s.t.Context(), w, "the export has 412 rows, the page states 414", -1)
	case n == 9:
		parts := []store.ClassRange{{From: "0", To: "499"}, {From: "500", To: "999"}}
		if err := f.SplitWindow(s.t.Context(), w, 1_400, parts); err != nil {
			return err
		}
		for i := range parts {
			part, err := f.ClaimWindow(s.t.Context(), w.Day, w.Day, time.Minute)
			if err == nil && i == 0 {
				err = f.CompleteWindow(s.t.Context(), part, 700)
			} else if err == nil {
				err = f.FailWindow(s.t.Context(), part, "class 510 alone has 1,020 labels, more than an export lists", -1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return f.CompleteWindow(s.t.Context(), w, 400)
}

// blockCollectors records that TTB's site blocked the collectors.
func (s *site) blockCollectors() {
	s.t.Helper()
	err := s.registry.Store.BlockSite(s.t.Context(), "the site answered with a block page (support ID 4711471147114711)")
	if err != nil {
		s.t.Fatal(err)
	}
}

// blockedCollectionPages lists the operator's pages after blockCollectors.
func blockedCollectionPages() []namedPage {
	return []namedPage{{"collection-blocked", "/collection", 200}, {"collection-resume", "/collection/resume", 200}}
}

// TestCollectionUpdates checks that an open page updates without a reload and without losing focus.
func TestCollectionUpdates(t *testing.T) {
	s := newSite(t)
	s.registry.Holder(t, registrytest.Operator, cola.TierFree)
	b := s.signIn(registrytest.Operator)
	b.open(registrytest.PublicURL + "/collection")
	b.shows("No collector has run yet")
	ask(b, chromedp.Evaluate[bool](`document.getElementById("refresh").focus(); window.loaded = true`))
	s.blockCollectors()
	b.do(until(`document.body.innerText.includes("Blocked by TTB")`))
	if !ask(b, chromedp.Evaluate[bool](`window.loaded && document.activeElement.id === "refresh"`)) {
		t.Error("the page was reloaded or lost focus")
	}
	b.checkErrors("update")
}
