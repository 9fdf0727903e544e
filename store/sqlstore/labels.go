package sqlstore

import (
	"context"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	selectMainImages = `SELECT ttb_id, main_image_url FROM colas WHERE ttb_id = ANY($1) AND main_image_url <> ''`
	hasRevision      = `SELECT EXISTS (SELECT 1 FROM revisions WHERE revision = $1)`
)

var resubmissions = fmt.Sprintf(`SELECT ttb_id FROM colas WHERE for_resubmission_ttb_id = $1 ORDER BY ttb_id LIMIT %d`,
	store.MaxResubmissions)

// MainImages implements store.Colas.
func (s *Store) MainImages(ctx context.Context, ids []cola.TTBID) (map[cola.TTBID]string, error) {
	type image struct {
		id  cola.TTBID
		url cola.Text
	}
	found, err := readList(ctx, s, "read main images",
		func(m *image) []any { return []any{&m.id, &m.url} }, selectMainImages, bigints(ids))
	if err != nil {
		return nil, err
	}
	images := make(map[cola.TTBID]string, len(found))
	for _, m := range found {
		images[m.id] = string(m.url)
	}
	return images, nil
}

// bigints converts IDs to an argument.
func bigints(ids []cola.TTBID) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
}

// Resubmissions implements store.Colas.
func (s *Store) Resubmissions(ctx context.Context, id cola.TTBID) ([]cola.TTBID, error) {
	return readList(ctx, s, "read resubmissions", column[cola.TTBID], resubmissions, int64(id))
}

// HasColas implements store.Colas.
func (s *Store) HasColas(ctx context.Context) (bool, error) {
	return readOne(ctx, s, "check for labels", column[bool], `SELECT EXISTS (SELECT 1 FROM colas)`)
}

// HasRevision implements store.Changes.
func (s *Store) HasRevision(ctx context.Context, rev cola.Revision) (bool, error) {
	has, err := readOne(ctx, s, "look up revision", column[bool], hasRevision, int64(rev))
	return has || rev == 0, err
}
