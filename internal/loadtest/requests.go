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

// Request is one request and its possible results.
type Request struct {
	Path  string // below /api/v1, including the query string
	Meter cola.Meter
	Most  int // maximum cost in units of the meter
	Want  int // expected status, unless a limit or an outage applies
}

// Material lists records in the registry that requests can refer to.
type Material struct {
	IDs      []string // TTB IDs of labels
	Barcodes []string
	Permits  []string // permit numbers of permittees
}

// materialEach is the maximum number of records of each kind.
const materialEach = 5_000

// ReadMaterial reads material from the registry. It returns an error rather than empty material.
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
		err = fmt.Errorf("not enough data: %d labels, %d barcodes, %d permittees",
			len(m.IDs), len(m.Barcodes), len(m.Permits))
	}
	return m, err
}

// mostPerBarcode is the maximum number of labels that a barcode lookup returns.
const mostPerBarcode = 100

// words are search terms.
var words = []string{"oak", "river", "golden", "estate", "black", "stone", "valley", "red", "old", "cellars"}

// Draw returns a random request from the mix.
func (m Material) Draw(r *rand.Rand) Request {
	free := func(path string, want int) Request { return Request{Path: path, Want: want} }
	switch n := r.IntN(100); {
	case n < 34:
		return m.search(r)
	case n < 54:
		return one("/colas/" + pick(r, m.IDs))
	case n < 60:
		return one("/permittees/" + url.PathEscape(pick(r, m.Permits)))
	case n < 70:
		return Request{
			"/barcode/" + url.PathEscape(pick(r, m.Barcodes)), cola.MeterListRecords, mostPerBarcode, http.StatusOK,
		}
	case n < 79:
		rows := 1 + r.IntN(20)
		return Request{fmt.Sprintf("/permittees?per_page=%d", rows), cola.MeterListRecords, rows, http.StatusOK}
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

// search returns a label search. Some searches match fewer labels than fit on one page.
func (m Material) search(r *rand.Rand) Request {
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
	return Request{path, cola.MeterListRecords, rows, http.StatusOK}
}

// one returns a request for a single record.
func one(path string) Request { return Request{path, cola.MeterDetailViews, 1, http.StatusOK} }

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }
