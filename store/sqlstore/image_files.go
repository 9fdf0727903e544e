package sqlstore

import (
	"context"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	imageFileNames = `ttb_image_id, hash, content_type, width, height, bytes, fetched_at`
	saveImageFile  = `INSERT INTO image_files (` + imageFileNames + `) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (ttb_image_id) DO UPDATE SET hash = excluded.hash, content_type = excluded.content_type,
			width = excluded.width, height = excluded.height, bytes = excluded.bytes, fetched_at = excluded.fetched_at`
	selectImageFile = `SELECT ` + imageFileNames + ` FROM image_files WHERE ttb_image_id = $1`
)

var fetchedImages = `SELECT i.ttb_id, i.position, f.hash FROM cola_images i LEFT JOIN image_files f ON f.ttb_image_id = i.ttb_image_id
	WHERE i.ttb_id >= $1 AND (i.ttb_id, i.position) < ($2, $3) AND i.image_url = '/images/' || i.ttb_image_id AND NOT ` + imagesPostponed("i") + `
	ORDER BY i.ttb_id DESC, i.position DESC LIMIT $4`

// hasDrawnImages repeats the condition of the cola_images_drawn index, so that it reads only that
// index.
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

// FetchedImages implements store.ImageFiles. It reads pages of images, as ColasMissing does.
func (s *Store) FetchedImages(ctx context.Context, yield func(store.FetchedImage) error) error {
	const operation = "list fetched images"
	type image struct {
		id       cola.TTBID
		position int
		hash     []byte // NULL if no file is recorded
	}
	columns := func(i *image) []any { return []any{&i.id, &i.position, &i.hash} }
	for _, century := range idsByReceipt {
		for first, end, position := century[0], century[1], 0; ; {
			page, err := readList(ctx, s, operation, columns, fetchedImages, first, end, position, pageSize)
			if err != nil {
				return err
			}
			for _, i := range page {
				fetched := store.FetchedImage{TTBID: i.id}
				copy(fetched.Hash[:], i.hash)
				if err := yield(fetched); err != nil {
					return fmt.Errorf("%s: %w", operation, err)
				}
			}
			if len(page) < pageSize {
				break
			}
			last := page[len(page)-1]
			end, position = int64(last.id), last.position
		}
	}
	return nil
}
