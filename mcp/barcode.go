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
	formatted
}

func barcodeTools() []tool {
	return []tool{newTool(tool{
		name: "lookup_barcode", title: "Look up a barcode",
		description: "Every label that carries a barcode, among all the barcodes read from label images, newest approval first, at most 100. UPC-E, UPC-A, EAN-8 and EAN-13 of the same number are equal. " +
			"Use it when all you have is a barcode; to combine one with other filters use barcode_value of search_colas. Then: get_cola with a ttb_id.",
		cost: "one list record for each label returned; not found is free.", meter: cola.MeterListRecords,
		required: []string{"barcode_value"},
		output:   outputOf(false, besideSchema(chargedMember), reflect.TypeFor[cola.BarcodeResult]()),
		notFound: "The value may be misread; search_colas finds labels by brand or product.",
		example:  `{"barcode_value":"0 36000 29145 2"}`,
	}, lookUpBarcode)}
}

func lookUpBarcode(ctx context.Context, svc Service, c cola.Caller, p barcodeArgs) (a answer, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	if err := p.Problems.Err(); err != nil {
		state, err := svc.Refuse(ctx, c, err)
		return a, state, err
	}
	rows := rowFit[cola.ColaSummary]{view: v}
	found, state, err := svc.BarcodeFit(ctx, c, p.BarcodeValue, rows.asFit())
	if err != nil {
		return a, state, err
	}
	rows.noteCut(&a, len(found.Colas), state)
	if len(found.Colas) < found.TotalColas {
		a.note("These are %d of %d labels. Combine barcode_value with other filters in search_colas to reach the others.", len(found.Colas), found.TotalColas)
	}
	found.Colas = emptyRows(found.Colas)
	a.put(v.append(nil, found))
	return a, state, nil
}
