package postgres

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

const selectMainImages = `SELECT ttb_id, main_image_url FROM colas WHERE ttb_id = ANY($1) AND main_image_url <> ''`

// MainImages implements store.Colas.
func (s *Store) MainImages(ctx context.Context, ids []cola.TTBID) (map[cola.TTBID]string, error) {
	type image struct {
		id  cola.TTBID
		url cola.Text
	}
	images := make(map[cola.TTBID]string, len(ids))
	err := s.read(ctx, "read main images", func() error {
		rows, err := s.general.Query(ctx, selectMainImages, ids)
		list, err := collect(rows, err, func(m *image) fields { return fields{&m.id, &m.url} })
		for _, m := range list {
			images[m.id] = string(m.url)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return images, nil
}
