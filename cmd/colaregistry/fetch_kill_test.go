package main

import (
	"flag"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/shareddata"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

var wholeSite = flag.Bool("whole-site", false, "let TestFetchKilled fetch 5,000 generated labels and all real ones (make collect-test)")

// TestFetchKilled fetches a site with two collectors, which are killed repeatedly. Requests fail,
// sessions expire, one day has more labels than an export can list, and the site blocks the
// collectors once.
func TestFetchKilled(t *testing.T) {
	t.Parallel()
	kills, o := 4, ttbsite.Options{
		Labels: 300, Busy: 60, Limit: 50, Ambiguous: 3,
		Faults: ttbsite.Faults{Rate: 0.02, ExpireAfter: 100, BlockAt: 170},
	}
	if *wholeSite {
		kills, o = 10, ttbsite.Options{
			Labels: 5000, Busy: 1300, Ambiguous: 20, Data: shareddata.Folder(t),
			Faults: ttbsite.Faults{Rate: 0.02, ExpireAfter: 900, BlockAt: 2600},
		}
	}
	site, err := ttbsite.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := site.Start()
	defer server.Close()
	f := &fetchers{t: t, site: site, dir: t.TempDir(), args: []string{
		"fetch", "ttb", "--from", "2026-01-05", "--to", "2026-01-23", "--contact", "ops@example.com",
		"--base-url", server.URL + ttbsite.Path, "--rate", "1000", "--hold", "2s", "--backoff", "20ms",
		"--images", "new",
	}}
	f.run(kills, len(site.Labels()))
	f.check()
	tally := site.Tally()
	t.Logf("%d requests by %d processes; %d failed, %d were needed, %d extra",
		tally.Requests, f.starts, tally.Failed, tally.Minimum, tally.Extra())
	allowed := tally.Minimum / 20
	if !*wholeSite { // each start opens a session and repeats the requests for at most one window
		allowed += 3 * f.starts
	}
	if extra := tally.Extra(); extra > allowed {
		t.Errorf("%d more requests than needed, want at most %d", extra, allowed)
	}
}

// fetchers are two processes that share the work.
type fetchers struct {
	t       *testing.T
	site    *ttbsite.Site
	dir     string
	args    []string
	running [2]*fetchProcess
	starts  int
	blocked int
}

type fetchProcess struct {
	cmd  *exec.Cmd
	out  output
	done chan struct{}
}

// run starts both processes, kills them in turn while requests come in, restarts those that were
// killed or blocked, and waits until both have finished.
func (f *fetchers) run(kills, labels int) {
	f.start(0)
	f.start(1)
	defer f.stop()
	killed := 0
	for f.running[0] != nil || f.running[1] != nil {
		time.Sleep(2 * time.Millisecond)
		for i, p := range f.running {
			if p != nil && p.ended() {
				f.handleExit(i)
			}
		}
		if victim := f.running[killed%2]; killed < kills && victim != nil && len(f.site.Log()) > (killed+1)*labels/(kills+1) {
			victim.cmd.Process.Kill()
			<-victim.done
			f.start(killed % 2)
			killed++
		}
	}
	if killed < kills {
		f.t.Errorf("only %d of %d kills", killed, kills)
	}
	if f.blocked == 0 {
		f.t.Error("no process reported the block page")
	}
}

func (f *fetchers) start(i int) {
	f.t.Helper()
	p := &fetchProcess{cmd: command(append(f.args, "--data-dir", f.dir)...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	go func() { p.cmd.Wait(); close(p.done) }()
	f.running[i] = p
	f.starts++
}

func (p *fetchProcess) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// handleExit handles the exit of a process. It restarts a blocked process, as an operator would.
func (f *fetchers) handleExit(i int) {
	f.t.Helper()
	p := f.running[i]
	f.running[i] = nil
	switch code := p.cmd.ProcessState.ExitCode(); code {
	case 0:
	case exitBlocked:
		f.blocked++
		f.site.Unblock()
		f.start(i)
	default:
		f.t.Fatalf("fetch exited with code %d\n%s", code, p.out.String())
	}
}

func (f *fetchers) stop() {
	for _, p := range f.running {
		if p != nil {
			p.cmd.Process.Kill()
			<-p.done
		}
	}
}

// check compares the stored labels with those of the site.
func (f *fetchers) check() {
	f.t.Helper()
	st, err := sqlite.Open(f.t.Context(), filepath.Join(f.dir, "registry.db"), sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Fatal(err)
	}
	defer st.Close()
	want, got := map[cola.TTBID]cola.Date{}, map[cola.TTBID]cola.Date{}
	for _, l := range f.site.Labels() {
		want[l.ID] = l.Completed
	}
	_, err = st.ColasSince(f.t.Context(), 0, func(r *cola.IndexRecord) error {
		label, err := st.Cola(f.t.Context(), r.Summary.TTBID)
		if label.ApplicationStatus == "" {
			f.t.Errorf("label %s has no details", label.TTBID)
		}
		got[label.TTBID] = label.LatestUpdateDate
		f.checkImages(st, &label)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("stored labels (-want +got):\n%s", diff)
	}
	status, err := st.FetchStatus(f.t.Context())
	queued := status.Labels[store.FetchPending] + status.Labels[store.FetchFailed]
	if err != nil || status.Windows[store.FetchComplete] != 19 || queued > 0 {
		f.t.Errorf("status = %+v, %v, want 19 complete days, and no queued labels except those with missing images", status, err)
	}
}

// checkImages checks that a label has a file for every image on the site, and the barcodes in
// generated images.
func (f *fetchers) checkImages(st *sqlite.Store, label *cola.Cola) {
	f.t.Helper()
	i := slices.IndexFunc(f.site.Labels(), func(l ttbsite.Label) bool { return l.ID == label.TTBID })
	siteLabel := f.site.Labels()[i]
	if siteLabel.Paper {
		return
	}
	var want, got []string
	for i, image := range siteLabel.Images {
		if i >= len(label.Images) || image.Missing {
			continue
		}
		if image.Barcode != "" {
			want = append(want, image.Barcode)
		}
		stored := label.Images[i]
		file, err := st.ImageFile(f.t.Context(), stored.TTBImageID)
		if err != nil || stored.ImageURL == "" || file.Width == 0 || stored.WidthPixels != cola.Some(file.Width) {
			f.t.Errorf("label %s, image %q: %+v, file %+v, %v", label.TTBID, image.FileName, stored, file, err)
		}
	}
	for _, b := range label.Barcodes {
		got = append(got, b.BarcodeValue)
	}
	if len(label.Images) != len(siteLabel.Images) || !siteLabel.Real() && !slices.Equal(got, want) {
		f.t.Errorf("label %s: %d images with barcodes %q, want %d with %q", label.TTBID, len(label.Images), got, len(siteLabel.Images), want)
	}
}
