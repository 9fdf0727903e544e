package collect_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
	"github.com/colaregistry/colaregistry/store/images"
)

// savedImages collects images in memory, by image ID.
type savedImages struct {
	mu    sync.Mutex
	files map[string][]byte
}

func (s *savedImages) SaveImage(_ context.Context, _ cola.TTBID, image *cola.Image, content []byte) (usable bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[image.TTBImageID] = content
	return true, nil
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
	st, saved := mustStore(t), &savedImages{files: map[string][]byte{}}
	o := s.options()
	o.Images, o.ImageStore = collect.New, saved
	report := mustRun(t, st, o)
	s.checkLabels(t, st, true)
	checkEnded(t, st)
	if report.Images != want || report.MissingImages != missing || missing == 0 {
		t.Errorf("%d images, %d missing, want %d and %d", report.Images, report.MissingImages, want, missing)
	}
	for _, l := range s.Labels() {
		for i, image := range l.Images {
			content, err := image.Content(&l)
			if image.Missing {
				content = nil
			}
			if got := saved.files[fmt.Sprintf("%s-%d", l.ID, i+1)]; err != nil || !bytes.Equal(got, content) {
				t.Errorf("label %s: image %q has %d bytes, want other %d, %v", l.ID, image.FileName, len(got), len(content), err)
			}
		}
	}
}

// TestFailingImage fetches a label whose first image the site fails to send. The label and its other
// images are stored, and a later run fetches the image.
func TestFailingImage(t *testing.T) {
	s := mustSite(t, ttbsite.Options{Labels: 6})
	var id cola.TTBID
	want := 0
	for _, l := range s.Labels() {
		want += len(l.Images)
		if len(l.Images) > 1 {
			id = l.ID
		}
	}
	setFailing := func(failing bool) {
		s.Change(id, func(l *ttbsite.Label) {
			l.Images = slices.Clone(l.Images)
			l.Images[0].Failing = failing
		})
	}
	setFailing(true)
	st := mustStore(t)
	files, err := images.Open(t.Context(), t.TempDir(), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := s.options()
	o.Images = collect.New
	o.ImageStore = &collect.LabelImages{Store: st, Files: files, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	report := mustRun(t, st, o)
	checkEnded(t, st)
	if report.Images != want-1 || report.MissingImages != 1 || len(report.Failed) != 0 {
		t.Errorf("%d of %d images, %d missing, failed labels %v; want all but one", report.Images, want, report.MissingImages, report.Failed)
	}
	setFailing(false)
	o.Images = collect.All
	if report = mustRun(t, st, o); report.Images != 1 || report.MissingImages != 0 {
		t.Errorf("later run: %d images, %d missing, want 1 and 0", report.Images, report.MissingImages)
	}
	label, err := st.Cola(t.Context(), id)
	if err != nil || slices.ContainsFunc(label.Images, func(m cola.Image) bool { return m.ImageURL == "" }) {
		t.Errorf("images = %+v, %v; want all with a URL", label.Images, err)
	}
}
