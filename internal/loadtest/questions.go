package loadtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Question is one request and what may come of it.
type Question struct {
	Path  string // below /api/v1, with its query
	Meter cola.Meter
	Most  int // units of the meter that it can cost
	Want  int // status of its answer, unless it is refused for the quota or the state of the service
}

// Material is what is in the registry, to ask for.
type Material struct {
	IDs      []string // of labels
	Barcodes []string
	Permits  []string // of permittees
}

// materialEach bounds how many of a kind are kept.
const materialEach = 5_000

// ReadMaterial reads what there is to ask for, which is never empty.
func ReadMaterial(ctx context.Context, st store.Changes) (m Material, err error) {
	_, err = st.ColasSince(ctx, 0, func(r *cola.IndexRecord) error {
		if len(m.IDs) < materialEach {
			m.IDs = append(m.IDs, r.Summary.TTBID.String())
		}
		if r.MainBarcode != "" && len(m.Barcodes) < materialEach {
			m.Barcodes = append(m.Barcodes, string(r.MainBarcode))
		}
		return nil
	})
	if err != nil {
		return m, err
	}
	_, err = st.PermitteesSince(ctx, 0, func(p *cola.Permittee) error {
		if len(m.Permits) < materialEach {
			m.Permits = append(m.Permits, string(p.PermitNumber))
		}
		return nil
	})
	if err == nil && (len(m.IDs) == 0 || len(m.Barcodes) == 0 || len(m.Permits) == 0) {
		err = fmt.Errorf("the registry has %d labels, %d barcodes and %d permittees: too few to ask for", len(m.IDs), len(m.Barcodes), len(m.Permits))
	}
	return m, err
}

// mostPerBarcode is how many labels a barcode lookup returns at most.
const mostPerBarcode = 100

// words are looked for in labels.
var words = []string{"oak", "river", "golden", "estate", "black", "stone", "valley", "red", "old", "cellars"}

// Draw returns a question of the mix.
func (m Material) Draw(r *rand.Rand) Question {
	free := func(path string, want int) Question { return Question{Path: path, Want: want} }
	switch n := r.IntN(100); {
	case n < 34:
		return m.search(r)
	case n < 54:
		return one("/colas/" + pick(r, m.IDs))
	case n < 60:
		return one("/permittees/" + url.PathEscape(pick(r, m.Permits)))
	case n < 70:
		return Question{"/barcode/" + url.PathEscape(pick(r, m.Barcodes)), cola.MeterListRecords, mostPerBarcode, http.StatusOK}
	case n < 79:
		rows := 1 + r.IntN(20)
		return Question{fmt.Sprintf("/permittees?per_page=%d", rows), cola.MeterListRecords, rows, http.StatusOK}
	case n < 85:
		return free("/usage", http.StatusOK)
	case n < 88:
		return free("/avas", http.StatusOK)
	case n < 92:
		return free("/colas/99999999999999", http.StatusNotFound)
	case n < 94:
		return free("/no/such/path", http.StatusNotFound)
	}
	return free("/colas?per_page=1000", http.StatusBadRequest)
}

// search returns a search of labels, of which some find less than a page.
func (m Material) search(r *rand.Rand) Question {
	rows := 1 + r.IntN(40)
	path := fmt.Sprintf("/colas?approval_date_from=2005-01-01&per_page=%d", rows)
	switch r.IntN(4) {
	case 0:
		path += "&q=" + pick(r, words)
	case 1:
		path += "&brand_name=" + pick(r, words)
	case 2:
		path += "&product_type=wine&q=" + pick(r, words)
	}
	return Question{path, cola.MeterListRecords, rows, http.StatusOK}
}

// one returns the question for a single record.
func one(path string) Question { return Question{path, cola.MeterDetailViews, 1, http.StatusOK} }

func pick(r *rand.Rand, of []string) string { return of[r.IntN(len(of))] }
