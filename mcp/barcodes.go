package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// barcodeArgs are the arguments of lookup_barcode.
type barcodeArgs struct {
	cola.Decoded
	BarcodeValue string `json:"barcode_value" doc:"Barcode, with or without spaces and hyphens." example:"0 36000 29145 2"`
	formatArgs
}

// barcodeRecord is the result of lookup_barcode: a barcode with its labels as rows.
type barcodeRecord struct {
	cola.BarcodeResult
	Colas []cola.ColaRow `json:"colas" nullable:"false"`
}

func barcodeTools() []tool {
	return []tool{newTool(tool{
		name: "lookup_barcode", title: "Look up a barcode",
		description: "List the labels with a given barcode, in any status, newest first (up to 100). Searches all " +
			"barcodes read from label images; UPC-A, UPC-E, EAN-8 and EAN-13 forms of a number are " +
			"equivalent. To combine a barcode with other filters, use barcode_value in " +
			"search_colas. For one label's details, call get_cola.",
		cost: "1 list record per label returned.", meter: cola.MeterListRecords,
		required: []string{"barcode_value"},
		output:   outputSchema(false, reflect.TypeFor[barcodeRecord]()),
		notFound: "The barcode may have been misread. Try search_colas by brand or product name.",
		example:  `{"barcode_value":"0 36000 29145 2"}`,
	}, lookUpBarcode)}
}

func lookUpBarcode(
	ctx context.Context, svc Service, c cola.Caller, p barcodeArgs,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	if err := p.Problems.Err(); err != nil {
		state, err := svc.Refuse(ctx, c, err)
		return a, state, err
	}
	rows := newLabelLimiter(v, svc)
	found, state, err := svc.BarcodeLimited(ctx, c, p.BarcodeValue, rows.rowLimit())
	if err != nil {
		return a, state, err
	}
	rows.noteTruncation(&a, len(found.Colas), state)
	if len(found.Colas) < found.TotalColas {
		a.note("Showing %d of %d labels. To see others, combine barcode_value with other filters in search_colas.",
			len(found.Colas), found.TotalColas)
	}
	a.setData(v.append(nil, barcodeRecord{found, svc.Rows(found.Colas)}))
	return a, state, nil
}
