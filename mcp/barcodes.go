package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// barcodeArgs are the arguments of lookup_barcode.
type barcodeArgs struct {
	cola.Decoded
	BarcodeValue string `json:"barcode_value" doc:"The barcode's value, with or without spaces and hyphens." example:"0 36000 29145 2"`
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
		description: "Returns every label with a barcode, in any status, newest approval first, at most 100. It " +
			"looks among all barcodes read from label images; " +
			"UPC-E, UPC-A, EAN-8 and EAN-13 forms of one number are equal. " +
			"Use it when all you have is a barcode; to combine it with other filters use barcode_value of " +
			"search_colas. Then: get_cola with a ttb_id.",
		cost: "one list record per label returned; not found is free.", meter: cola.MeterListRecords,
		required: []string{"barcode_value"},
		output:   outputSchema(false, extraSchemas(chargedMember), reflect.TypeFor[barcodeRecord]()),
		notFound: "The value may be misread; search_colas finds labels by brand or product.",
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
	found, state, err := svc.BarcodeLimited(ctx, c, p.BarcodeValue, rows.registryFit())
	if err != nil {
		return a, state, err
	}
	rows.noteTruncation(&a, len(found.Colas), state)
	if len(found.Colas) < found.TotalColas {
		a.note("These are %d of %d labels. For the others, combine barcode_value with other filters in search_colas.",
			len(found.Colas), found.TotalColas)
	}
	a.setData(v.append(nil, barcodeRecord{found, svc.Rows(found.Colas)}))
	return a, state, nil
}
