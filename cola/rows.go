package cola

// ColaRow is a label as assistants list it: a summary, and what distinguishes similar products.
type ColaRow struct {
	ColaSummary
	CompanyName Text         `json:"company_name" nullable:"true" doc:"Company that holds the permit." example:"NIEDERHOFF IMPORTS INC"`
	ABV         Opt[float64] `json:"abv" nullable:"true" doc:"Alcohol by volume, percent." example:"12.5"`
	VolumeML    Opt[float64] `json:"volume_ml" nullable:"true" doc:"Net contents in milliliters." example:"750"`
}
