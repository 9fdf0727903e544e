package ttb

import (
	"bytes"
	"errors"
	"regexp"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/ingest/ttbpage"
	"github.com/colaregistry/colaregistry/internal/ttbsite"
)

// TestWholeSite fetches a whole site that sometimes fails, compares the labels with the site's, and
// checks the number of requests.
func TestWholeSite(t *testing.T) {
	const labels = 160
	site, c := mustSite(t, ttbsite.Options{
		Seed: 7, Labels: labels, Faults: ttbsite.Faults{Rate: 0.02, ExpireAfter: 300, BlockAt: 350},
	})
	blocks := 0
	// retry repeats a call until it succeeds or fails for good.
	retry := func(call func() error) error {
		for {
			var temporary *TemporaryError
			var blocked *BlockedError
			err := call()
			switch {
			case errors.As(err, &blocked):
				blocks++
				site.Unblock()
			case !errors.As(err, &temporary):
				return err
			}
		}
	}
	listed := map[cola.TTBID]bool{}
	id := regexp.MustCompile(`\n'(\d{14})',`)
	for d := cola.NewDate(2026, 1, 5); d <= cola.NewDate(2026, 1, 23); d = d.AddDays(1) {
		for done := false; !done; {
			var m Matches
			var text []byte
			err := retry(func() (err error) { m, err = c.Search(t.Context(), Search{First: d, Last: d}); return err })
			if err == nil && m.Total > 0 {
				err = retry(func() (err error) { text, err = c.Export(t.Context()); return err })
			}
			if errors.Is(err, ErrSessionExpired) {
				continue
			}
			rows := id.FindAllSubmatch(text, -1)
			if err != nil || len(rows) != m.Total {
				t.Fatalf("%s: %d of %d rows, %v", d, len(rows), m.Total, err)
			}
			for _, row := range rows {
				label, _ := cola.ParseTTBID(string(row[1]))
				listed[label] = true
			}
			done = true
		}
	}
	images := map[string]bool{}
	for label := range listed {
		var page []byte
		open := func() error {
			return retry(func() (err error) { page, err = c.Form(t.Context(), label); return err })
		}
		if err := open(); errors.Is(err, ErrNoLabel) {
			if err := retry(func() error { _, err := c.Detail(t.Context(), label); return err }); err != nil {
				t.Errorf("%s: %v", label, err)
			}
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		p, err := ttbpage.Parse(bytes.Clone(page))
		if err != nil {
			t.Fatal(err)
		}
		stated, err := p.Label()
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(stated.Images); i++ {
			var data []byte
			err := retry(func() (err error) { data, err = c.Image(t.Context(), stated.Images[i].FileName); return err })
			switch {
			case errors.Is(err, ErrSessionExpired):
				if err := open(); err != nil {
					t.Fatal(err)
				}
				i--
			case err == nil:
				images[string(data)] = true
			case !errors.Is(err, ErrNoImage):
				t.Fatal(err)
			}
		}
	}
	want := 0
	for _, l := range site.Labels() {
		if !listed[l.ID] {
			t.Errorf("label %s is missing", l.ID)
		}
		for _, i := range l.Images {
			if !i.Missing {
				want++
			}
		}
	}
	if len(listed) != labels || len(images) != want || blocks != 1 {
		t.Errorf("%d labels, %d of %d images, %d blocks", len(listed), len(images), want, blocks)
	}
	if tally := site.Tally(); tally.Extra() > tally.Minimum/20 || tally.Failed == 0 {
		t.Errorf("tally = %+v: %d extra requests", tally, tally.Extra())
	} else {
		t.Logf("tally = %+v: %d extra requests", tally, tally.Extra())
	}
}
