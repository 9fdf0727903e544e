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
	"github.com/colaregistry/colaregistry/registry"
)

// image serves the stored file of an image, or else draws the image of a demo label.
func (a *api) image(w http.ResponseWriter, r *http.Request) {
	req, err := a.requestedImage(r)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	if _, err := a.svc.LabelOfImage(req.id); err != nil { // unknown labels don't enter the read queue
		web.Fail(w, r, err)
		return
	}
	key := req.id + "." + string(req.format)
	known, recent := a.known.get(key)
	if recent && a.sendKnown(w, r, req, known) {
		return
	}
	found, err := a.findImage(r.Context(), req.id)
	if cola.CodeOf(err) == cola.CodeUnavailable && a.sendKnown(w, r, req, known) {
		return // possibly outdated, but better than an error
	}
	switch {
	case err != nil:
		if cola.CodeOf(err) == cola.CodeNotFound {
			a.known.add(key, knownImage{missing: err})
		}
		web.Fail(w, r, err)
	case found.file != nil:
		a.known.add(key, knownImage{file: found.file})
		a.sendFile(w, r, req, *found.file)
	default:
		a.draw(w, r, key, req.format, &found)
	}
}

// draw sends a drawing of a demo label's image, in the given format or the record's.
func (a *api) draw(w http.ResponseWriter, r *http.Request, key string, format labelart.Format, found *foundImage) {
	if format == "" {
		format = labelart.FormatOf(&found.img)
	}
	tag, err := a.drawingTag(&found.label, &found.img, format)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	a.known.add(key, knownImage{tag: tag, format: format})
	if !notModified(w, r, tag, revalidate) {
		a.sendDrawing(w, r, tag, &found.label, &found.img, format)
	}
}

// Values of Cache-Control for images.
const (
	revalidate = "public, max-age=3600"
	immutable  = "public, max-age=31536000, immutable"
)

// notModified sets the cache headers of an image. If the client has the current version, it
// responds with 304 and returns true.
func notModified(w http.ResponseWriter, r *http.Request, tag, cacheControl string) bool {
	h := w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", cacheControl)
	if etagMatches(ifNoneMatch(r), tag) {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	return false
}

// sendKnown responds without reading the database, if known says that the image is missing or has a
// file, or if its drawing is cached. Otherwise it returns false without a response.
func (a *api) sendKnown(w http.ResponseWriter, r *http.Request, req imageRequest, known knownImage) bool {
	if known.missing != nil {
		web.Fail(w, r, known.missing)
		return true
	}
	if known.file != nil {
		a.sendFile(w, r, req, *known.file)
		return true
	}
	content, ok := a.drawings.cached(known.tag)
	if ok && !notModified(w, r, known.tag, revalidate) {
		sendImage(w, known.format.ContentType(), content)
	}
	return ok
}

// waitToRead waits for the rate limit of image reads. It fails with CodeUnavailable if the wait
// would exceed the deadline.
func (a *api) waitToRead(ctx context.Context) error {
	if err := a.imageReadLimit.Wait(ctx); err != nil && ctx.Err() == nil {
		return cola.Unavailable()
	}
	return ctx.Err()
}

// foundImage is a stored file, or an image to draw and its label.
type foundImage struct {
	file  *registry.ImageFile
	label cola.Cola
	img   cola.Image
}

// findImage looks up the file of an image or, if none is stored, the label of an image that can be
// drawn. The route needs no credentials, so the concurrency and rate of these lookups are limited.
func (a *api) findImage(ctx context.Context, id string) (found foundImage, err error) {
	err = a.imageReads.run(ctx, func() error {
		if err := a.waitToRead(ctx); err != nil {
			return err
		}
		file, err := a.svc.ImageFile(ctx, id)
		if err == nil {
			found.file = &file
			return nil
		}
		if cola.CodeOf(err) != cola.CodeNotFound {
			return err
		}
		if err := a.waitToRead(ctx); err != nil {
			return err
		}
		found.label, found.img, err = a.svc.DrawableImage(ctx, id)
		return err
	})
	if err == nil && found.file == nil && !drawable(found.img) {
		err = cola.Errorf(cola.CodeNotFound, "The image %s can't be rendered: each side must be 1 to %d pixels.",
			cola.Quoted(id), labelart.MaxSide)
	}
	return found, err
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
		return bytes.Clone(drawn.Bytes()), err // drops spare capacity, because the drawing may be cached
	})
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	sendImage(w, f.ContentType(), content)
}

func sendImage(w http.ResponseWriter, contentType string, content []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	w.Write(content)
}

// drawingTag returns the entity tag of a drawing: a hash of the record, the image, the format and
// the program version.
func (a *api) drawingTag(label *cola.Cola, img *cola.Image, f labelart.Format) (string, error) {
	b, err := json.Marshal([]any{label, img, f, a.opts.Version})
	if err != nil {
		return "", err
	}
	return weakETag(b), nil
}

// imageParams are the query parameters of /images/{image}.
type imageParams struct {
	cola.Decoded
	Format  string        `json:"format" enum:"jpg,png,svg" doc:"Format of a drawing, unless the path has an extension. Default: the record's extension_type. Stored files keep their format." example:"png"`
	Width   cola.Opt[int] `json:"width" minimum:"1" maximum:"20000" doc:"Display width of a stored file, in pixels. The image is sent at the smallest of 160, 320, 640 and 1280 pixels that is at least this wide, but never wider than the file. Above 1280, it is sent at full size. Ignored for drawings." example:"320"`
	Version string        `json:"v" doc:"Version of a stored file, from Content-Location. If it is current, the response may be cached permanently." example:"9f86d081884c7d65"`
}

// imageRequest is a request for an image.
type imageRequest struct {
	id      string
	format  labelart.Format // drawing format; empty for the format in the record
	width   int             // width of a stored file; 0 for its original width
	version string          // version of the stored file that the client expects; may be empty
}

// requestedImage reads the path and the query parameters.
func (a *api) requestedImage(r *http.Request) (imageRequest, error) {
	query := a.imageQuery.decode(r.URL.RawQuery)
	req := imageRequest{id: pathValue(r, "image"), width: query.Width.V, version: query.Version}
	if w := query.Width; w.OK && (w.V < 1 || w.V > maxImageWidth) {
		query.Problems.Add("width", "%d is not valid; use a whole number from 1 to %d.", w.V, maxImageWidth)
	}
	if f, ok := labelart.ParseFormat(strings.TrimPrefix(path.Ext(req.id), ".")); ok {
		req.id, req.format = strings.TrimSuffix(req.id, path.Ext(req.id)), f
		return req, query.Problems.Err()
	}
	if requested := strings.TrimSpace(query.Format); requested != "" {
		var ok bool
		if req.format, ok = labelart.ParseFormat(requested); !ok {
			query.Problems.Add("format", "%s is not a supported format; use jpg, png or svg.",
				params.Quoted(query.Format))
		}
	}
	return req, query.Problems.Err()
}
