package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testImages(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"labels have the main image that they are read with", func(t *testing.T, st store.Store, _ *clock) {
			stated, back, bare := label(1), label(2), label(3)
			stated.MainImageURL = "https://example.com/stated?a=1&b=<ü>"
			back.Images = []cola.Image{{TTBImageID: "1"}, {TTBImageID: "2", ImageIndex: 1, ContainerPosition: "back", ImageURL: "/images/2"}}
			mustKeep(t, st, fullLabel(), stated, back, bare)
			ids := []cola.TTBID{firstID + 3, firstID + 2, firstID + 99, firstID + 1, firstID, firstID + 1}
			want := map[cola.TTBID]string{}
			for _, id := range ids {
				if c, err := st.Cola(t.Context(), id); err == nil && c.MainImageURL != "" {
					want[id] = string(c.MainImageURL)
				}
			}
			if len(want) != 3 {
				t.Fatalf("labels are read with %v", want)
			}
			got, err := st.MainImages(t.Context(), ids)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v (-read +got):\n%s", err, diff)
			}
		}},
		{"a main image follows the images", func(t *testing.T, st store.Store, _ *clock) {
			c := fullLabel()
			mustKeep(t, st, c)
			c.Images = []cola.Image{{TTBImageID: "9", ContainerPosition: "neck", ImageURL: "https://example.com/images/9"}}
			mustUpsert(t, st, []store.Outcome{store.Changed}, whole(c))
			got, err := st.MainImages(t.Context(), []cola.TTBID{c.TTBID})
			if err != nil || got[c.TTBID] != "https://example.com/images/9" {
				t.Errorf("%v, %v", got, err)
			}
		}},
		{"no labels have no images", func(t *testing.T, st store.Store, _ *clock) {
			if got, err := st.MainImages(t.Context(), nil); err != nil || len(got) != 0 {
				t.Errorf("%v, %v", got, err)
			}
		}},
	})
}
