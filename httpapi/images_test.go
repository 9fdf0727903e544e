package httpapi

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image"
	_ "image/jpeg"
	_ "image/png"
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
	"github.com/colaregistry/colaregistry/internal/labelart"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/web"
)

const imagePath = "/images/11054001000049-1"

func TestImageFormat(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	tests := []struct{ target, extension, want string }{
		{imagePath, "jpg", "jpeg"},
		{imagePath, "jpeg", "jpeg"},
		{imagePath, "JPG", "jpeg"},
		{imagePath, "png", "png"},
		{imagePath, "tif", "png"},
		{imagePath, "", "png"},
		{imagePath + ".svg", "png", "svg"},
		{imagePath + ".png", "jpg", "png"},
		{imagePath + ".jpg", "png", "jpeg"},
		{imagePath + ".png?format=svg", "jpg", "png"},
		{imagePath + "?format=png", "jpg", "png"},
		{imagePath + "?format=PNG", "jpg", "png"},
		{imagePath + "?format=svg", "jpg", "svg"},
		{"/images/%31%31054001000049-1", "jpg", "jpeg"},
	}
	for _, tt := range tests {
		f := newFake()
		f.label.Images[0].ExtensionType = cola.Text(tt.extension)
		h := mustServe(t, f, io.Discard)
		for _, attempt := range []string{"first", "second"} { // drawn, then cached
			resp := send(t, h, "GET", tt.target)
			spec.Validate(t, httptest.NewRequest("GET", tt.target, nil), resp)
			want := map[string]string{"jpeg": "image/jpeg", "svg": "image/svg+xml", "png": "image/png"}[tt.want]
			if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != want {
				t.Errorf("%s attempt, %s of a %s: response = %d %s, want 200 %s", attempt, tt.target, tt.extension, resp.StatusCode, got, want)
				continue
			}
			if resp.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("%s: headers = %v", tt.target, resp.Header)
			}
			checkPicture(t, tt.want, resp)
		}
	}
}

// checkPicture checks that the response is a picture of 300 by 400 pixels, the size in the record.
func checkPicture(t *testing.T, format string, resp *http.Response) {
	t.Helper()
	if format != "svg" {
		config, drawn, err := image.DecodeConfig(resp.Body)
		if err != nil || drawn != format || config.Width != 300 || config.Height != 400 {
			t.Errorf("image = %s, %d×%d, %v; want %s, 300×400", drawn, config.Width, config.Height, err, format)
		}
		return
	}
	var root struct {
		XMLName xml.Name
		Width   string `xml:"width,attr"`
		Height  string `xml:"height,attr"`
	}
	if err := xml.NewDecoder(resp.Body).Decode(&root); err != nil || root.XMLName.Local != "svg" || !strings.HasPrefix(root.Width, "300") || !strings.HasPrefix(root.Height, "400") {
		t.Errorf("SVG root = %+v, %v", root, err)
	}
}

func TestImageErrors(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	tests := []struct {
		target  string
		err     error
		status  int
		problem string
	}{
		{"/images/unknown", nil, 404, ""},
		{"/images/unknown.png", nil, 404, ""},
		{imagePath + ".gif", nil, 404, ""},
		{imagePath + "?format=gif", nil, 400, "format"},
		{imagePath + "?formt=png", nil, 400, "formt"},
		{imagePath + "?width=0", nil, 400, "width"},
		{imagePath + "?width=20001", nil, 400, "width"},
		{imagePath + "?width=wide", nil, 400, "width"},
		{imagePath + ".png?width=-1", nil, 400, "width"},
		{imagePath + ".png?size=2", nil, 400, "size"},
		{imagePath, cola.Unavailable(), 503, ""},
		{imagePath, errBroken, 500, ""},
	}
	for _, tt := range tests {
		f := newFake()
		f.err = tt.err
		resp := send(t, mustServe(t, f, io.Discard), "GET", tt.target)
		spec.Validate(t, httptest.NewRequest("GET", tt.target, nil), resp)
		got := mustDecode(t, resp)
		if resp.StatusCode != tt.status {
			t.Errorf("%s: status = %d, want %d", tt.target, resp.StatusCode, tt.status)
		}
		if _, ok := got.Error.Details[tt.problem]; tt.problem != "" && !ok {
			t.Errorf("%s: details = %v, want a problem with %s", tt.target, got.Error.Details, tt.problem)
		}
		if cache := resp.Header.Get("Cache-Control"); cache != "private, no-store" {
			t.Errorf("%s: Cache-Control = %s, want private, no-store", tt.target, cache)
		}
	}
}

