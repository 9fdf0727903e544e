package sqlite

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

const selectMainImages = `SELECT ttb_id, main_image_url FROM colas WHERE ttb_id IN (SELECT value FROM json_each(?)) AND main_image_url <> ''`

// MainImages implements store.Colas.
func (s *Store) MainImages(ctx context.Context, ids []cola.TTBID) (map[cola.TTBID]string, error) {
	const operation = "read main images"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	images := make(map[cola.TTBID]string, len(ids))
	rows, err := s.read.query(ctx, selectMainImages, idList(ids))
	_, err = collect(rows, err, func(row scanner) (struct{}, error) {
		var id cola.TTBID
		var url cola.Text
		err := row.Scan(target{&id}, target{&url})
		images[id] = string(url)
		return struct{}{}, err
	})
	if err != nil {
		return nil, failed(operation, err)
	}
	return images, nil
}
