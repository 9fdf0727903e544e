package dashboard

import (
	"net/http"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// exportPath serves the labels of a search as a CSV file.
const exportPath = explorePath + "/labels.csv"

// exportLink is a link to a search's CSV file, with its cost.
type exportLink struct {
	Labels, Total int // number in the file; number found
	Left          int // list records left
	Href          string
}

// newExportLink returns the link for a search that finds total labels. It returns nil if the search
// finds no labels, or if no list records are left.
func newExportLink(p cola.SearchParams, total int, quota cola.QuotaState) *exportLink {
	left := quota.ListRecordsRemaining()
	n := min(total, registry.MaxExport, left)
	if n == 0 {
		return nil
	}
	p.PerPage = cola.Opt[int]{}
	return &exportLink{Labels: n, Total: total, Left: left, Href: exportPath + "?" + params.Query(p).Encode()}
}

func exportPrice() price {
	return price{
		cola.MeterListRecords,
		"one list record per label in the file, up to " + web.Thousands(registry.MaxExport) +
			"; free if nothing matches", "Download CSV",
	}
}

// export sends a search's labels as CSV, in the format of the API.
func (req *request) export(reader *params.Reader[cola.SearchParams]) error {
	search := readQuery(reader, req.http.URL.RawQuery)
	if answered, err := req.guardCharge(exportPrice()); answered || err != nil {
		return err
	}
	found, state, err := req.svc.ExportColas(req.ctx(), req.caller, search.params)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	content, err := web.Table{Rows: req.svc.Rows(found.Colas)}.AppendCSV(nil)
	if err != nil {
		return err
	}
	h := req.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	h.Set("Content-Disposition", `attachment; filename="labels.csv"`)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("X-Total-Count", strconv.Itoa(found.Pagination.Total))
	if found.Pagination.TruncatedByQuota {
		h.Set("X-Truncated-By-Quota", "true")
	}
	req.w.WriteHeader(http.StatusOK)
	_, _ = req.w.Write(content) // the client may have disconnected
	return nil
}
