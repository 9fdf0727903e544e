package httpapi

import (
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

func barcodeOperations(svc Service) []operation {
	fetch := func(r *http.Request, caller cola.Caller) (cola.BarcodeResult, cola.QuotaState, error) {
		return svc.Barcode(r.Context(), caller, pathValue(r, "barcode_value"))
	}
	render := func(b cola.BarcodeResult) result {
		return result{body: jsonBody(dataOf[cola.BarcodeResult]{b})}
	}
	return []operation{{
		ID: "lookUpBarcode", Path: "/barcode/{barcode_value}", Tag: tagColas, Summary: "Look up a barcode",
		Description: "Finds every label with this barcode, in any of its images. Digits are compared as GTIN-14: " +
			"UPC-E, UPC-A, EAN-8 and EAN-13 forms of the same number are equivalent. Spaces and hyphens are ignored. " +
			"To combine a barcode with other filters, use `barcode_value` in GET /colas.",
		PathParam: pathParam{
			Name:        "barcode_value",
			Doc:         "Value of the barcode.",
			Example:     "036000291452",
			Placeholder: true,
		},
		Response: reflect.TypeFor[dataOf[cola.BarcodeResult]](),
		Example:  dataOf[cola.BarcodeResult]{exampleBarcode()},
		Meter:    cola.MeterListRecords, Cost: "One list record per label returned. 404 responses are free.",
		call: bareCall(svc, fetch, render),
	}}
}
