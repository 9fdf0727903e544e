package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testImageFiles(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"save and read", savedImageFile},
		{"replace", replacedImageFile},
		{"fetched images", fetchedImages},
		{"drawn images", drawnImages},
	})
}

// newImageFile returns a file for an image. Its content depends on n.
func newImageFile(id string, n int) store.ImageFile {
	f := store.ImageFile{TTBImageID: id, FetchedAt: epoch.Add(time.Duration(n) * time.Second)}
	f.Hash, f.ContentType = [32]byte{byte(n), 31: 0xff}, "image/png"
	f.Width, f.Height, f.Bytes = n+1, n+2, n+3
	return f
}

func mustSaveImageFile(t *testing.T, st store.Store, f store.ImageFile) {
	t.Helper()
	mustDo(t, st.SaveImageFile(t.Context(), f))
}

func mustImageFile(t *testing.T, st store.Store, id string) store.ImageFile {
	t.Helper()
	f, err := st.ImageFile(t.Context(), id)
	f.FetchedAt = f.FetchedAt.UTC()
	return must(t, f, err)
}

func savedImageFile(t *testing.T, st store.Store, _ *clock) {
	first, second := newImageFile("11054001000049-1", 1), newImageFile("11054001000049-2", 2)
	second.Hash = first.Hash // another image with the same content
	mustSaveImageFile(t, st, first)
	mustSaveImageFile(t, st, second)
	checkEqual(t, "ImageFile", first, mustImageFile(t, st, first.TTBImageID))
	checkEqual(t, "ImageFile", second, mustImageFile(t, st, second.TTBImageID))
	for _, id := range []string{"", "11054001000049", "11054001000049-3", "11054001000049-1\x00", "\xff"} {
		if f, err := st.ImageFile(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("ImageFile(%q) = %v, %v; want ErrNotFound", id, f, err)
		}
	}
}

func replacedImageFile(t *testing.T, st store.Store, _ *clock) {
	other, latest := newImageFile("2", 1), newImageFile("1", 3)
	for _, f := range []store.ImageFile{newImageFile("1", 2), other, latest} {
		mustSaveImageFile(t, st, f)
	}
	checkEqual(t, "replaced file", latest, mustImageFile(t, st, "1"))
	checkEqual(t, "other file", other, mustImageFile(t, st, "2"))
	checkEqual(t, "number of image files", 2, mustSizes(t, st)[store.ItemImageFile])
}

// drawnImages checks that images with a file name or another URL aren't mistaken for those of demo
// labels.
func drawnImages(t *testing.T, st store.Store, _ *clock) {
	fetched, external, drawn := label(1), label(2), label(3)
	fetched.Images = []cola.Image{{TTBImageID: "1", FileName: "front.jpg", ImageURL: "/images/1"}}
	external.Images = []cola.Image{
		{TTBImageID: "2"}, {TTBImageID: "3", ImageIndex: 1, ImageURL: "https://example.com/images/3"},
	}
	drawn.Images = []cola.Image{{TTBImageID: "4"}, {TTBImageID: "5", ImageIndex: 1, ImageURL: "/images/5"}}
	mustAddColas(t, st, fetched, external)
	has, err := st.HasDrawnImages(t.Context())
	checkEqual(t, "HasDrawnImages without demo labels", false, must(t, has, err))
	mustAddColas(t, st, drawn)
	has, err = st.HasDrawnImages(t.Context())
	checkEqual(t, "HasDrawnImages with a demo label", true, must(t, has, err))
}

// fetchedImages checks the list of fetched images: latest label first, over several pages that end
// within a label, with the hashes of recorded files.
func fetchedImages(t *testing.T, st store.Store, _ *clock) {
	const perLabel, count = 3, 701
	var labels []cola.Cola
	want := map[cola.TTBID]int{}
	for i := range count {
		l := label(i)
		if i == 0 {
			l.TTBID = 99_001_001_000_001 // from the last century
		}
		for n := range perLabel {
			id := fmt.Sprint(l.TTBID, "-", n)
			l.Images = append(l.Images, cola.Image{TTBImageID: id, ImageIndex: n, ImageURL: cola.Text("/images/" + id)})
		}
		want[l.TTBID] = perLabel
		labels = append(labels, l)
	}
	other := label(count)
	other.Images = []cola.Image{{TTBImageID: "1"}, {TTBImageID: "2", ImageIndex: 1, ImageURL: "https://example.com/images/2"}}
	mustAddColas(t, st, append(labels, other)...)
	file := newImageFile(labels[1].Images[0].TTBImageID, 1)
	mustSaveImageFile(t, st, file)
	got := map[cola.TTBID]int{}
	var order, recorded []cola.TTBID
	mustDo(t, st.FetchedImages(t.Context(), func(i store.FetchedImage) error {
		if got[i.TTBID]++; got[i.TTBID] == 1 {
			order = append(order, i.TTBID)
		}
		if i.Hash == file.Hash {
			recorded = append(recorded, i.TTBID)
		} else if i.Hash != [32]byte{} {
			t.Errorf("image of label %s has hash %x, want none", i.TTBID, i.Hash)
		}
		return nil
	}))
	checkEqual(t, "images per label", want, got)
	checkEqual(t, "labels with a recorded file", []cola.TTBID{labels[1].TTBID}, recorded)
	checkEqual(t, "first, second to last and last label",
		[]cola.TTBID{labels[count-1].TTBID, labels[1].TTBID, labels[0].TTBID}, []cola.TTBID{order[0], order[count-2], order[count-1]})
	err := st.FetchedImages(t.Context(), func(store.FetchedImage) error { return errCallback })
	if !errors.Is(err, errCallback) {
		t.Errorf("error = %v, want the callback's", err)
	}
}
