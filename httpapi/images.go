package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/labelart"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// picture is an image format and its encoder.
type picture struct {
	name        string
	contentType string
	draw        func(io.Writer, *cola.Cola, *cola.Image) error
}

func asSVG() picture { return picture{"svg", "image/svg+xml", labelart.SVG} }
func asPNG() picture { return picture{"png", "image/png", labelart.PNG} }

// image serves one image of a demonstration label. The format is the extension's, else the one that ?format= names, else
// what Accept prefers, else SVG.
func (a *api) image(w http.ResponseWriter, r *http.Request) {
	id, format, err := a.pictureOf(r)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	if _, err := a.svc.LabelOfImage(id); err != nil { // before a place among those who read
		web.Fail(w, r, err)
		return
	}
	key := id + "." + format.name
	known, recent := a.tags.get(key)
	if recent && a.sendKept(w, r, known, format) {
		return
	}
	label, img, err := a.drawableImage(r.Context(), id)
	if cola.CodeOf(err) == cola.CodeUnavailable && known != "" && a.sendKept(w, r, known, format) {
		return // out of date perhaps, but better than none
	}
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	tag, err := a.pictureTag(&label, &img, format)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	a.tags.add(key, tag)
	if notModified(w, r, tag) {
		return
	}
	a.sendDrawing(w, r, tag, &label, &img, format)
}

// notModified sends the headers of every picture, and the rest if the client has the picture.
func notModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	h := w.Header()
	h.Set("Etag", tag)
	h.Add("Vary", "Accept")
	h.Set("Cache-Control", "public, max-age=3600")
	if tagMatches(ifNoneMatch(r), tag) {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	return false
}

// sendKept answers without the record, with a drawing that is kept. It reports false, and sends nothing, if it is not.
func (a *api) sendKept(w http.ResponseWriter, r *http.Request, tag string, p picture) bool {
	content, ok := a.drawings.find(tag)
	if ok && !notModified(w, r, tag) {
		sendPicture(w, p, content)
	}
	return ok
}

// drawableImage reads an image and its label. The route needs no credentials, so concurrency and rate
// of these reads are limited.
func (a *api) drawableImage(ctx context.Context, id string) (label cola.Cola, img cola.Image, err error) {
	err = a.imageReads.run(ctx, func() error {
		if err := a.imagePace.Wait(ctx); err != nil {
			return err
		}
		label, img, err = a.svc.DrawableImage(ctx, id)
		return err
	})
	if err == nil && !drawable(img) {
		err = cola.Errorf(cola.CodeNotFound, "The image %s cannot be drawn: each side must have 1 to %d pixels.", cola.Quoted(id), labelart.MaxSide)
	}
	return label, img, err
}

// drawable reports whether the size of an image is within limits.
func drawable(img cola.Image) bool {
	fits := func(side cola.Opt[int]) bool { return !side.OK || side.V >= 1 && side.V <= labelart.MaxSide }
	return fits(img.WidthPixels) && fits(img.HeightPixels)
}

// sendDrawing sends the drawing that tag identifies.
func (a *api) sendDrawing(w http.ResponseWriter, r *http.Request, tag string, label *cola.Cola, img *cola.Image, p picture) {
	content, err := a.drawings.get(r.Context(), tag, func() ([]byte, error) {
		var drawn bytes.Buffer
		err := p.draw(&drawn, label, img)
		return bytes.Clone(drawn.Bytes()), err // without spare capacity: it may be cached
	})
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	sendPicture(w, p, content)
}

func sendPicture(w http.ResponseWriter, p picture, content []byte) {
	h := w.Header()
	h.Set("Content-Type", p.contentType)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	w.Write(content)
}

// pictureTag returns the entity tag of a drawing, which the record and the program version determine.
func (a *api) pictureTag(label *cola.Cola, img *cola.Image, p picture) (string, error) {
	b, err := json.Marshal([]any{label, img, p.name, a.opts.Version})
	if err != nil {
		return "", err
	}
	return weakTag(b), nil
}

// imageParams are the query parameters of /images/{image}.
type imageParams struct {
	cola.Decoded
	Format string `json:"format" enum:"svg,png" doc:"Format of the picture, unless the path ends in one." example:"png"`
}

// pictureOf returns the requested image and its format.
func (a *api) pictureOf(r *http.Request) (id string, format picture, err error) {
	asked := a.imageQuery.decode(r.URL.RawQuery)
	id = pathValue(r, "image")
	extension := path.Ext(id)
	wanted := strings.TrimPrefix(extension, ".")
	switch extension {
	case ".svg", ".png":
		id = strings.TrimSuffix(id, extension)
	default:
		wanted = strings.ToLower(strings.TrimSpace(asked.Format))
	}
	switch wanted {
	case "":
		format = preferred(r.Header.Values("Accept"))
	case "svg":
		format = asSVG()
	case "png":
		format = asPNG()
	default:
		asked.Problems.Add("format", "%s is not a format; it is svg or png.", params.Quoted(asked.Format))
	}
	return id, format, asked.Problems.Err()
}

// preferred picks PNG when it is accepted and SVG is not, or is accepted with a higher weight.
func preferred(accept []string) picture {
	weight := func(contentType string) float64 {
		best, exact := 0.0, -1
		for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
			kind, rest, _ := strings.Cut(strings.TrimSpace(part), ";")
			specific := matchMedia(strings.TrimSpace(kind), contentType)
			if specific <= exact {
				continue
			}
			best, exact = quality(rest), specific
		}
		return best
	}
	if len(accept) > 0 && weight("image/png") > weight("image/svg+xml") {
		return asPNG()
	}
	return asSVG()
}

// matchMedia returns how exactly a media range matches a type: 2 by name, 1 by main type, 0 as */*, -1 not at all.
func matchMedia(mediaRange, contentType string) int {
	main, _, _ := strings.Cut(contentType, "/")
	switch strings.ToLower(mediaRange) {
	case contentType:
		return 2
	case main + "/*":
		return 1
	case "*/*":
		return 0
	}
	return -1
}

// quality returns the weight among the parameters of a media range; 1 if there is none.
func quality(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0
			}
			return q
		}
	}
	return 1
}
