package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/internal/s3test"
	"github.com/colaregistry/colaregistry/store/images"
)

// mustSaveImage stores an image as the first image of a demo label, and returns the label's ID.
func mustSaveImage(t *testing.T, h testRegistry, location string, content []byte) cola.TTBID {
	t.Helper()
	st := mustOpen(t, h)
	files, err := images.Open(t.Context(), location, images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	var id cola.TTBID
	_, err = st.ColasSince(t.Context(), 0, func(r *cola.IndexRecord) error {
		id = max(id, r.Summary.TTBID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	label, err := st.Cola(t.Context(), id)
	if err != nil || len(label.Images) == 0 {
		t.Fatal(len(label.Images), err)
	}
	save := collect.LabelImages{Store: st, Files: files, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	if usable, err := save.SaveImage(t.Context(), id, &label.Images[0], content); !usable || err != nil {
		t.Fatal(usable, err)
	}
	return id
}

// TestStoredImages serves a fetched image from a folder and from a bucket, and again from a copy of
// the database.
func TestStoredImages(t *testing.T) {
	var content bytes.Buffer
	if err := png.Encode(&content, image.NewPaletted(image.Rect(0, 0, 700, 400), color.Palette{color.White})); err != nil {
		t.Fatal(err)
	}
	for where, location := range map[string]string{"folder": "", "bucket": s3test.Location(t, "")} {
		t.Run(where, func(t *testing.T) {
			h := seeded(t)
			args := []string{"--image-store", location}
			if location == "" {
				location, args = filepath.Join(h.DataDir, "images"), nil // the default
			}
			id := mustSaveImage(t, h, location, content.Bytes())
			s := startServer(t, h, args...)
			checkStoredImage(t, s, id, content.Bytes())
			s.stop(t)

			copied := embedded(t)
			copied.key = h.key
			h.copyTo(t, copied)
			copyServer := startServer(t, copied, "--image-store", location, "--secret-key-file", filepath.Join(h.DataDir, "registry.key"))
			checkStoredImage(t, copyServer, id, content.Bytes())
		})
	}
}

// copyTo copies the database.
func (h testRegistry) copyTo(t *testing.T, to testRegistry) {
	t.Helper()
	file := func(r testRegistry) string { return "sqlite:" + filepath.Join(r.DataDir, "registry.db") }
	out, err := command("copy", "--from", file(h), "--to", file(to)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "image files") {
		t.Fatalf("copy: %v\n%s", err, out)
	}
}

// checkStoredImage requests the image at the address in a label, and then a smaller version.
func checkStoredImage(t *testing.T, s *serverProcess, id cola.TTBID, content []byte) {
	t.Helper()
	label := s.get(t, "/colas/"+id.String(), s.key)
	record := label.at("data", "images").([]any)[0].(map[string]any)
	root := strings.TrimSuffix(s.base, "/api/v1")
	address, _ := record["image_url"].(string)
	if address != root+"/images/"+record["ttb_image_id"].(string) || record["width_pixels"] != 700.0 || record["extension_type"] != "png" {
		t.Errorf("image = %v, want its address, size and type", record)
	}
	get := func(address string) answer {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		return do(t, req)
	}
	whole := get(address)
	if whole.StatusCode != http.StatusOK || !bytes.Equal(whole.body, content) || whole.Header.Get("Content-Type") != "image/png" {
		t.Errorf("GET %s = %d %s, want the stored file", address, whole.StatusCode, whole.Header.Get("Content-Type"))
	}
	small := get(address + "?width=300")
	config, format, err := image.DecodeConfig(bytes.NewReader(small.body))
	if small.StatusCode != http.StatusOK || err != nil || format != "jpeg" || config.Width != 320 {
		t.Errorf("GET with a width of 300 = %d, %s %+v, %v; want a JPEG of width 320", small.StatusCode, format, config, err)
	}
	permanent := get(root + small.Header.Get("Content-Location"))
	if !bytes.Equal(permanent.body, small.body) || !strings.Contains(permanent.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("GET %s = %d %v, want the same image, cacheable as immutable", small.Header.Get("Content-Location"), permanent.StatusCode, permanent.Header)
	}
}
