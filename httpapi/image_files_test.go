package httpapi

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// withFile returns a fake whose first image has a stored file, a PNG.
func withFile(t *testing.T) *fake {
	t.Helper()
	var content bytes.Buffer
	if err := png.Encode(&content, image.NewGray(image.Rect(0, 0, 2000, 10))); err != nil {
		t.Fatal(err)
	}
	f := newFake()
	f.content = content.Bytes()
	f.file = &registry.ImageFile{
		Hash: [32]byte{1, 2, 3}, ContentType: "image/png", Width: 2000, Height: 10, Bytes: len(f.content),
	}
	return f
}

func TestImageFile(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	f := withFile(t)
	version := f.file.Version()
	tests := []struct {
		target    string
		cache     string
		permanent string // Content-Location
		width     int
	}{
		{imagePath, revalidate, imagePath + "?v=" + version, 0},
		{imagePath + "?width=100", revalidate, imagePath + "?v=" + version + "&width=100", 100},
		{imagePath + "?v=" + version, immutable, imagePath + "?v=" + version, 0},
		{imagePath + "?width=320&v=" + version, immutable, imagePath + "?v=" + version + "&width=320", 320},
		{imagePath + "?v=0000000000000000", revalidate, imagePath + "?v=" + version, 0},
		{imagePath + "?v=", revalidate, imagePath + "?v=" + version, 0},
		{imagePath + ".svg", revalidate, imagePath + "?v=" + version, 0},
		{imagePath + "?format=jpg", revalidate, imagePath + "?v=" + version, 0},
	}
	for _, tt := range tests {
		f.widths = nil
		h := mustServe(t, f, io.Discard)
		for _, attempt := range []string{"first", "second"} { // read, then cached
			resp := send(t, h, "GET", tt.target)
			spec.Validate(t, httptest.NewRequest("GET", tt.target, nil), resp)
			want := map[string]string{
				"Content-Type": "image/png", "Cache-Control": tt.cache, "Content-Location": tt.permanent,
				"Etag": `"` + f.file.Tag(tt.width) + `"`, "X-Content-Type-Options": "nosniff",
			}
			for name, value := range want {
				if got := resp.Header.Get(name); got != value {
					t.Errorf("%s attempt, %s: %s = %q, want %q", attempt, tt.target, name, got, value)
				}
			}
			if !strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("%s: headers = %v", tt.target, resp.Header)
			}
			if resp.StatusCode != http.StatusOK || mustRead(t, resp) != string(f.content) {
				t.Errorf("%s attempt, %s: status = %d, want 200 and the file", attempt, tt.target, resp.StatusCode)
			}
		}
		if len(f.widths) != 1 || f.widths[0] != tt.width {
			t.Errorf("%s: content was read for widths %v, want %d, once", tt.target, f.widths, tt.width)
		}
	}
}

func TestImageFileETag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withFile(t)
		h := mustServe(t, f, io.Discard)
		tag := send(t, h, "GET", imagePath).Header.Get("Etag")
		if strings.HasPrefix(tag, "W/") {
			t.Errorf("ETag = %s, want a strong one", tag)
		}
		for target, cache := range map[string]string{imagePath: revalidate, imagePath + "?v=" + f.file.Version(): immutable} {
			resp := send(t, h, "GET", target, "If-None-Match: "+tag)
			if resp.StatusCode != http.StatusNotModified || mustRead(t, resp) != "" || resp.Header.Get("Etag") != tag ||
				resp.Header.Get("Cache-Control") != cache {
				t.Errorf("%s with If-None-Match: response = %d %v, want 304", target, resp.StatusCode, resp.Header)
			}
		}
		if small := send(t, h, "GET", imagePath+"?width=300").Header.Get("Etag"); small == tag {
			t.Error("a rendition has the file's ETag")
		}
		if same := send(t, h, "GET", imagePath+"?width=1900").Header.Get("Etag"); same != tag {
			t.Errorf("ETag for a width above 1280 = %s, want the file's", same)
		}
		head := send(t, h, "HEAD", imagePath)
		if head.StatusCode != http.StatusOK || head.Header.Get("Etag") != tag || head.ContentLength != int64(len(f.content)) {
			t.Errorf("HEAD: response = %d %v", head.StatusCode, head.Header)
		}
		replaced := *f.file
		replaced.Hash = [32]byte{9}
		f.file = &replaced
		time.Sleep(knownTTL)
		changed := send(t, h, "GET", imagePath, "If-None-Match: "+tag)
		if changed.StatusCode != http.StatusOK || changed.Header.Get("Etag") == tag {
			t.Errorf("replaced file: status = %d, ETag = %s; want 200 with a new ETag", changed.StatusCode, changed.Header.Get("Etag"))
		}
	})
}

