package registry

import (
	"context"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/quota"
)

// Samples are the results that the landing page shows to visitors without an account. They are the
// same for everyone.
type Samples struct {
	Calls    SampleCalls   // zero if no brand can be searched for
	Colas    ColaPage      // result of Calls.Search
	Brands   BrandPage     // result of Calls.Check
	Counts   ColaCounts    // result of Calls.Count
	Labels   []SampleLabel // the newest labels with images on this server, one per brand
	Coverage cola.Coverage // without imports
	Record   cola.Cola     // for examples: the newest label with a barcode, or else the newest; zero if there are no labels

	Permittees     int       // permittees with a record
	NewestApproval cola.Date // known or estimated; zero if there are no labels
}

// SampleLabel is a label with the path of its main image.
type SampleLabel struct {
	cola.ColaSummary
	Image string
}

// SampleCalls are the parameters of the sample calls.
type SampleCalls struct {
	Search cola.SearchParams
	Check  cola.BrandParams
	Count  cola.CountParams
}

// sampleCalls returns calls that run a query and check a name. They cover all dates.
func sampleCalls(text, name string) SampleCalls {
	labels := cola.SearchParams{Q: text, DateRange: cola.AllDates}
	return SampleCalls{
		Search: cola.SearchParams{Q: text, DateRange: cola.AllDates, PerPage: cola.Some(2)},
		Check:  cola.BrandParams{Q: name, PerPage: cola.Some(2)},
		Count:  cola.CountParams{GroupBy: []string{cola.ByYear}, Top: cola.Some(6), SearchParams: labels},
	}
}

// preferredCalls returns the calls that are used if they find labels. They show more than those for
// an arbitrary brand: a common word, and a name that is similar to a brand but isn't one itself.
func preferredCalls() SampleCalls {
	calls := sampleCalls("oak", "Ravin and Oak")
	calls.Search.ProductType, calls.Search.DateRange = []string{"wine"}, ""
	calls.Check.PerPage = cola.Some(1)
	return calls
}

const (
	// samplesInterval is how long samples with labels are cached, so that the landing page can't be
	// used to follow new labels for free.
	samplesInterval = time.Hour
	// emptySamplesInterval is how long samples without labels, and failures, are cached.
	emptySamplesInterval = time.Minute
	// maxSampleLabels is the maximum number of labels with images.
	maxSampleLabels = 8
	// maxSamplePages is the maximum number of result pages scanned for labels with images.
	maxSamplePages = 5
	// maxSampleBrands is the maximum number of brands tried for the sample check.
	maxSampleBrands = 20
)

// sampleName matches brands that can be searched for as text.
var sampleName = regexp.MustCompile(`^\p{L}[\p{L}\p{N} &'’.-]{2,40}$`)

// samplesCache shares the latest samples among callers.
type samplesCache struct {
	computing singleflight.Group
	latest    atomic.Pointer[cachedSamples]
}

// cachedSamples are samples, or the error if they could not be computed.
type cachedSamples struct {
	samples *Samples
	err     error
	expires time.Time
}

// Samples returns the samples. It is free, and its work doesn't grow with the number of calls:
// samples are computed at most once a minute, and once an hour if there are labels. While they are
// being computed, or if that fails, callers get the previous ones. The caller must not change the
// result.
func (s *Service) Samples(ctx context.Context) (*Samples, error) {
	if err := s.checkIndexBuilt(); err != nil {
		return nil, err
	}
	latest := s.samples.latest.Load()
	if latest != nil && s.now().Before(latest.expires) {
		return latest.samples, latest.err
	}
	work := context.WithoutCancel(ctx) // other callers also wait for the result
	done := s.samples.computing.DoChan("", func() (any, error) { return s.refreshSamples(work), nil })
	if latest != nil && latest.samples != nil {
		return latest.samples, nil
	}
	select {
	case result := <-done:
		fresh := result.Val.(*cachedSamples)
		return fresh.samples, fresh.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refreshSamples computes and caches the samples, unless another call just did. If that fails, it
// keeps the previous ones.
func (s *Service) refreshSamples(ctx context.Context) *cachedSamples {
	previous := s.samples.latest.Load()
	if previous != nil && s.now().Before(previous.expires) {
		return previous
	}
	fresh := &cachedSamples{}
	err := withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		defer s.recoverSamples(&err)
		fresh.samples, err = s.computeSamples(ctx)
		return err
	})
	interval := emptySamplesInterval
	switch {
	case err != nil:
		s.log.Warn("could not compute samples; retrying in a minute", "error", err)
		if previous != nil && previous.samples != nil {
			fresh.samples = previous.samples
		} else {
			fresh.err = storeError(err, "compute samples")
		}
	case fresh.samples.Record.TTBID != 0:
		interval = samplesInterval
	}
	fresh.expires = s.now().Add(interval)
	s.samples.latest.Store(fresh)
	return fresh
}

