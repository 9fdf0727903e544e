package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// TestLongWords checks that a very long word in a name does not make a page wider than the window or
// a table scroll horizontally.
func TestLongWords(t *testing.T) {
	s := newSite(t)
	s.holder = s.registry.Holder(t, ann, cola.TierStarter)
	name := cola.Text(strings.Repeat("Unaussprechlichkeit", 8))
	label := func(id, earlier cola.TTBID) cola.Cola {
		return cola.Cola{
			ColaSummary: cola.ColaSummary{
				TTBID:        id,
				BrandName:    "CHAINED",
				ProductName:  name,
				ProductType:  vocabulary.Wine,
				PermitNumber: "NJ-I-721",
			},
			IsResubmission: cola.Some(earlier != 0), ForResubmissionTTBID: earlier,
		}
	}
	s.registry.AddLabels(t, label(26_101_001_000_901, 0), label(26_201_001_000_902, 26_101_001_000_901))
	key := s.registry.Key(t, s.holder.Account, strings.Repeat("k", 100))
	at := s.registry.Now()
	refusal := store.Refusal{
		Minute:     at.Truncate(time.Minute),
		Channel:    cola.ChannelREST,
		Credential: key.Credential,
		Reason:     registry.RefusedBurst,
		Count:      1_000,
		LastAt:     at,
	}
	if err := s.registry.Store.RecordRefusals(t.Context(), []store.AccountRefusal{{
		Account: s.holder.Account,
		Refusal: refusal,
	}}); err != nil {
		t.Fatal(err)
	}
	b := s.signIn(ann)
	for path, selector := range map[string]string{
		"/explore/26201001000902": ".label-chain", "/usage": ".scroll:has(td[data-label='Key or app'])",
		"/usage/refusals": ".scroll:has(td[data-label='Key or app'])",
	} {
		for _, width := range []int64{wide, narrow} {
			b.setSize(width, "light")
			b.open(registrytest.PublicURL + path)
			b.do(until(`[...document.querySelectorAll("details.fold")].every(d => d.open = true)`))
			for _, part := range []string{"html", selector} {
				if over := ask(b,
					chromedp.Evaluate[int](`(e => e.scrollWidth - e.clientWidth)(document.querySelector("`+part+`"))`)); over > 0 {
					t.Errorf("%s, %d wide: %s overflows by %d pixels", path, width, part, over)
				}
			}
		}
	}
}
