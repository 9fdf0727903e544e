package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"time"

	"github.com/go-chi/chi/v5"
)

// BaseStyle is the start of every style sheet: the palette and the rules that all pages share.
//
//go:embed base.css
var BaseStyle string

// serif is the font of headings, which BaseStyle loads from the folder of the style sheet.
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

var (
	// scriptFiller matches a line with only a comment in a script, or the indentation of another
	// line. A test checks that no template literal spans lines.
	scriptFiller = regexp.MustCompile(`(?m)^ *//.*\n|^ +`)
	// styleFiller matches a comment in a style sheet, or the indentation of a line.
	styleFiller = regexp.MustCompile(`(?m) ?/\*[^*]*\*/|^ +`)
)

// LoadAssets reads the folder "assets". Its files are served below path, which ends with a slash.
// The named style sheet starts with BaseStyle, whose font is one of the assets. Style sheets are
// served without comments and indentation, and scripts without indentation and comment lines, which
// are over a tenth of their size.
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
		switch filepath.Ext(name) {
		case ".css":
			content = styleFiller.ReplaceAll(content, nil)
		case ".js":
			content = scriptFiller.ReplaceAll(content, nil)
		}
		a.files[d.Name()] = content
		sum.Write(content)
		return err
	})
	if err != nil {
		panic(err) // unreachable: the assets are embedded
	}
	a.version = hex.EncodeToString(sum.Sum(nil)[:8])
	return a
}

// File returns the content of an asset, or nil.
func (a *Assets) File(name string) []byte { return a.files[name] }

// URL returns the URL of an asset.
func (a *Assets) URL(name string) string { return a.path + a.version + "/" + name }

// Pattern returns the route of all assets.
func (a *Assets) Pattern() string { return a.path + "{version}/{name}" }

// Handler serves the current file of an asset, whatever the version in the URL, so that pages
// loaded from a previous version keep working.
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
