package registry_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"testing"
	"time"

	"golang.org/x/image/tiff"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
)

// mustStoreImage stores the file of an image.
func mustStoreImage(t *testing.T, w *world, files *images.Store, id string, content []byte) store.ImageFile {
	t.Helper()
	c, err := files.Put(t.Context(), content)
	f := store.ImageFile{TTBImageID: id, ImageContent: c, FetchedAt: testNow}
	if err == nil {
		err = w.store.SaveImageFile(t.Context(), f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestImageFile(t *testing.T) {
	files, err := images.Open(t.Context(), t.TempDir(), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := mustWorldOf(t, 20, func(o *registry.Options) { o.Images = files })
	id := w.newest(t, w.mustCaller(t, "image@example.com", cola.TierPro), cola.SearchParams{})[0].TTBID.String()
	m := image.NewPaletted(image.Rect(0, 0, 400, 300), color.Palette{color.White})
	var content, tiffContent bytes.Buffer
	if err := errors.Join(png.Encode(&content, m), tiff.Encode(&tiffContent, m, nil)); err != nil {
		t.Fatal(err)
	}
	mustStoreImage(t, w, files, id+"-1", content.Bytes())
	mustStoreImage(t, w, files, "99999999999999-1", content.Bytes()) // no such label

	f, err := w.ImageFile(t.Context(), id+"-1")
	if err != nil || f.Width != 400 || f.Version() == "" {
		t.Fatalf("ImageFile = %+v, %v", f, err)
	}
	if got, err := w.ImageContent(t.Context(), f, 0); err != nil || !bytes.Equal(got, content.Bytes()) {
		t.Errorf("ImageContent = %d bytes, %v; want the file", len(got), err)
	}
	small, err := w.ImageContent(t.Context(), f, 200)
	if config, _, decodeErr := image.DecodeConfig(bytes.NewReader(small)); err != nil || decodeErr != nil || config.Width != 320 {
		t.Errorf("ImageContent at width 200 = %+v, %v, %v; want a width of 320", config, err, decodeErr)
	}
	if f.Tag(0) == f.Tag(200) || f.Tag(200) != f.Tag(320) || f.Tag(500) != f.Tag(0) {
		t.Errorf("tags = %s, %s, %s, %s; want equal tags only for equal content", f.Tag(0), f.Tag(200), f.Tag(320), f.Tag(500))
	}
	for _, missing := range []string{"", "x", id, id + "-2", "99999999999999-1"} {
		if f, err := w.ImageFile(t.Context(), missing); code(err) != cola.CodeNotFound {
			t.Errorf("ImageFile(%q) = %+v, %v; want not_found", missing, f, err)
		}
	}
	for _, wrong := range []string{id, id + "-", id + "-zzz", id + "-1-1", id + "-1234"} {
		if _, err := w.LabelOfImage(wrong); code(err) != cola.CodeNotFound {
			t.Errorf("LabelOfImage(%q) error = %v, want not_found", wrong, err)
		}
	}

	damaged := f
	damaged.Hash[31] ^= 1 // no file has this hash
	if _, err := w.ImageContent(t.Context(), damaged, 0); err == nil || code(err) == cola.CodeNotFound {
		t.Errorf("ImageContent(missing file) error = %v, want an internal error", err)
	}
	undecodable := bytes.Clone(tiffContent.Bytes())
	at := bytes.LastIndex(undecodable, []byte{0x11, 0x01, 0x04, 0x00}) // StripOffsets
	undecodable[at+10] = 0xff
	broken := registry.ImageFile(mustStoreImage(t, w, files, id+"-3", undecodable).ImageContent)
	if _, err := w.ImageContent(t.Context(), broken, 0); code(err) != cola.CodeNotFound {
		t.Errorf("ImageContent(undecodable TIFF) error = %v, want not_found", err)
	}
	noImages := mustWorld(t, 0)
	if _, err := noImages.ImageContent(t.Context(), f, 0); code(err) != cola.CodeUnavailable {
		t.Errorf("ImageContent without an image store: error = %v, want unavailable", err)
	}
}

// slowImages is an image store that doesn't respond.
type slowImages struct{}

func (slowImages) Read(ctx context.Context, _ store.ImageContent, _ images.Variant) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestUnresponsiveImageStore(t *testing.T) {
	w := mustWorldOf(t, 0, func(o *registry.Options) { o.Images = slowImages{} })
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := w.ImageContent(ctx, registry.ImageFile{Width: 1}, 0); code(err) != cola.CodeUnavailable {
		t.Errorf("ImageContent error = %v, want unavailable", err)
	}
}
