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

// missingConditions maps each kind of missing data to the SQL condition for labels that lack it.
var missingConditions = map[store.Missing]string{
	store.MissingDetail:       `application_status IS NULL`,
	store.MissingApprovalDate: `approval_date IS NULL`,
	store.MissingImages:       `coalesce(image_count, 0) = 0`,
	store.MissingImageFiles: `EXISTS (SELECT 1 FROM cola_images
		WHERE cola_images.ttb_id = colas.ttb_id AND cola_images.image_url IS NULL)`,
	store.MissingDueImages: `EXISTS (SELECT 1 FROM cola_images
		WHERE cola_images.ttb_id = colas.ttb_id AND cola_images.image_url IS NULL) AND NOT ` + imagesPostponed("colas"),
	store.MissingBarcodes: `barcode_value IS NULL`,
}

// imagesPostponed returns the condition for rows of a table whose label has postponed images.
func imagesPostponed(table string) string {
	return `EXISTS (SELECT 1 FROM fetch_labels WHERE fetch_labels.ttb_id = ` + table + `.ttb_id AND fetch_labels.state = '` + store.FetchImages + `')`
}

// pageSize is how many rows eachID and FetchedImages read at a time.
const pageSize = 1000

// ColasMissing implements store.Colas. Each page continues after the last ID of the previous one,
// so that no read takes longer than one pass over the primary key.
func (s *Store) ColasMissing(ctx context.Context, missing store.Missing, yield func(cola.TTBID) error) error {
	const operation = "list incomplete labels"
	condition, ok := missingConditions[missing]
	if !ok {
		return s.db.Failed(operation, fmt.Errorf("%w: unknown kind of missing data %q", store.ErrMalformed, missing))
	}
	query := `SELECT ttb_id FROM colas WHERE ttb_id >= $1 AND ttb_id < $2 AND ` + condition + ` ORDER BY ttb_id DESC LIMIT $3`
	return s.eachID(ctx, operation, query, yield)
}

// eachID calls yield with every ID that a paged query returns. The query lists the IDs in [$1, $2),
// highest first, at most $3 at a time; args start at $4.
func (s *Store) eachID(ctx context.Context, operation, query string, yield func(cola.TTBID) error, args ...any) error {
	for _, century := range idsByReceipt {
		for first, end := century[0], century[1]; ; {
			page, err := readList(ctx, s, operation, column[cola.TTBID], query,
				append([]any{first, end, pageSize}, args...)...)
			if err != nil {
				return err
			}
			for _, id := range page {
				if err := yield(id); err != nil {
					return fmt.Errorf("%s: %w", operation, err)
				}
			}
			if len(page) < pageSize {
				break
			}
			end = int64(page[len(page)-1])
		}
	}
	return nil
}

// idsByReceipt lists ranges of IDs, latest receipt first. An ID starts with the last two digits of
// the year: 00 to 79 are in this century, 80 to 99 in the previous one.
var idsByReceipt = [][2]int64{{0, 80_000_000_000_000}, {80_000_000_000_000, 100_000_000_000_000}}