func TestOversizedImage(t *testing.T) {
	for _, width := range []int{-1, 0, labelart.MaxSide + 1, 1 << 40} {
		f := newFake()
		f.label.Images[0].WidthPixels = cola.Some(width)
		if resp := send(t, mustServe(t, f, io.Discard), "GET", imagePath+".png"); resp.StatusCode != http.StatusNotFound {
			t.Errorf("width %d: status = %d, want 404", width, resp.StatusCode)
		}
	}
}

func TestImageETag(t *testing.T) { synctest.Test(t, testImageTag) }

func testImageTag(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	tag := send(t, h, "GET", imagePath+".svg").Header.Get("Etag")
	resp := send(t, h, "GET", imagePath+".svg", "If-None-Match: "+tag)
	if resp.StatusCode != http.StatusNotModified || mustRead(t, resp) != "" || resp.Header.Get("Etag") != tag {
		t.Errorf("with If-None-Match: response = %d %v, want 304", resp.StatusCode, resp.Header)
	}
	if png := send(t, h, "GET", imagePath+".png").Header.Get("Etag"); png == tag {
		t.Error("PNG and SVG have the same ETag")
	}
	f.label.BrandName = "ANOTHER"
	time.Sleep(knownTTL)
	if changed := send(t, h, "GET", imagePath+".svg", "If-None-Match: "+tag); changed.StatusCode != http.StatusOK || changed.Header.Get("Etag") == tag {
		t.Errorf("changed record: status = %d, ETag = %q; want 200 with a new ETag", changed.StatusCode, changed.Header.Get("Etag"))
	}
}

// TestImageQueueFull checks that a full read queue, a rate-limit wait beyond the deadline, and a
// full drawing queue each return 503.
func TestImageQueueFull(t *testing.T) {
	slow := rate.NewLimiter(rate.Every(time.Hour), 1)
	slow.Allow()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	full := workQueue{places: make(chan struct{}), slots: make(chan struct{})}
	for name, a := range map[string]*api{
		"reads":    {imageReads: full, imageReadLimit: rate.NewLimiter(rate.Inf, 1), drawings: newImageCache(1, 1, 0)},
		"rate":     {imageReads: newWorkQueue(1, 1), imageReadLimit: slow, drawings: newImageCache(1, 1, 0)},
		"drawings": {imageReads: newWorkQueue(1, 1), imageReadLimit: rate.NewLimiter(rate.Inf, 1), drawings: &imageCache{queue: full, pending: map[string]*pendingImage{}, cache: newByteCache(0)}},
	} {
		a.svc, a.opts, a.imageQuery, a.buffers.New = newFake(), Options{}.withDefaults(), newDecoder[imageParams](), newBuffer
		a.known = newKnownImages()
		a.recorder = web.NewRecorder(slog.New(slog.DiscardHandler), nil, nil, a.routeLabel)
		w := httptest.NewRecorder()
		a.routes().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", imagePath, nil))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: response = %d %v, want 503 with Retry-After", name, w.Code, w.Header())
		}
	}
}

// TestImageCache checks that cached drawings and unknown IDs need no read and no queue slot. The
// record is read again after the cache TTL; if that fails, the cached drawing is sent.
func TestImageCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		a := &api{
			svc: f, opts: Options{}.withDefaults(), imageQuery: newDecoder[imageParams](), drawings: newImageCache(1, 1, drawingCacheBytes), known: newKnownImages(),
			imageReads: newWorkQueue(1, 0), imageReadLimit: rate.NewLimiter(rate.Inf, 1),
		}
		a.buffers.New, a.recorder = newBuffer, web.NewRecorder(slog.New(slog.DiscardHandler), nil, nil, a.routeLabel)
		routes := a.routes()
		request := func(path string, header ...string) (status int, reads int64) {
			before := f.imageReads.Load()
			r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
			if len(header) > 0 {
				r.Header.Set("If-None-Match", header[0])
			}
			routes.ServeHTTP(w, r)
			if w.Code == http.StatusOK && (w.Header().Get("Etag") == "" || w.Header().Get("Content-Type") != "image/svg+xml" || w.Body.Len() == 0) {
				t.Errorf("%s: headers = %v, %d bytes", path, w.Header(), w.Body.Len())
			}
			return w.Code, f.imageReads.Load() - before
		}
		check := func(when, path string, wantStatus int, wantReads int64, header ...string) {
			t.Helper()
			if status, reads := request(path, header...); status != wantStatus || reads != wantReads {
				t.Errorf("%s, %s: status = %d, %d reads; want %d, %d", when, path, status, reads, wantStatus, wantReads)
			}
		}
		const other, missing = "/images/11054001000049-9", "/images/99999999999999-1"
		check("first request", imagePath+".svg", 200, 1)
		check("second request", imagePath+".svg", 200, 0)
		check("with If-None-Match", imagePath+".svg", 304, 0, "*")
		if !a.imageReads.enter() {
			t.Fatal("enter = false, want true")
		}
		for _, when := range []string{"queue full", "queue full, metadata expired"} {
			check(when, imagePath+".svg", 200, 0)
			check(when, missing, 404, 0)
			check(when, other, 503, 0)
			check(when, imagePath+".png", 503, 0)
			time.Sleep(knownTTL)
		}
		a.imageReads.leave()
		check("read again", imagePath+".svg", 200, 1)
		check("read again", other, 404, 1)
	})
}

