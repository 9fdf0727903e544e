package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// sendFile sends the stored file of an image, or a rendition of it. If the v parameter is the
// current version of the file, caches may keep the response for a year. Otherwise they must
// revalidate it after an hour, because the image may change. Content-Location is the URL with the
// current v.
func (a *api) sendFile(w http.ResponseWriter, r *http.Request, req imageRequest, file registry.ImageFile) {
	tag, cacheControl := `"`+file.Tag(req.width)+`"`, revalidate
	if req.version == file.Version() {
		cacheControl = immutable
	}
	if etagMatches(ifNoneMatch(r), tag) {
		notModified(w, r, tag, cacheControl)
		return
	}
	content, err := a.files.get(r.Context(), tag, func() ([]byte, error) {
		return a.svc.ImageContent(context.WithoutCancel(r.Context()), file, req.width)
	})
	if err != nil {
		web.Fail(w, r, err)
		return
	}
	if len(content) > largeImage {
		if !a.largeImages.enter() {
			web.Fail(w, r, errTooManyImages())
			return
		}
		defer a.largeImages.leave()
	}
	notModified(w, r, tag, cacheControl)
	w.Header().Set("Content-Location", permanentPath(req, file))
	sendImage(w, http.DetectContentType(content), content)
}

// permanentPath returns the path of the file, with its version as v.
func permanentPath(req imageRequest, file registry.ImageFile) string {
	query := url.Values{"v": {file.Version()}}
	if req.width > 0 {
		query.Set("width", strconv.Itoa(req.width))
	}
	return "/images/" + url.PathEscape(req.id) + "?" + query.Encode()
}
