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
	files map[cola.TTBID][][]byte
}

func (s *savedImages) Save(_ context.Context, label *cola.Cola, contents [][]byte) (broken int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[label.TTBID] == nil {
		s.files[label.TTBID] = make([][]byte, len(contents))
	}
	for i, content := range contents {
		if content != nil {
			s.files[label.TTBID][i] = content
		}
	}
	return 0, nil
}

// TestImages fetches the images of labels, even when sessions expire and requests fail.
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
	st, saved := mustStore(t), &savedImages{files: map[cola.TTBID][][]byte{}}
	o := s.options()
	o.Images, o.ImageStore = collect.New, saved
	report := mustRun(t, st, o)
	s.checkLabels(t, st, true)
	checkEnded(t, st)
	if report.Images != want || report.MissingImages != missing || missing == 0 {
		t.Errorf("%d images, %d missing, want %d and %d", report.Images, report.MissingImages, want, missing)
	}
	for _, l := range s.Labels() {
		for i, content := range saved.files[l.ID] {
			if (content == nil) != l.Images[i].Missing {
				t.Errorf("label %s: image %d has %d bytes", l.ID, i, len(content))
			}
		}
	}
}
