package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/quota"
)

// Samples are the results that the landing page shows to visitors without an account. The calls are
// fixed, so the samples show the same few labels to everyone.
type Samples struct {
	Colas    ColaPage      // of SampleSearch
	Brands   BrandPage     // of SampleBrand
	Counts   ColaCounts    // of SampleCount
	Labels   []SampleLabel // the newest labels with images on this server, one per brand
	Coverage cola.Coverage // without imports
	Record   cola.Cola     // for examples: the newest label with a barcode, or else the newest; zero if there are no labels

	Permittees     int       // permittees with a record
	NewestApproval cola.Date // known or estimated; zero if there are no labels
	expires        time.Time
}

// SampleLabel is a label with the path of its main image.
type SampleLabel struct {
	cola.ColaSummary
	Image string
}

// SampleSearch returns the parameters of the sample search.
func SampleSearch() cola.SearchParams {
	return cola.SearchParams{Q: "oak", ProductType: []string{"wine"}, PerPage: cola.Some(2)}
}

// SampleBrand returns the parameters of the sample brand check.
func SampleBrand() cola.BrandParams {
	return cola.BrandParams{Q: "Ravin and Oak", PerPage: cola.Some(1)}
}

// SampleCount returns the parameters of the sample count.
func SampleCount() cola.CountParams {
	return cola.CountParams{
		GroupBy: []string{cola.ByYear}, Top: cola.Some(6), SearchParams: cola.SearchParams{Q: "oak", DateRange: cola.AllDates},
	}
}

const (
	// samplesInterval is how long samples are cached, so that the landing page can't be used to
	// follow new labels for free.
	samplesInterval = time.Hour
	// emptySamplesInterval is how long samples without labels or without images are cached.
	emptySamplesInterval = time.Minute
	// maxSampleLabels limits the labels with images.
	maxSampleLabels = 8
	// samplePages limits the pages of labels that are searched for images.
	samplePages = 5
)

// samplesCache shares the latest samples among callers.
type samplesCache struct {
	mu     sync.Mutex // held while samples are computed
	latest atomic.Pointer[Samples]
}

// Samples returns the samples. It is free, and its work doesn't grow with the number of calls:
// samples are computed at most once a minute, and once an hour if there are labels with images.
// While they are computed, callers get the previous ones. The caller must not change the result.
func (s *Service) Samples(ctx context.Context) (*Samples, error) {
	if err := s.checkIndexBuilt(); err != nil {
		return nil, err
	}
	latest := s.samples.latest.Load()
	switch {
	case latest == nil:
		s.samples.mu.Lock()
	case s.now().Before(latest.expires) || !s.samples.mu.TryLock():
		return latest, nil
	}
	defer s.samples.mu.Unlock()
	if latest = s.samples.latest.Load(); latest != nil && s.now().Before(latest.expires) {
		return latest, nil
	}
	fresh, err := s.computeSamples(context.WithoutCancel(ctx)) // others also wait for the result
	if err != nil {
		return nil, err
	}
	s.samples.latest.Store(fresh)
	return fresh, nil
}

func (s *Service) computeSamples(ctx context.Context) (*Samples, error) {
	view := s.index.View()
	m := &Samples{Coverage: *view.Coverage(s.today()), Permittees: view.Stats().Permittees}
	var errs [5]error
	m.Colas, _, errs[0] = s.SearchColas(ctx, sampleCaller, SampleSearch())
	m.Brands, _, errs[1] = s.SearchBrands(ctx, sampleCaller, SampleBrand())
	m.Counts, _, errs[2] = s.CountColas(ctx, sampleCaller, SampleCount())
	errs[3] = s.addSampleLabels(ctx, m)
	m.Record, errs[4] = s.sampleRecord(ctx)
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("compute samples: %w", err)
		}
	}
	m.expires = s.now().Add(samplesInterval)
	if len(m.Labels) == 0 {
		m.expires = s.now().Add(emptySamplesInterval)
	}
	return m, nil
}

// sampleRecord returns the newest label with a barcode, or else the newest label, or else zero.
func (s *Service) sampleRecord(ctx context.Context) (cola.Cola, error) {
	page, _, err := s.SearchColas(ctx, sampleCaller, cola.SearchParams{DateRange: cola.AllDates, PerPage: cola.Some(cola.MaxPerPage)})
	if err != nil || len(page.Colas) == 0 {
		return cola.Cola{}, err
	}
	i := slices.IndexFunc(page.Colas, func(c cola.ColaSummary) bool { return c.HasBarcode })
	return s.findCola(ctx, page.Colas[max(i, 0)].TTBID.String())
}

// addSampleLabels adds the newest labels with images, and the newest approval.
func (s *Service) addSampleLabels(ctx context.Context, m *Samples) error {
	brands := map[string]bool{}
	p := cola.SearchParams{DateRange: cola.AllDates, PerPage: cola.Some(cola.MaxPerPage)}
	for n := 1; n <= samplePages && len(m.Labels) < maxSampleLabels; n++ {
		p.Page = cola.Some(n)
		page, _, err := s.SearchColas(ctx, sampleCaller, p)
		if err != nil || len(page.Colas) == 0 {
			return err
		}
		if first := &page.Colas[0]; n == 1 {
			m.NewestApproval = max(first.ApprovalDate, first.ApprovalDateEstimate)
		}
		var pictured []cola.ColaSummary
		for _, label := range page.Colas {
			if label.ImageCount > 0 && !brands[label.BrandName] {
				brands[label.BrandName] = true
				pictured = append(pictured, label)
			}
		}
		images := s.mainImages(ctx, pictured)
		for _, label := range pictured {
			image, ok := strings.CutPrefix(images[label.TTBID], s.publicURL)
			if ok && strings.HasPrefix(image, imagesPath) && len(m.Labels) < maxSampleLabels {
				m.Labels = append(m.Labels, SampleLabel{label, image})
			}
		}
	}
	return nil
}

// channelSamples is the channel of sampleCaller. No credential has it.
const channelSamples cola.Channel = "samples"

// sampleCaller makes the sample calls, which are neither charged nor limited.
var sampleCaller = cola.Caller{Channel: channelSamples}

// isSample reports whether sampleCaller sent a request.
func isSample(q quota.Request) bool { return q.Caller.Channel == channelSamples }
