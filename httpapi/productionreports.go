package httpapi

import (
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

func productionReportOperations(svc Service) []operation {
	type row = cola.ProductionReport
	return []operation{{
		ID: "listProductionReports", Path: "/production-reports", Tag: tagReference, Summary: "Production reports",
		Description: "Rows of TTB's statistical production reports, newest first. A figure that TTB withheld has `is_redacted` true and `value` null.",
		Params:      reflect.TypeFor[cola.ProductionReportParams](),
		Sample:      "commodity=beer&year=2019&month=3&per_page=1",
		Response:    reflect.TypeFor[pageOf[row]](),
		Example:     exampleReports(),
		Cost:        free,
		call:        list(svc.ProductionReports, page),
	}}
}