func TestReady(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	tests := []struct {
		err    error
		status int
	}{
		{nil, 200},
		{&cola.Error{Code: cola.CodeUnavailable, Message: "Its index is being built.", RetryAfter: cola.UnavailableRetry}, 503},
		{errors.New("database: secret host does not answer"), 503},
	}
	for _, tt := range tests {
		var log strings.Builder
		f := newFake()
		f.ready = tt.err
		resp := send(t, mustServe(t, f, &log), "GET", "/readyz")
		spec.Validate(t, httptest.NewRequest("GET", "/readyz", nil), resp)
		body := mustRead(t, resp)
		if resp.StatusCode != tt.status || strings.Contains(body, "secret") {
			t.Errorf("Ready error %v: response = %d %s", tt.err, resp.StatusCode, body)
		}
		if tt.err == nil && (!strings.Contains(body, `"status":"ok"`) || !strings.Contains(body, `"version":`)) {
			t.Errorf("body = %s, want status ok and a version", body)
		}
		if tt.err != nil && (resp.Header.Get("Retry-After") != "5" || !strings.Contains(log.String(), tt.err.Error())) {
			t.Errorf("Ready error %v: Retry-After = %q, log = %s", tt.err, resp.Header.Get("Retry-After"), log.String())
		}
	}
}

func TestDocuments(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	h := mustServe(t, newFake(), io.Discard)
	for target, contentType := range map[string]string{"/llms.txt": "text/plain; charset=utf-8", "/api/v1/openapi.json": "application/json"} {
		resp := send(t, h, "GET", target)
		spec.Validate(t, httptest.NewRequest("GET", target, nil), resp)
		tag := resp.Header.Get("Etag")
		if resp.Header.Get("Content-Type") != contentType || tag == "" || resp.Header.Get("Cache-Control") != "public, max-age=300" {
			t.Errorf("%s: headers = %v", target, resp.Header)
		}
		for _, list := range []string{tag, strings.TrimPrefix(tag, "W/"), `"other", ` + tag, "*"} {
			if second := send(t, h, "GET", target, "If-None-Match: "+list); second.StatusCode != http.StatusNotModified || mustRead(t, second) != "" {
				t.Errorf("%s with If-None-Match %s: status = %d, want 304", target, list, second.StatusCode)
			}
		}
		for _, list := range []string{`"other"`, "W/", ","} {
			if second := send(t, h, "GET", target, "If-None-Match: "+list); second.StatusCode != http.StatusOK {
				t.Errorf("%s with If-None-Match %s: status = %d, want 200", target, list, second.StatusCode)
			}
		}
	}
}

// TestServedOpenAPI checks the server URL of the served description.
func TestServedOpenAPI(t *testing.T) {
	served := func(h http.Handler) (doc struct{ Servers []struct{ URL string } }) {
		if err := json.Unmarshal([]byte(mustRead(t, send(t, h, "GET", "/api/v1/openapi.json"))), &doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	for publicURL, want := range map[string]string{"": "/api/v1", "https://registry.example": "https://registry.example/api/v1", "https://registry.example/": "https://registry.example/api/v1"} {
		h := New(newFake(), keys{}, Options{PublicURL: publicURL, Logger: slog.New(slog.DiscardHandler)})
		if got := served(h).Servers; len(got) != 1 || got[0].URL != want {
			t.Errorf("public URL %q: servers = %v, want %s", publicURL, got, want)
		}
	}
}
