package sqlstore

import (
	"context"

	"github.com/colaregistry/colaregistry/store"
)

const (
	imageFileNames = `ttb_image_id, hash, content_type, width, height, bytes, fetched_at`
	saveImageFile  = `INSERT INTO image_files (` + imageFileNames + `) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (ttb_image_id) DO UPDATE SET hash = excluded.hash, content_type = excluded.content_type,
			width = excluded.width, height = excluded.height, bytes = excluded.bytes, fetched_at = excluded.fetched_at`
	selectImageFile = `SELECT ` + imageFileNames + ` FROM image_files WHERE ttb_image_id = $1`
)

// hasDrawnImages repeats the condition of the index cola_images_drawn, so that it reads only that.
const hasDrawnImages = `SELECT EXISTS (SELECT 1 FROM cola_images WHERE file_name IS NULL AND substr(image_url, 1, 8) = '/images/')`

func imageFileColumns(f *store.ImageFile) []any {
	return []any{
		&f.TTBImageID, (*store.KeyHash)(&f.Hash), &f.ContentType, &f.Width, &f.Height, &f.Bytes, &f.FetchedAt,
	}
}

// SaveImageFile implements store.ImageFiles.
func (s *Store) SaveImageFile(ctx context.Context, f store.ImageFile) error {
	return s.db.Transact(ctx, "save image file", func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, saveImageFile, imageFileColumns(&f)...)
		return err
	})
}

// ImageFile implements store.ImageFiles.
func (s *Store) ImageFile(ctx context.Context, id string) (store.ImageFile, error) {
	return readOne(ctx, s, "read image file", imageFileColumns, selectImageFile, id)
}

// HasDrawnImages implements store.ImageFiles.
func (s *Store) HasDrawnImages(ctx context.Context) (bool, error) {
	return readOne(ctx, s, "check for demo labels", column[bool], hasDrawnImages)
}
