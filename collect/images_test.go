package collect_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
)

// savedImages collects images in memory, by image ID.
type savedImages struct {
	mu    sync.Mutex
	files map[string][]byte
}

func (*savedImages) CheckWritable(context.Context) error { return nil }

func (*savedImages) LostImages(context.Context) ([]cola.TTBID, error) { return nil, nil }

func (*savedImages) HasImage(_ context.Context, image *cola.Image) (bool, error) {
	return image.ImageURL != "", nil
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
				t.Errorf("label %s, image %q: stored %d bytes, want the site's %d, error %v",
					l.ID, image.FileName, len(got), len(content), err)
			}
		}
	}
}

// imageOptions returns options for fetching images into an empty folder.
func (s *site) imageOptions(t *testing.T, st store.Store) collect.Options {
	t.Helper()
	files, err := images.Open(t.Context(), t.TempDir(), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := s.options()
	o.Images = collect.New
	o.ImageStore = &collect.LabelImages{Store: st, Files: files, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	return o
}

// TestMissingImages checks that an image missing from the site is requested again only after a
// month.
func TestMissingImages(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 6})
	id := s.Labels()[3].ID
	setMissing := func(missing bool) {
		s.Change(id, func(l *ttbsite.Label) {
			l.Images = slices.Clone(l.Images)
			l.Images[0].Missing = missing
		})
	}
	setMissing(true)
	ahead := time.Duration(0)
	st := mustStoreAt(t, &ahead)
	o := s.imageOptions(t, st)
	if report := mustRun(t, st, o); report.MissingImages != 1 {
		t.Fatalf("%d images missing, want 1", report.MissingImages)
	}
	const month = 30 * 24 * time.Hour
	for _, run := range []struct {
		ahead              time.Duration
		missing, requested bool
		images, queued     int
	}{
		{0, true, false, 0, 1}, {month - time.Hour, true, false, 0, 1}, {month + time.Hour, true, true, 0, 1},
		{month + 2*time.Hour, true, false, 0, 1}, {2*month + 2*time.Hour, false, true, 1, 0}, {4 * month, false, false, 0, 0},
	} {
		setMissing(run.missing)
		ahead = run.ahead
		o.Images = collect.All
		before := s.count(ttbsite.Form) + s.count(ttbsite.Image)
		report := mustRun(t, st, o)
		requests := s.count(ttbsite.Form) + s.count(ttbsite.Image) - before
		queued := mustStatus(t, st).Labels[store.FetchImages]
		if requests > 0 != run.requested || report.Images != run.images || queued != run.queued {
			t.Errorf("run %v later: %d forms and images requested, %d stored, %d labels waiting; want %+v",
				ahead, requests, report.Images, queued, run)
		}
	}
}

// TestImagesLeftToOtherCollector queues labels with images. A collector that fetches no images
// works on the labels and leaves the images to another collector.
func TestImagesLeftToOtherCollector(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 10})
	st := mustStore(t)
	withImages := s.imageOptions(t, st)
	ctx, cancel := context.WithCancel(t.Context())
	withImages.Progress = func(collect.Progress) {
		if mustStatus(t, st).Windows[store.FetchPending] == 0 {
			cancel()
		}
	}
	if report, err := collect.Run(ctx, st, withImages); err != nil || report.Images > 0 {
		t.Fatalf("%d images, %v, want queued labels only", report.Images, err)
	}
	mustRun(t, st, s.options())
	s.checkLabels(t, st, true)
	checkEnded(t, st)
	want := 0
	for _, l := range s.Labels() {
		if !l.Paper {
			want += len(l.Images)
		}
	}
	withImages.Progress = nil
	if report := mustRun(t, st, withImages); report.Images != want {
		t.Errorf("%d images stored, want %d", report.Images, want)
	}
	if labels := mustStatus(t, st).Labels; len(labels) > 0 {
		t.Errorf("labels in the queue: %v, want none", labels)
	}
}

// TestFailingImage fetches a label whose first image the site fails to send. The label and its
// other images are stored, and a run on the next day fetches the first.
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
	ahead := time.Duration(0)
	st := mustStoreAt(t, &ahead)
	o := s.imageOptions(t, st)
	report := mustRun(t, st, o)
	checkEnded(t, st)
	if report.Images != want-1 || report.MissingImages != 1 || len(report.Failed) != 0 {
		t.Errorf("%d of %d images, %d missing, failed labels %v; want all but one", report.Images, want, report.MissingImages, report.Failed)
	}
	setFailing(false)
	o.Images = collect.All
	for want := range 2 {
		if report = mustRun(t, st, o); report.Images != want || report.MissingImages != 0 {
			t.Errorf("run after %v: %d images, %d missing, want %d and 0", ahead, report.Images, report.MissingImages, want)
		}
		ahead = 25 * time.Hour
	}
	label, err := st.Cola(t.Context(), id)
	if err != nil || slices.ContainsFunc(label.Images, func(m cola.Image) bool { return m.ImageURL == "" }) {
		t.Errorf("images = %+v, %v; want all with a URL", label.Images, err)
	}
}

