package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
)

// price is the cost of opening a page.
type price struct {
	Words string // the cost in words
	Open  string // text of the link that opens the page
}

func searchPrice() price {
	return price{"one list record for each label shown, 20 at most; no results are free", "Make the search"}
}

func explanationPrice() price {
	return price{"one list record; free if the label does not exist", "Open the page"}
}

func runPrice() price {
	return price{"one list record for each label shown, 20 at most", "Show the labels"}
}

func recordPrice() price {
	return price{"one detail view; free if the record does not exist", "Open the page"}
}

// askedFirst is a charged page that another site linked to.
type askedFirst struct {
	price
	To, Shown string // its address, in full and as displayed
	Quota     cola.QuotaState
}

// beforeCharge answers requests for a charged page that must not be charged, and reports whether it
// did. It runs before any lookup, and no header makes the page itself free:
//
//   - HEAD is answered without a lookup, because lookups are charged. Its status is 200, because many
//     clients follow a 405 with a GET.
//   - Prefetching and embedding get a 403.
//   - A link from another site, including a sibling domain, leads to a confirmation page. Otherwise
//     any website could spend the quota of a signed-in visitor.
//
// Requests without these headers are charged.
func (v *visit) beforeCharge(p price) (answered bool, err error) {
	h := v.r.Header
	if v.r.Method == http.MethodHead {
		v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		v.w.WriteHeader(http.StatusOK)
		return true, nil
	}
	if !isDocument(h) {
		return true, cola.Errorf(cola.CodeForbidden,
			"This page costs quota, so it can't be embedded in another page. You were not charged.")
	}
	if isAhead(h) {
		return true, cola.Errorf(cola.CodeForbidden,
			"This page costs quota, so it can't be loaded in advance. You were not charged.")
	}
	switch h.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false, nil
	}
	to := v.r.URL.RequestURI()
	ask := askedFirst{p, to, shortened(to, 200), v.quota}
	return true, v.show(http.StatusOK, "exploreask", page{Title: "Open this page?", Data: ask})
}
