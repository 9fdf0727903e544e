package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// ImageFiles records which file belongs to which label image. Package store/images stores the
// files.
type ImageFiles interface {
	// SaveImageFile records the file of an image, replacing any earlier file of that image.
	SaveImageFile(ctx context.Context, f ImageFile) error
	// ImageFile returns the file of the image with the given ttb_image_id, or ErrNotFound.
	ImageFile(ctx context.Context, id string) (ImageFile, error)
	// FetchedImages calls yield with every label image whose URL names a file on this server,
	// latest label first. It omits labels whose images are postponed.
	FetchedImages(ctx context.Context, yield func(FetchedImage) error) error
	// HasDrawnImages reports whether any label has images that the server draws: only demo labels do.
	HasDrawnImages(ctx context.Context) (bool, error)
}

// ImageFile is the file of a label image.
type ImageFile struct {
	TTBImageID string
	ImageContent
	FetchedAt time.Time
}

// FetchedImage is a label image that was fetched, according to its URL.
type FetchedImage struct {
	TTBID cola.TTBID
	// Hash is the SHA-256 of the image's file, or zero if no file is recorded, for example because
	// the label was copied from another registry.
	Hash [32]byte
}

// ImageContent identifies and describes the content of an image file. Images with the same content
// share a file.
type ImageContent struct {
	Hash        [32]byte // SHA-256
	ContentType string   // such as image/jpeg
	Width       int      // pixels
	Height      int
	Bytes       int
}
