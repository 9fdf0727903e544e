package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
)

// BaseStyle is the start of every style sheet: the palette and the rules that all pages share.
//
//go:embed base.css
var BaseStyle string

// serif is the font for headings; BaseStyle loads it from the style sheet's folder.
//
//go:embed newsreader.woff2
var serif []byte

// Assets are the files that pages load: style sheets, scripts, fonts and icons. Their URLs contain
// a hash of their content, so that browsers can cache them permanently.
type Assets struct {
	path    string
	files   map[string][]byte // by name
	version string
}

// LoadAssets reads the folder "assets". Its files are served below path, which ends with a slash.
// The named style sheet starts with BaseStyle, whose font is one of the assets. Style sheets and
// scripts are minified.
func LoadAssets(files fs.FS, path, sheet string) *Assets {
	a := &Assets{path: path, files: map[string][]byte{"newsreader.woff2": serif}}
	sum := sha256.New()
	sum.Write(serif)
	err := fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if d.Name() == sheet {
			content = append([]byte(BaseStyle), content...)
		}
		if err == nil {
			content, err = minified(d.Name(), content)
		}
		a.files[d.Name()] = content
		sum.Write(content)
		return err
	})
	if err != nil {
		panic(err) // unreachable: the assets are embedded, and tests load them
	}
	a.version = hex.EncodeToString(sum.Sum(nil)[:8])
	return a
}

// minified returns the content of a file without superfluous characters.
func minified(name string, content []byte) ([]byte, error) {
	var b bytes.Buffer
	m := minify.New()
	switch {
	case strings.HasSuffix(name, ".min.js"):
		return content, nil
	case strings.HasSuffix(name, ".js"):
		err := js.Minify(m, &b, bytes.NewReader(content), nil)
		return b.Bytes(), err
	case strings.HasSuffix(name, ".css"):
		err := css.Minify(m, &b, bytes.NewReader(content), nil)
		return b.Bytes(), err
	}
	return content, nil
}

// File returns the content of an asset, or nil.
func (a *Assets) File(name string) []byte { return a.files[name] }

// URL returns the URL of an asset.
func (a *Assets) URL(name string) string { return a.path + a.version + "/" + name }

// Pattern returns the route pattern for all assets.
func (a *Assets) Pattern() string { return a.path + "{version}/{name}" }

// Handler serves the current version of an asset, regardless of the version in the URL, so that
// pages loaded from a previous version keep working.
func (a *Assets) Handler(notFound http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := chi.URLParam(r, "name")
		content, ok := a.files[name]
		if !ok {
			notFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=60")
		if chi.URLParam(r, "version") == a.version {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	}
}
