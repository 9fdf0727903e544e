package dashboard

import "strconv"

// paged returns the rows of a list that the page which the address asks for has, and the pager to lead through it. A page that there is
// not is the first, or the last.
func paged[T any](v *visit, all []T, perPage int) ([]T, pager) {
	page, err := strconv.Atoi(v.query().Get("page"))
	if err != nil {
		page = 1
	}
	last := max(1, (len(all)+perPage-1)/perPage)
	page = min(max(page, 1), last)
	rows := all[(page-1)*perPage : min(page*perPage, len(all))]
	return rows, pageAt(v.r.URL, page, perPage, len(all), len(rows))
}
