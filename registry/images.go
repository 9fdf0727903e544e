package registry

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
)

// LabelOfImage returns the ID of the label that an image belongs to, without reading the database.
// It fails with CodeNotFound if imageID is not a TTB ID, a hyphen and a number, or if the index is
// built and does not have the label.
func (s *Service) LabelOfImage(imageID string) (cola.TTBID, error) {
	number, suffix, _ := strings.Cut(imageID, "-")
	id, ok := cola.ParseTTBID(number)
	ok = ok && isImageNumber(suffix)
	if ok && s.ready.Load() {
		_, ok = s.index.View().Label(id)
	}
	if !ok {
		return 0, imageNotFound(imageID)
	}
	return id, nil
}

// isImageNumber reports whether s can be the number in an image ID. It allows at most three digits,
// so that a cache can answer most requests for missing images.
func isImageNumber(s string) bool {
	return 0 < len(s) && len(s) <= 3 && strings.Trim(s, "0123456789") == ""
}

func imageNotFound(id string) error {
	return cola.Errorf(cola.CodeNotFound, "No image has the ID %s.", cola.Quoted(id))
}

// DrawableImage returns an image that this server draws at /images/{imageID}, and its label; only
// demo labels have such images. It requires no authentication, so it does not read the database for
// an ID that LabelOfImage rejects.
func (s *Service) DrawableImage(ctx context.Context, imageID string) (cola.Cola, cola.Image, error) {
	id, err := s.LabelOfImage(imageID)
	if err != nil {
		return cola.Cola{}, cola.Image{}, err
	}
	label, err := s.label(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return cola.Cola{}, cola.Image{}, imageNotFound(imageID)
	}
	if err != nil {
		return cola.Cola{}, cola.Image{}, storeError(err, "read COLA "+id.String()+" of an image")
	}
	for _, image := range label.Images {
		if image.TTBImageID == imageID && strings.HasPrefix(string(image.ImageURL), imagesPath) {
			return label, image, nil
		}
	}
	return cola.Cola{}, cola.Image{}, imageNotFound(imageID)
}

// ImageStore reads the files of label images; *images.Store implements it.
type ImageStore interface {
	Read(ctx context.Context, c store.ImageContent, v images.Variant) ([]byte, error)
}

// ImageFile is the stored file of a label image.
type ImageFile store.ImageContent

// Version identifies the content of the file.
func (f ImageFile) Version() string { return hex.EncodeToString(f.Hash[:8]) }

// Tag identifies the bytes that ImageContent returns for a display width.
func (f ImageFile) Tag(width int) string {
	c := store.ImageContent(f)
	return images.Tag(c, images.VariantOf(c, width))
}

// ImageFile returns the file of an image, without its content. It fails with CodeNotFound if no
// file is stored. Like DrawableImage, it requires no authentication.
func (s *Service) ImageFile(ctx context.Context, imageID string) (ImageFile, error) {
	if _, err := s.LabelOfImage(imageID); err != nil {
		return ImageFile{}, err
	}
	var file store.ImageFile
	err := withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		file, err = s.store.ImageFile(ctx, imageID)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return ImageFile{}, imageNotFound(imageID)
	}
	if err != nil {
		return ImageFile{}, storeError(err, "read file of image "+imageID)
	}
	return ImageFile(file.ImageContent), nil
}

// imageTimeout is the time limit for reading or rendering a file.
const imageTimeout = 20 * time.Second

// ImageContent returns the content of a file for a display width in pixels: the narrowest rendition
// that is at least as wide, or the image itself if it is no wider than that rendition. Zero means
// the image itself. It fails with CodeUnavailable if the image store is missing or doesn't respond
// in time, and with CodeNotFound if the file is in a format that browsers can't display and that
// can't be converted.
func (s *Service) ImageContent(ctx context.Context, f ImageFile, width int) ([]byte, error) {
	if s.images == nil {
		return nil, cola.Unavailable() // the image folder couldn't be opened; see the log
	}
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	c := store.ImageContent(f)
	content, err := s.images.Read(ctx, c, images.VariantOf(c, width))
	switch {
	case errors.As(err, new(*images.FormatError)):
		s.log.Warn("could not render label image", "version", f.Version(), "type", f.ContentType, "error", err)
		return nil, cola.Errorf(cola.CodeNotFound, "This %s image can't be shown.", f.ContentType)
	case err != nil && ctx.Err() != nil:
		return nil, cola.Unavailable()
	case err != nil:
		return nil, fmt.Errorf("read image content: %w", err)
	}
	return content, nil
}
