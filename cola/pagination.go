package cola

// Pagination is the position of a page of labels or permittees.
type Pagination struct {
	Mode    string `json:"mode" enum:"offset,cursor" doc:"cursor when a cursor was given, else offset." example:"offset"`
	Page    int    `json:"page" minimum:"1" doc:"This page's number." example:"1"`
	PerPage int    `json:"per_page" minimum:"1" maximum:"100" doc:"Records a page." example:"20"`
	Total   int    `json:"total" minimum:"0" doc:"Records that match, exact." example:"41"`
	Pages   int    `json:"pages" minimum:"0" doc:"Pages of this size that match." example:"3"`
	HasMore bool   `json:"has_more" doc:"Whether records follow this page." example:"true"`
	// TruncatedByQuota distinguishes a page cut by the quota from the last page.
	TruncatedByQuota bool   `json:"truncated_by_quota" doc:"Whether this page was cut because the month's list records are used up. Records follow: continue next month or on a larger plan." example:"false"`
	NextCursor       string `json:"next_cursor,omitempty" doc:"What to send as cursor for the records that follow; given whenever has_more, on lists that take a cursor." example:"AQAB"`
}

// Meta counts the rows of a reference list.
type Meta struct {
	Total int `json:"total" doc:"Rows that match." example:"1"`
}

// PageMeta counts the rows of a paginated reference list.
type PageMeta struct {
	Total   int  `json:"total" doc:"Rows that match, exact." example:"41"`
	Page    int  `json:"page" doc:"This page's number." example:"1"`
	PerPage int  `json:"per_page" doc:"Rows a page." example:"20"`
	HasMore bool `json:"has_more" doc:"Whether rows follow this page." example:"true"`
	// TruncatedByQuota distinguishes a page that the quota cut from one whose rows continue on the next page.
	TruncatedByQuota bool `json:"truncated_by_quota" doc:"Whether this page was cut because the month's list records are used up; always false on free lists. The next page would skip rows: request this page again next month or on a larger plan." example:"false"`
}

// DefaultsApplied reports that the default date window narrowed a search.
type DefaultsApplied struct {
	DateRange bool `json:"date_range" doc:"Whether the default date window is active." example:"true"`
	DateFrom  Date `json:"date_from" format:"date" doc:"First approval day searched." example:"2025-11-20"`
}
