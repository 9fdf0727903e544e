package cola

import (
	"math"
	"time"
)

// Permittee is the stored record of a permit holder. Counts and latest dates are computed from the
// labels.
type Permittee struct {
	PermitNumber   string `json:"permit_number"`
	CompanyName    Text   `json:"company_name"`   // owner of the permit
	OperatingName  Text   `json:"operating_name"` // trade name, if different
	CompanyState   Text   `json:"company_state"`
	CompanyZipCode Text   `json:"company_zip_code"`
	PermitteeType  Text   `json:"permittee_type"`
	Listed         bool   `json:"-"` // the permit is on TTB's current list, not just on a label
}

// PermitteeSummary is a permittee as returned in lists.
type PermitteeSummary struct {
	PermitNumber            string `json:"permit_number" doc:"Permit number." example:"NJ-I-721"`
	CompanyName             Text   `json:"company_name" nullable:"true" doc:"Company that holds the permit." example:"NIEDERHOFF IMPORTS INC"`
	OperatingName           Text   `json:"operating_name" nullable:"true" doc:"Trade name, if any; searched like company_name." example:"NIEDERHOFF WINES"`
	CompanyState            Text   `json:"company_state" nullable:"true" doc:"State, two letters." example:"NJ"`
	CompanyZipCode          Text   `json:"company_zip_code" nullable:"true" doc:"ZIP code." example:"07927"`
	PermitteeType           Text   `json:"permittee_type" nullable:"true" doc:"Permit type." example:"Importer (Alcohol)"`
	IsActive                bool   `json:"is_active" doc:"Whether the permittee is on TTB's current list, or had a label approved in the last 365 days (known or estimated date)." example:"true"`
	ActiveReason            Text   `json:"active_reason" nullable:"true" doc:"Why is_active is true; null if it is false." example:"on TTB's list of permittees"`
	Colas                   int    `json:"colas" doc:"Number of labels." example:"5"`
	ColasApproved           int    `json:"colas_approved" doc:"Number of labels with status approved." example:"3"`
	LastColaApplicationDate Date   `json:"last_cola_application_date" nullable:"true" format:"date" doc:"Latest application date among the permittee's labels." example:"2025-04-10"`
}

// PermitteeDetail is the payload of GET /permittees/{permit_number}.
type PermitteeDetail struct {
	PermitteeSummary
	RecentColas []ColaSummary `json:"recent_colas" nullable:"false" maxItems:"10" doc:"The permittee's most recent labels, newest approval first; at most 10."`
}

// PermitteeParams are the parameters of GET /permittees and of the search_permittees tool, as sent.
type PermitteeParams struct {
	Decoded
	Q             string    `json:"q" doc:"Part of the company or trade name." maxLength:"200" example:"vineyards"`
	State         string    `json:"state" doc:"State: two-letter code or name." example:"CA"`
	PermitteeType string    `json:"permittee_type" doc:"Part of the permit type." maxLength:"200" example:"importer"`
	IsActive      Opt[bool] `json:"is_active" doc:"true: only active permittees; false: only inactive ones." example:"true"`
	Page          Opt[int]  `json:"page" minimum:"1" default:"1" doc:"Page number." example:"1"`
	PerPage       Opt[int]  `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records per page." example:"20"`
}

// PermitteeSearch is a normalized request for one page of permittees.
type PermitteeSearch struct {
	Name    string // part of the company or operating name, ignoring case
	State   string // upper case
	Type    string // part of the permittee type, ignoring case
	Active  Opt[bool]
	Today   Date // day for which is_active is computed
	Page    int
	PerPage int
}

// Normalize returns the search, or a validation Error that lists all problems. now determines which
// permittees are active. There is no page limit, but a page number must fit in 32 bits.
func (p PermitteeParams) Normalize(now time.Time) (PermitteeSearch, error) {
	problems := p.Decoded.problems()
	s := PermitteeSearch{
		Name:    problems.text("q", p.Q),
		State:   problems.State("state", p.State),
		Type:    problems.text("permittee_type", p.PermitteeType),
		Active:  p.IsActive,
		Today:   DateOf(now),
		Page:    problems.integer("page", p.Page, 1, 1, math.MaxInt32),
		PerPage: problems.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
	}
	if err := problems.Err(); err != nil {
		return PermitteeSearch{}, err
	}
	return s, nil
}
