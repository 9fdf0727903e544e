package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testImageFiles(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"save and read", savedImageFile},
		{"replace", replacedImageFile},
		{"drawn images", drawnImages},
	})
}

// newImageFile returns the nth file of an image, with different content.
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

// drawnImages checks that images with a file name or another URL aren't taken for those of demo
// labels.
func drawnImages(t *testing.T, st store.Store, _ *clock) {
	fetched, elsewhere, drawn := label(1), label(2), label(3)
	fetched.Images = []cola.Image{{TTBImageID: "1", FileName: "front.jpg", ImageURL: "/images/1"}}
	elsewhere.Images = []cola.Image{
		{TTBImageID: "2"}, {TTBImageID: "3", ImageIndex: 1, ImageURL: "https://example.com/images/3"},
	}
	drawn.Images = []cola.Image{{TTBImageID: "4"}, {TTBImageID: "5", ImageIndex: 1, ImageURL: "/images/5"}}
	mustAddColas(t, st, fetched, elsewhere)
	has, err := st.HasDrawnImages(t.Context())
	checkEqual(t, "HasDrawnImages without demo labels", false, must(t, has, err))
	mustAddColas(t, st, drawn)
	has, err = st.HasDrawnImages(t.Context())
	checkEqual(t, "HasDrawnImages with a demo label", true, must(t, has, err))
}
