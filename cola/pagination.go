package cola

// Pagination describes the position of a page in a list of labels or permittees.
type Pagination struct {
	Mode    string `json:"mode" enum:"offset,cursor" doc:"cursor if the request had a cursor, otherwise offset." example:"offset"`
	Page    int    `json:"page" minimum:"1" doc:"Page number." example:"1"`
	PerPage int    `json:"per_page" minimum:"1" maximum:"100" doc:"Records per page." example:"20"`
	Total   int    `json:"total" minimum:"0" doc:"Exact number of matching records." example:"41"`
	Pages   int    `json:"pages" minimum:"0" doc:"Number of pages of this size." example:"3"`
	HasMore bool   `json:"has_more" doc:"Whether more records follow." example:"true"`
	// TruncatedByQuota distinguishes a page truncated by the quota from the last page.
	TruncatedByQuota bool   `json:"truncated_by_quota" doc:"Whether this page was truncated because the monthly quota of list records is used up. To continue, wait until next month or upgrade to a larger plan." example:"false"`
	NextCursor       string `json:"next_cursor,omitempty" doc:"cursor for the next page; present if has_more is true and the list supports cursors." example:"AQAB"`
}

// Meta counts the rows of a reference list.
type Meta struct {
	Total int `json:"total" doc:"Number of matching rows." example:"1"`
}

// PageMeta counts the rows of a paginated reference list.
type PageMeta struct {
	Total   int  `json:"total" doc:"Exact number of matching rows." example:"41"`
	Page    int  `json:"page" doc:"Page number." example:"1"`
	PerPage int  `json:"per_page" doc:"Rows per page." example:"20"`
	HasMore bool `json:"has_more" doc:"Whether more rows follow." example:"true"`
	// TruncatedByQuota distinguishes a page truncated by the quota from a full page.
	TruncatedByQuota bool `json:"truncated_by_quota" doc:"Whether this page was truncated because the monthly quota of list records is used up. The next page would skip rows: request this page again next month or after upgrading. Always false on free lists." example:"false"`
}

// DefaultsApplied reports that the default date window narrowed a search.
type DefaultsApplied struct {
	DateRange bool `json:"date_range" doc:"Whether the default date window is active." example:"true"`
	DateFrom  Date `json:"date_from" format:"date" doc:"First approval date searched." example:"2025-11-20"`
}
