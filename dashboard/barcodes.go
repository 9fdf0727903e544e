package dashboard

import (
	"maps"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// barcodeParams are the parameters for listing the labels with a barcode.
type barcodeParams struct {
	cola.Decoded
	Barcode string `json:"barcode_value" doc:"Barcode; spaces and hyphens are ignored." maxLength:"200"`
}

// barcodeList lists the labels with a barcode.
func barcodeList() list[barcodeParams] {
	return list[barcodeParams]{
		path: barcodeListPath, title: "Barcodes", one: "label", many: "labels", call: "/barcode", tool: "lookup_barcode",
		intro:  "Find labels by any barcode on their images, not only the main one. To search by company, go to Labels.",
		price:  &price{cola.MeterListRecords, "one list record per label shown, up to 100; free if nothing matches", "Search"},
		fields: []listField{{Name: "barcode_value", Label: "Barcode", Hint: "UPC or EAN; spaces and hyphens are ignored."}},
		columns: []listColumn{
			{Title: "Label"}, {Title: "Class/type"}, {Title: "Origin"}, {Title: "Status", Status: true}, {Title: "Approved"}, {Title: "TTB ID"},
		},
		find: func(req *request, p barcodeParams) (listRows, cola.QuotaState, error) {
			value, problems := strings.TrimSpace(p.Barcode), maps.Clone(p.Problems)
			if value == "" {
				problems.Add("barcode_value", "Enter a barcode.")
			}
			if err := problems.Err(); err != nil {
				return listRows{}, cola.QuotaState{}, err
			}
			found, state, err := req.svc.Barcode(req.ctx(), req.caller, value)
			return listRows{
				rows: rowsOf(found.Colas, labelCells), cut: found.TruncatedByQuota, path: "/barcode/" + url.PathEscape(value),
				pager: pager{Page: 1, Pages: 1, Total: found.TotalColas},
				more:  &facetLink{Label: "Search labels with this main barcode", Href: allHistory("barcode_value", value)},
			}, state, err
		},
	}
}

func labelCells(c *cola.ColaSummary) []listCell {
	approved := dayCell(c.ApprovalDate)
	if c.ApprovalDate == 0 && c.ApprovalDateEstimate != 0 {
		approved = listCell{Text: "≈ " + c.ApprovalDateEstimate.String()}
	}
	id := c.TTBID.String()
	return []listCell{
		textCell(strings.TrimSpace(c.BrandName + " " + string(c.ProductName))).to(explorePath + "/" + id), textCell(c.ClassName),
		textCell(c.OriginName), textCell(c.ApplicationStatus), approved, textCell(id),
	}
}