// recoverSamples turns a panic into an error. Samples are computed in their own goroutine, where a
// panic would crash the program.
func (s *Service) recoverSamples(err *error) {
	if p := recover(); p != nil {
		s.log.Error("panic while computing samples", "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("panic: %v", p)
	}
}

func (s *Service) computeSamples(ctx context.Context) (*Samples, error) {
	view := s.index.View()
	m := &Samples{Coverage: *view.Coverage(s.today()), Permittees: view.Stats().Permittees}
	if err := s.call(ctx, m, preferredCalls()); err != nil {
		return nil, err
	}
	if m.Colas.Pagination.Total == 0 || m.Brands.Pagination.Total == 0 || m.Counts.Total == 0 {
		if err := s.callForBrand(ctx, m); err != nil {
			return nil, err
		}
	}
	if err := s.addSampleLabels(ctx, m); err != nil {
		return nil, err
	}
	return m, nil
}

// call makes the sample calls.
func (s *Service) call(ctx context.Context, m *Samples, calls SampleCalls) (err error) {
	m.Calls = calls
	if m.Colas, _, err = s.SearchColas(ctx, SampleCaller(), calls.Search); err != nil {
		return err
	}
	if m.Brands, _, err = s.SearchBrands(ctx, SampleCaller(), calls.Check); err != nil {
		return err
	}
	m.Counts, _, err = s.CountColas(ctx, SampleCaller(), calls.Count)
	return err
}

// callForBrand makes the sample calls for the largest brand whose name another brand nearly
// matches, or else for the largest brand. If there are no brands, it clears the calls and results.
func (s *Service) callForBrand(ctx context.Context, m *Samples) error {
	brands, err := s.sampleBrands(ctx)
	if err != nil || len(brands) == 0 {
		m.Calls, m.Colas, m.Brands, m.Counts = SampleCalls{}, ColaPage{}, BrandPage{}, ColaCounts{}
		return err
	}
	for _, brand := range brands {
		found, _, err := s.SearchBrands(ctx, SampleCaller(), sampleCalls(brand, brand).Check)
		if err != nil {
			return err
		}
		similar := func(b cola.BrandMatch) bool {
			return !slices.Contains([]string{cola.SimilarExact, cola.SimilarPrefix, cola.SimilarContains}, b.Similarity)
		}
		if slices.ContainsFunc(found.Brands, similar) {
			return s.call(ctx, m, sampleCalls(brand, brand))
		}
	}
	return s.call(ctx, m, sampleCalls(brands[0], brands[0]))
}

// sampleBrands returns the brands with the most labels: in the last year, or if there are none, in
// all years. It leaves out names that a search wouldn't treat as plain text.
func (s *Service) sampleBrands(ctx context.Context) (brands []string, err error) {
	for _, dates := range []string{"", cola.AllDates} {
		counts, _, err := s.CountColas(ctx, SampleCaller(), cola.CountParams{
			GroupBy: []string{cola.ByBrand}, Top: cola.Some(maxSampleBrands), SearchParams: cola.SearchParams{DateRange: dates},
		})
		if err != nil {
			return nil, err
		}
		for _, g := range counts.Groups {
			if name := string(g.Brand.V); g.Brand.OK && sampleName.MatchString(name) {
				brands = append(brands, name)
			}
		}
		if len(brands) > 0 {
			return brands, nil
		}
	}
	return nil, nil
}

// sampleRecord returns the first label with a barcode, or else the first label.
func (s *Service) sampleRecord(ctx context.Context, newest []cola.ColaSummary) (cola.Cola, error) {
	i := slices.IndexFunc(newest, func(c cola.ColaSummary) bool { return c.HasBarcode })
	return s.findCola(ctx, newest[max(i, 0)].TTBID.String())
}

// addSampleLabels adds the newest labels with images, the newest approval, and the record.
func (s *Service) addSampleLabels(ctx context.Context, m *Samples) error {
	brands := map[string]bool{}
	p := cola.SearchParams{DateRange: cola.AllDates, PerPage: cola.Some(cola.MaxPerPage)}
	for n := 1; n <= maxSamplePages && len(m.Labels) < maxSampleLabels; n++ {
		p.Page = cola.Some(n)
		page, _, err := s.SearchColas(ctx, SampleCaller(), p)
		if err != nil || len(page.Colas) == 0 {
			return err
		}
		if first := &page.Colas[0]; n == 1 {
			m.NewestApproval = max(first.ApprovalDate, first.ApprovalDateEstimate)
			if m.Record, err = s.sampleRecord(ctx, page.Colas); err != nil {
				return err
			}
		}
		var withImages []cola.ColaSummary
		for _, label := range page.Colas {
			if label.ImageCount > 0 && !brands[label.BrandName] {
				brands[label.BrandName] = true
				withImages = append(withImages, label)
			}
		}
		images, err := s.readMainImages(ctx, withImages)
		if err != nil {
			return err
		}
		for _, label := range withImages {
			image, ok := strings.CutPrefix(images[label.TTBID], s.publicURL)
			if ok && strings.HasPrefix(image, imagesPath) && len(m.Labels) < maxSampleLabels {
				m.Labels = append(m.Labels, SampleLabel{label, image})
			}
		}
	}
	return nil
}

// channelSamples is the channel of SampleCaller. No credential has it.
const channelSamples cola.Channel = "samples"

// SampleCaller returns the caller of sample calls, which are neither charged nor limited. Responses
// show the quotas of a new account on the free tier. Show everyone the same results, and make new
// calls only when the samples change.
func SampleCaller() cola.Caller { return cola.Caller{Channel: channelSamples} }

// isSample reports whether SampleCaller sent a request.
func isSample(c cola.Caller) bool { return c.Channel == channelSamples }

// sampleGrant grants a sample call all of its units.
func sampleGrant(q quota.Request) quota.Grant {
	state := cola.QuotaState{Tier: cola.TierFree, Limits: cola.TierFree.Limits(), Charged: q.Units}
	state.Used.Add(q.Meter, q.Units)
	return quota.Grant{Units: q.Units, State: state}
}
