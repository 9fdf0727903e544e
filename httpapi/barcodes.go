package httpapi

import (
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

func barcodeOperations(svc Service) []operation {
	ask := func(r *http.Request, caller cola.Caller) (cola.BarcodeResult, cola.QuotaState, error) {
		return svc.Barcode(r.Context(), caller, pathValue(r, "barcode_value"))
	}
	render := func(b cola.BarcodeResult) result {
		return result{body: jsonBody(dataOf[cola.BarcodeResult]{b})}
	}
	return []operation{{
		ID: "lookUpBarcode", Path: "/barcode/{barcode_value}", Tag: tagColas, Summary: "Look up a barcode",
		Description: "Every label that carries a barcode, among all the barcodes read from its images. Digits are " +
			"compared as GTIN-14: UPC-E, UPC-A, EAN-8 and EAN-13 of the same number are equal, with or without " +
			"spaces and hyphens. " +
			"To combine a barcode with other filters use `barcode_value` of GET /colas.",
		PathParam: pathParam{Name: "barcode_value", Doc: "The barcode's value.", Example: "036000291452",
			Placeholder: true},
		Response: reflect.TypeFor[dataOf[cola.BarcodeResult]](),
		Example:  dataOf[cola.BarcodeResult]{exampleBarcode()},
		Meter:    cola.MeterListRecords, Cost: "One list record for each label returned. Not found is free.",
		call: bareCall(svc, ask, render),
	}}
}
