package cola

// Coverage is the payload of GET /coverage: how complete and current the registry's labels are.
type Coverage struct {
	DataAsOf Date `json:"data_as_of" nullable:"true" format:"date" doc:"Latest change in TTB's registry that the data includes; null if there are no labels." example:"2026-11-20"`
	CoverageCounts
	Undated       int            `json:"undated" doc:"Labels without a known or estimated approval date." example:"12"`
	Years         []YearCoverage `json:"years" nullable:"false" doc:"The same counts by year of approval, known or estimated, newest first. Undated labels are excluded."`
	EstimateError *EstimateError `json:"estimate_error,omitempty" doc:"Error in the date estimates, measured against known approval dates. Omitted if no label has both."`
	LastImports   []LastImport   `json:"last_imports" nullable:"false" doc:"The latest import of each kind of data."`
}

// CoverageCounts counts labels by their available data.
type CoverageCounts struct {
	Labels         int `json:"labels" doc:"Number of labels." example:"150000"`
	WithDetail     int `json:"with_detail" doc:"Labels with a known status. TTB's search export lacks it; detail pages and printable forms have it." example:"149000"`
	WithImages     int `json:"with_images" doc:"Labels with images." example:"148000"`
	WithBarcodes   int `json:"with_barcodes" doc:"Labels with a known barcode." example:"90000"`
	KnownDates     int `json:"known_dates" doc:"Labels with a known approval date." example:"149000"`
	EstimatedDates int `json:"estimated_dates" doc:"Labels with an estimated approval date." example:"988"`
}

// Add adds the counts of other labels.
func (n *CoverageCounts) Add(o CoverageCounts) {
	n.Labels += o.Labels
	n.WithDetail += o.WithDetail
	n.WithImages += o.WithImages
	n.WithBarcodes += o.WithBarcodes
	n.KnownDates += o.KnownDates
	n.EstimatedDates += o.EstimatedDates
}

// YearCoverage counts the labels from one year.
type YearCoverage struct {
	Year int `json:"year" doc:"Year of approval, known or estimated." example:"2026"`
	CoverageCounts
}

// EstimateError compares estimates with approval dates that became known later.
type EstimateError struct {
	Labels     int     `json:"labels" doc:"Labels with a known approval date and an estimate." example:"50"`
	MedianDays int     `json:"median_days" doc:"Median difference in days." example:"3"`
	Within25   float64 `json:"within_25_days" doc:"Share of labels with a difference of at most 25 days, from 0 to 1." example:"0.96"`
	WorstDays  int     `json:"worst_days" doc:"Largest difference in days." example:"115"`
}

// Import is a finished import of files into the registry.
type Import struct {
	Kind       string    `json:"kind" doc:"Kind of records." example:"colas"`
	StartedAt  Timestamp `json:"started_at" format:"date-time" doc:"When the import started." example:"2026-11-22T06:00:00Z"`
	FinishedAt Timestamp `json:"finished_at" format:"date-time" doc:"When the import finished." example:"2026-11-22T06:00:41Z"`
	Read       int       `json:"read" doc:"Rows read, including unchanged and rejected rows." example:"427"`
	Added      int       `json:"added" doc:"Rows that added a record." example:"425"`
	Changed    int       `json:"changed" doc:"Rows that changed a record." example:"1"`
	Unchanged  int       `json:"unchanged" doc:"Rows identical to the stored record." example:"0"`
	Rejected   int       `json:"rejected" doc:"Rows that were rejected." example:"1"`
	Failed     bool      `json:"failed" doc:"Whether the import ended before it had read everything." example:"false"`
}

// LastImport is the latest import of a kind.
type LastImport struct {
	Import
	SucceededAt Opt[Timestamp] `json:"succeeded_at" nullable:"true" format:"date-time" doc:"When the latest successful import finished; null before the first one." example:"2026-11-22T06:00:41Z"`
}