// forgetfulStore loses the record of the nth image file.
type forgetfulStore struct {
	store.Store
	n int
}

func (f *forgetfulStore) SaveImageFile(ctx context.Context, file store.ImageFile) error {
	if f.n--; f.n == 0 {
		return nil
	}
	return f.Store.SaveImageFile(ctx, file)
}

// TestLostImages loses the record of one image and the file of another, and damages a third. The
// next run with All fetches these, and no others.
func TestLostImages(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 12})
	st, folder := mustStore(t), t.TempDir()
	files, err := images.Open(t.Context(), folder, images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := s.options()
	o.Images = collect.New
	save := &collect.LabelImages{Files: files, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	save.Store, o.ImageStore = &forgetfulStore{Store: st, n: 3}, save
	want := mustRun(t, st, o).Images
	save.Store = st

	stored := mustFiles(t, st)
	if len(stored) != want-1 || want < 6 {
		t.Fatalf("%d of %d files recorded, want all but one", len(stored), want)
	}
	path := func(c store.ImageContent) string {
		name := hex.EncodeToString(c.Hash[:])
		return filepath.Join(folder, name[:2], name[2:4], name)
	}
	lost, damaged := stored[0].ImageContent, stored[1].ImageContent
	if err := errors.Join(os.Remove(path(lost)), os.WriteFile(path(damaged), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Read(t.Context(), damaged, images.Variant{}); err == nil { // as the server does
		t.Fatal("a damaged file was served")
	}
	before := s.count(ttbsite.Image)
	if mustRun(t, st, o); s.count(ttbsite.Image) != before {
		t.Errorf("a run with New requested %d images, want none", s.count(ttbsite.Image)-before)
	}
	o.Images = collect.All
	for run, want := range []int{3, 0} {
		if report := mustRun(t, st, o); report.Images != want || report.MissingImages != 0 {
			t.Errorf("run %d fetched %d images, %d missing, want %d and 0", run, report.Images, report.MissingImages, want)
		}
	}
	if n := s.count(ttbsite.Image) - before; n != 3 {
		t.Errorf("%d images requested, want 3", n)
	}
	for _, f := range mustFiles(t, st) {
		if _, err := files.Read(t.Context(), f.ImageContent, images.Variant{}); err != nil {
			t.Error(err)
		}
	}
}

// returnedImages reports labels with lost images, some of which have been fetched again since.
type returnedImages struct {
	savedImages
	lost []cola.TTBID
	back map[string]bool // by image ID
}

func (r *returnedImages) LostImages(context.Context) ([]cola.TTBID, error) {
	return slices.Clone(r.lost), nil
}

func (r *returnedImages) HasImage(_ context.Context, image *cola.Image) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.back[image.TTBImageID] || r.files[image.TTBImageID] != nil, nil
}

// completeStore reports no missing data, so that lost files are the only backlog.
type completeStore struct{ store.Store }

func (completeStore) ColasMissing(context.Context, store.Missing, func(cola.TTBID) error) error {
	return nil
}

// TestReturnedImages checks that labels whose lost files another collector has since fetched are
// not fetched again. There are more such labels than are checked at a time.
func TestReturnedImages(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 150})
	st := mustStore(t)
	o := s.options()
	mustRun(t, st, o) // all forms
	files := &returnedImages{savedImages: savedImages{files: map[string][]byte{}}, back: map[string]bool{}}
	want := 0
	for _, l := range s.Labels() {
		label, err := st.Cola(t.Context(), l.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(label.Images) == 0 {
			continue
		}
		if files.lost = append(files.lost, l.ID); len(files.lost)%30 == 0 {
			want++
			continue
		}
		for _, m := range label.Images {
			files.back[m.TTBImageID] = true
		}
	}
	slices.Sort(files.lost)
	slices.Reverse(files.lost)
	if len(files.lost) <= 100 || want == 0 {
		t.Fatalf("%d labels, %d of them without files", len(files.lost), want)
	}
	before := s.count(ttbsite.Form)
	o.Images, o.ImageStore = collect.All, files
	report := mustRun(t, completeStore{st}, o)
	if n := s.count(ttbsite.Form) - before; n != want || report.Images == 0 {
		t.Errorf("%d forms requested and %d images stored, want %d forms", n, report.Images, want)
	}
}

// busyStore calls save before it lists the images.
type busyStore struct {
	store.Store
	save func()
}

func (s *busyStore) FetchedImages(ctx context.Context, yield func(store.FetchedImage) error) error {
	s.save()
	return s.Store.FetchedImages(ctx, yield)
}

// TestImagesStoredWhileListing checks that LostImages doesn't report images that another process
// stores after the files were listed.
func TestImagesStoredWhileListing(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 12})
	st := mustStore(t)
	files, err := images.Open(t.Context(), t.TempDir(), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := s.options()
	o.Images = collect.New
	now := time.Now()
	save := &collect.LabelImages{
		Store: st, Files: files, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
	}
	o.ImageStore = save
	mustRun(t, st, o)
	empty, err := images.Open(t.Context(), t.TempDir(), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	withFiles := func(files *images.Store, st collect.LabelImageStore) *collect.LabelImages {
		l := *save
		l.Files, l.Store = files, st
		return &l
	}
	all, err := withFiles(empty, st).LostImages(t.Context())
	if err != nil || len(all) < 2 {
		t.Fatalf("LostImages = %v, %v; want several labels", all, err)
	}
	now = now.Add(time.Hour)
	lost, err := withFiles(empty, &busyStore{Store: st, save: func() {
		label, err := st.Cola(t.Context(), all[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range mustFiles(t, st) {
			if slices.ContainsFunc(label.Images, func(m cola.Image) bool { return m.TTBImageID == f.TTBImageID }) {
				f.FetchedAt = now.Add(time.Second).UTC()
				if err := st.SaveImageFile(t.Context(), f); err != nil {
					t.Fatal(err)
				}
			}
		}
	}}).LostImages(t.Context())
	if err != nil || !slices.Equal(lost, all[1:]) {
		t.Errorf("LostImages = %v, %v; want all but the label whose images were stored: %v", lost, err, all)
	}
}

// mustFiles returns the records of all image files.
func mustFiles(t *testing.T, st store.Store) (all []store.ImageFile) {
	t.Helper()
	err := st.Dump(t.Context(), func(i *store.Item) error {
		if i.Kind == store.ItemImageFile {
			all = append(all, i.ImageFile)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unwritableImages can't store images.
type unwritableImages struct{ savedImages }

func (*unwritableImages) CheckWritable(context.Context) error { return errFull }

// TestUnwritableImages checks that a run that can't store images makes no requests.
func TestUnwritableImages(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 2})
	o := s.options()
	o.Images, o.ImageStore = collect.New, &unwritableImages{}
	if _, err := collect.Run(t.Context(), mustStore(t), o); !errors.Is(err, errFull) || len(s.Log()) > 0 {
		t.Errorf("Run = %v after %d requests, want an error before the first", err, len(s.Log()))
	}
}

// unlistableImages can't list the files.
type unlistableImages struct{ savedImages }

func (*unlistableImages) LostImages(context.Context) ([]cola.TTBID, error) { return nil, errFull }

// TestUnlistableImages checks that a run that can't look for lost files fetches everything else.
func TestUnlistableImages(t *testing.T) {
	t.Parallel()
	s, st := mustSite(t, ttbsite.Options{Labels: 5}), mustStore(t)
	o := s.options()
	o.Images, o.ImageStore = collect.All, &unlistableImages{savedImages{files: map[string][]byte{}}}
	mustRun(t, st, o)
	s.checkLabels(t, st, true)
	checkEnded(t, st)
}

// scannedStore stops the run during the scan for labels that lack data.
type scannedStore struct {
	store.Store
	stop    func()
	stopped bool // whether the scan was stopped
}

func (s *scannedStore) ColasMissing(ctx context.Context, _ store.Missing, _ func(cola.TTBID) error) error {
	s.stop()
	s.stopped = ctx.Err() != nil
	return ctx.Err()
}

// TestStopInBacklog checks that a stop ends a scan for labels that lack data.
func TestStopInBacklog(t *testing.T) {
	t.Parallel()
	s := mustSite(t, ttbsite.Options{Labels: 2})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	st := &scannedStore{Store: mustStore(t), stop: cancel}
	o := s.options()
	o.Details = collect.All
	if _, err := collect.Run(ctx, st, o); err != nil || !st.stopped {
		t.Errorf("Run = %v, stopped the scan: %t", err, st.stopped)
	}
}
