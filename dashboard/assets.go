package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files that pages load: the style sheet, the scripts and the icon. Their address has their content's hash, so that browsers may keep
// them for good.
type assets struct {
	files   map[string][]byte
	version string
}

func loadAssets() *assets {
	a := &assets{files: map[string][]byte{}}
	sum := sha256.New()
	err := fs.WalkDir(assetFiles, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := assetFiles.ReadFile(name)
		a.files[d.Name()] = content
		sum.Write(content)
		return err
	})
	if err != nil {
		panic(err) // they are part of the program
	}
	a.version = hex.EncodeToString(sum.Sum(nil)[:8])
	return a
}

// URL returns the address of a file.
func (a *assets) URL(name string) string { return assetsPath + a.version + "/" + name }

// serve answers with a file, of whichever version: a page of the version before, still open, gets the file of this one.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	content, ok := a.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=60")
	if chi.URLParam(r, "version") == a.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}