func TestImageFileErrors(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range []struct {
		err    error
		status int
	}{
		{errors.New("image file ab/cd/secret is damaged"), 500},
		{cola.Unavailable(), 503},
		{cola.Errorf(cola.CodeNotFound, "This image/tiff image can't be shown."), 404},
	} {
		var log strings.Builder
		f := withFile(t)
		f.contentErr = tt.err
		h := mustServe(t, f, &log)
		resp := send(t, h, "GET", imagePath+"?v="+f.file.Version())
		spec.Validate(t, httptest.NewRequest("GET", imagePath, nil), resp)
		body := mustRead(t, resp)
		if resp.StatusCode != tt.status || strings.Contains(body, "secret") {
			t.Errorf("%v: response = %d %s, want %d", tt.err, resp.StatusCode, body, tt.status)
		}
		if h := resp.Header; h.Get("Cache-Control") != "private, no-store" || h.Get("Etag") != "" || h.Get("Content-Location") != "" {
			t.Errorf("%v: headers = %v, want no image headers", tt.err, h)
		}
		if tt.status == 500 && !strings.Contains(log.String(), "secret") {
			t.Errorf("log = %s, want the name of the damaged file", log.String())
		}
		f.contentErr = nil // errors are not cached
		if resp := send(t, h, "GET", imagePath); resp.StatusCode != http.StatusOK {
			t.Errorf("after %v: status = %d, want 200", tt.err, resp.StatusCode)
		}
	}
}

// TestImageFileOutage checks that a recently requested image needs no database reads, and that a
// known file is served while the database is unavailable.
func TestImageFileOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withFile(t)
		h := mustServe(t, f, io.Discard)
		send(t, h, "GET", imagePath)
		reads := f.imageReads.Load()
		send(t, h, "GET", imagePath+"?width=100")
		if got := f.imageReads.Load(); got != reads {
			t.Errorf("%d database reads, want none for a recently requested image", got-reads)
		}
		time.Sleep(knownTTL)
		f.err = cola.Unavailable()
		if resp := send(t, h, "GET", imagePath+"?width=500"); resp.StatusCode != http.StatusOK {
			t.Errorf("known image: status = %d, want 200", resp.StatusCode)
		}
		if resp := send(t, h, "GET", imagePath+".png"); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("unknown image: status = %d, want 503", resp.StatusCode)
		}
	})
}

// TestMissingImageIsCached checks that a missing image of a known label isn't looked up for every
// request, and that the image is served soon after it is fetched.
func TestMissingImageIsCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := withFile(t)
		h := mustServe(t, f, io.Discard)
		file := f.file
		f.file, f.label.Images[0].TTBImageID = nil, f.label.TTBID.String()+"-9"
		var reads int64
		for i := range 3 {
			resp := send(t, h, "GET", imagePath)
			if resp.StatusCode != http.StatusNotFound || resp.Header.Get("Cache-Control") != "private, no-store" {
				t.Errorf("missing image: response = %d %v, want 404", resp.StatusCode, resp.Header)
			}
			if i == 0 {
				reads = int64(f.imageReads.Load())
			}
		}
		if got := int64(f.imageReads.Load()); got != reads {
			t.Errorf("%d more database reads, want none", got-reads)
		}
		f.file, f.label.Images[0].TTBImageID = file, f.label.TTBID.String()+"-1"
		time.Sleep(knownTTL)
		if resp := send(t, h, "GET", imagePath); resp.StatusCode != http.StatusOK {
			t.Errorf("fetched image: status = %d, want 200", resp.StatusCode)
		}
	})
}

// TestImageFileQueuesFull checks the responses to a full read queue and to too many large images.
func TestImageFileQueuesFull(t *testing.T) {
	full := workQueue{places: make(chan struct{}), slots: make(chan struct{})}
	for name, tt := range map[string]struct {
		files *imageCache
		size  int
		want  int
	}{
		"reads":        {&imageCache{queue: full, pending: map[string]*pendingImage{}, cache: newByteCache(0)}, 10, 503},
		"large images": {newImageCache(1, 1, 0), largeImage + 1, 503},
		"small images": {newImageCache(1, 1, 0), largeImage, 200},
	} {
		f := withFile(t)
		f.content = append(f.content, make([]byte, tt.size-min(tt.size, len(f.content)))...)
		a := &api{
			svc: f, opts: Options{}.withDefaults(), imageQuery: newDecoder[imageParams](), known: newKnownImages(),
			imageReads: newWorkQueue(1, 1), imageReadLimit: rate.NewLimiter(rate.Inf, 1), files: tt.files, largeImages: full,
		}
		a.buffers.New, a.recorder = newBuffer, web.NewRecorder(slog.New(slog.DiscardHandler), nil, nil, a.routeLabel)
		w := httptest.NewRecorder()
		a.routes().ServeHTTP(w, httptest.NewRequest("GET", imagePath, nil))
		if w.Code != tt.want || tt.want == 503 && w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: response = %d %v, want %d", name, w.Code, w.Header(), tt.want)
		}
	}
}
