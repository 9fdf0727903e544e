package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/labelart"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// image serves an image of a demo label. The format comes from the path's extension, ?format= or
// the record, in that order.
func (a *api) image(w http.ResponseWriter, r *http.Request) {
	id, format, err := a.requestedImage(r)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	if _, err := a.svc.LabelOfImage(id); err != nil { // before queueing for a read
		web.Fail(w, r, err)
		return
	}
	key := id + "." + string(format)
	known, recent := a.tags.get(key)
	if recent && a.sendCached(w, r, known) {
		return
	}
	label, img, err := a.drawableImage(r.Context(), id)
	if cola.CodeOf(err) == cola.CodeUnavailable && a.sendCached(w, r, known) {
		return // possibly outdated, but better than an error
	}
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	if format == "" {
		format = labelart.FormatOf(&img)
	}
	tag, err := a.imageTag(&label, &img, format)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	a.tags.add(key, tag, format)
	if notModified(w, r, tag) {
		return
	}
	a.sendDrawing(w, r, tag, &label, &img, format)
}

// notModified sets the headers common to all image responses. If the client has the current
// version, it responds with 304 and returns true.
func notModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	h := w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", "public, max-age=3600")
	if etagMatches(ifNoneMatch(r), tag) {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	return false
}

// sendCached responds with a cached drawing, without reading the record. If the drawing is not
// cached, it returns false without a response.
func (a *api) sendCached(w http.ResponseWriter, r *http.Request, known cachedTag) bool {
	content, ok := a.drawings.cached(known.tag)
	if ok && !notModified(w, r, known.tag) {
		sendImage(w, known.format, content)
	}
	return ok
}

// drawableImage reads an image and its label. The route needs no credentials, so the concurrency
// and rate of these reads are limited.
func (a *api) drawableImage(ctx context.Context, id string) (label cola.Cola, img cola.Image, err error) {
	err = a.imageReads.run(ctx, func() error {
		if err := a.imageReadLimit.Wait(ctx); err != nil {
			return err
		}
		label, img, err = a.svc.DrawableImage(ctx, id)
		return err
	})
	if err == nil && !drawable(img) {
		err = cola.Errorf(cola.CodeNotFound, "The image %s can't be rendered: each side must be 1 to %d pixels.",
			cola.Quoted(id), labelart.MaxSide)
	}
	return label, img, err
}

// drawable reports whether the size of an image is within limits.
func drawable(img cola.Image) bool {
	fits := func(side cola.Opt[int]) bool { return !side.OK || side.V >= 1 && side.V <= labelart.MaxSide }
	return fits(img.WidthPixels) && fits(img.HeightPixels)
}

// sendDrawing sends the drawing that tag identifies.
func (a *api) sendDrawing(
	w http.ResponseWriter, r *http.Request, tag string, label *cola.Cola, img *cola.Image, f labelart.Format,
) {
	content, err := a.drawings.get(r.Context(), tag, func() ([]byte, error) {
		var drawn bytes.Buffer
		err := labelart.Draw(&drawn, f, label, img)
		return bytes.Clone(drawn.Bytes()), err // without spare capacity: it may be cached
	})
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	sendImage(w, f, content)
}

func sendImage(w http.ResponseWriter, f labelart.Format, content []byte) {
	h := w.Header()
	h.Set("Content-Type", f.ContentType())
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	w.Write(content)
}

// imageTag returns the entity tag of a drawing: a hash of the record, the image, the format and the
// program version.
func (a *api) imageTag(label *cola.Cola, img *cola.Image, f labelart.Format) (string, error) {
	b, err := json.Marshal([]any{label, img, f, a.opts.Version})
	if err != nil {
		return "", err
	}
	return weakETag(b), nil
}

// imageParams are the query parameters of /images/{image}.
type imageParams struct {
	cola.Decoded
	Format string `json:"format" enum:"jpg,png,svg" doc:"Image format, unless the path has an extension. Default: the record's extension_type." example:"png"`
}

// requestedImage returns the ID of the requested image and its format, or "" for the record's own
// format.
func (a *api) requestedImage(r *http.Request) (id string, format labelart.Format, err error) {
	query := a.imageQuery.decode(r.URL.RawQuery)
	id = pathValue(r, "image")
	if f, ok := labelart.ParseFormat(strings.TrimPrefix(path.Ext(id), ".")); ok {
		return strings.TrimSuffix(id, path.Ext(id)), f, query.Problems.Err()
	}
	if requested := strings.TrimSpace(query.Format); requested != "" {
		var ok bool
		if format, ok = labelart.ParseFormat(requested); !ok {
			query.Problems.Add("format", "%s is not a supported format; use jpg, png or svg.",
				params.Quoted(query.Format))
		}
	}
	return id, format, query.Problems.Err()
}
