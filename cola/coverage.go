package cola

// Import is a finished import of files into the registry.
type Import struct {
	Kind       string    `json:"kind" doc:"Kind of records." example:"colas"`
	StartedAt  Timestamp `json:"started_at" format:"date-time" doc:"When the import started." example:"2026-11-22T06:00:00Z"`
	FinishedAt Timestamp `json:"finished_at" format:"date-time" doc:"When the import finished." example:"2026-11-22T06:00:41Z"`
	Read       int       `json:"read" doc:"Rows read: the sum of the other four." example:"427"`
	Added      int       `json:"added" doc:"Rows that added a record." example:"425"`
	Changed    int       `json:"changed" doc:"Rows that changed a record." example:"1"`
	Unchanged  int       `json:"unchanged" doc:"Rows equal to the stored record." example:"0"`
	Refused    int       `json:"refused" doc:"Rows that were rejected." example:"1"`
	Failed     bool      `json:"failed" doc:"Whether the import ended before it had read everything." example:"false"`
}

// LastImport is the latest import of a kind.
type LastImport struct {
	Import
	SucceededAt Opt[Timestamp] `json:"succeeded_at" nullable:"true" format:"date-time" doc:"When the latest import that did not fail finished; null if none is known." example:"2026-11-22T06:00:41Z"`
}
