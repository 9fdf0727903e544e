package httpapi

import (
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

func processingTimeOperations(svc Service) []operation {
	return []operation{
		{
			ID: "listProcessingTimes", Path: "/processing-times", Tag: tagReference, Summary: "List COLA processing times",
			Description: "How long label applications take, newest snapshot first.",
			Params:      reflect.TypeFor[cola.ProcessingTimeParams](),
			Sample:      "commodity=wine&latest=true",
			Response:    reflect.TypeFor[rowsOf[cola.ProcessingTime]](),
			Rows:        reflect.TypeFor[cola.ProcessingTime](),
			Cost:        free,
			call:        listCall(svc.ProcessingTimes, rows[cola.ProcessingTime]),
		},
		{
			ID: "listFormulaProcessingTimes", Path: "/processing-times/formula", Tag: tagReference,
			Summary:     "List formula processing times",
			Description: "How long formula applications take, newest snapshot first.",
			Params:      reflect.TypeFor[cola.FormulaProcessingTimeParams](),
			Sample:      "formula_type=formula+approval&latest=true",
			Response:    reflect.TypeFor[rowsOf[cola.FormulaProcessingTime]](),
			Rows:        reflect.TypeFor[cola.FormulaProcessingTime](),
			Cost:        free,
			call:        listCall(svc.FormulaProcessingTimes, rows[cola.FormulaProcessingTime]),
		},
		{
			ID: "listRegistrationProcessingTimes", Path: "/processing-times/registration", Tag: tagReference,
			Summary:     "List registration processing times",
			Description: "How long original permit applications take, newest month first.",
			Params:      reflect.TypeFor[cola.RegistrationProcessingTimeParams](),
			Sample:      "application_type=brewery&latest=true",
			Response:    reflect.TypeFor[rowsOf[cola.RegistrationProcessingTime]](),
			Rows:        reflect.TypeFor[cola.RegistrationProcessingTime](),
			Cost:        free,
			call:        listCall(svc.RegistrationProcessingTimes, rows[cola.RegistrationProcessingTime]),
		},
	}
}

func productionReportOperations(svc Service) []operation {
	type row = cola.ProductionReport
	return []operation{{
		ID: "listProductionReports", Path: "/production-reports", Tag: tagReference, Summary: "List production reports",
		Description: "Rows of TTB's statistical production reports, newest first. If TTB withheld a figure, " +
			"`is_redacted` is true and `value` is null.",
		Params:   reflect.TypeFor[cola.ProductionReportParams](),
		Sample:   "commodity=beer&year=2019&month=3&per_page=1",
		Response: reflect.TypeFor[pageOf[row]](),
		Rows:     reflect.TypeFor[row](),
		Example:  exampleReports(),
		Cost:     free,
		call:     listCall(svc.ProductionReports, page),
	}}
}
