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
