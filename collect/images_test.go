package collect_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
)

// savedImages collects images in memory.
type savedImages struct {
	mu    sync.Mutex
	files map[cola.TTBID][]collect.ImageFile
}

func (s *savedImages) SaveImages(_ context.Context, label cola.Cola, files []collect.ImageFile) (broken int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[label.TTBID] = files
	return 0, nil
}

// TestImages fetches the images of labels, although sessions expire and requests fail.
func TestImages(t *testing.T) {
	s := mustSite(t, ttbsite.Options{Labels: 40, Faults: ttbsite.Faults{ExpireAfter: 15, Rate: 0.05}})
	for i, l := range s.Labels() {
		if i%10 == 0 && len(l.Images) > 0 {
			s.Change(l.ID, func(l *ttbsite.Label) {
				l.Images = slices.Clone(l.Images)
				l.Images[0].Missing = true
			})
		}
	}
	want, missing := 0, 0
	for _, l := range s.Labels() {
		for _, image := range l.Images {
			if image.Missing {
				missing++
			} else if !l.Paper {
				want++
			}
		}
	}
	st, saved := mustStore(t), &savedImages{files: map[cola.TTBID][]collect.ImageFile{}}
	o := s.options()
	o.Images = saved
	report := mustRun(t, st, o)
	s.checkLabels(t, st, true)
	checkEnded(t, st)
	if report.Images != want || report.MissingImages != missing || missing == 0 {
		t.Errorf("%d images, %d missing, want %d and %d", report.Images, report.MissingImages, want, missing)
	}
	for _, l := range s.Labels() {
		for i, file := range saved.files[l.ID] {
			if file.Name != l.Images[i].FileName || (file.Data == nil) != l.Images[i].Missing {
				t.Errorf("label %s: image %d is %q with %d bytes", l.ID, i, file.Name, len(file.Data))
			}
		}
	}
}
