package httpapi

import (
	"bytes"
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

// picture is a format that label images are drawn in.
type picture struct {
	name        string
	contentType string
	draw        func(io.Writer, *cola.Cola, *cola.Image) error
}

func asSVG() picture { return picture{"svg", "image/svg+xml", labelart.SVG} }
func asPNG() picture { return picture{"png", "image/png", labelart.PNG} }

// image draws one image of a demonstration label. The format is the extension's, else the one that ?format= names, else
// what Accept prefers, else SVG.
func (a *api) image(w http.ResponseWriter, r *http.Request) {
	id, format, err := a.pictureOf(r)
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	label, img, err := a.svc.DrawableImage(r.Context(), id)
	if err == nil && !drawable(img) {
		err = cola.Errorf(cola.CodeNotFound, "The image %s is not drawn here: its size is not from 1 to %d pixels a side.", cola.Quoted(id), labelart.MaxSide)
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
	h := w.Header()
	h.Set("Etag", tag)
	h.Add("Vary", "Accept")
	h.Set("Cache-Control", "public, max-age=3600")
	if tagMatches(ifNoneMatch(r), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	a.drawTo(w, r, &label, &img, format)
}

// drawable tells whether the size that a record states can be drawn. One that cannot is a fault of the record.
func drawable(img cola.Image) bool {
	fits := func(side cola.Opt[int]) bool { return !side.OK || side.V >= 1 && side.V <= labelart.MaxSide }
	return fits(img.WidthPixels) && fits(img.HeightPixels)
}

// drawTo draws when its turn has come. Drawing takes a processor for a while and needs no key, so only so many are drawn
// at one time; the others wait as long as the request may take.
func (a *api) drawTo(w http.ResponseWriter, r *http.Request, label *cola.Cola, img *cola.Image, p picture) {
	select {
	case a.drawings <- struct{}{}:
		defer func() { <-a.drawings }()
	case <-r.Context().Done():
		web.Fail(w, r, r.Context().Err())
		return
	}
	var drawn bytes.Buffer
	if err := p.draw(&drawn, label, img); err != nil {
		web.Fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", p.contentType)
	h.Set("Content-Length", strconv.Itoa(drawn.Len()))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	w.Write(drawn.Bytes())
}

// pictureTag is known without drawing: the drawing follows from the record and the program.
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

// pictureOf tells which image a request wants and in which format.
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

// matchMedia tells how exactly a media range names a type: 2 by name, 1 by its main type, 0 as anything, -1 not at all.
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

// quality reads the weight among a media range's parameters; 1 when it has none.
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
