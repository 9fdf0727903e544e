package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
)

// price is what opening a page costs.
type price struct {
	Words string // the cost in words
	Open  string // text of the link that opens the page
}

func searchPrice() price {
	return price{"one list record for each label that it shows, 20 at most; none found is free", "Make the search"}
}

func explanationPrice() price {
	return price{"one list record; a label that there is not is free", "Open the page"}
}

func runPrice() price {
	return price{"one list record for each label that it shows, 20 at most", "Show the labels"}
}

func recordPrice() price {
	return price{"one detail view; a record that there is not is free", "Open the page"}
}

// askedFirst is a charged page that another site led to.
type askedFirst struct {
	price
	To, Shown string // its address, whole and as displayed
	Quota     cola.QuotaState
}

// beforeCharge answers requests for a charged page that must not be charged, and reports whether it
// did. It runs before anything is looked up, and no header makes the page itself free:
//
//   - HEAD is answered without a lookup, since lookups are what costs. Its status is 200, because
//     many clients follow a 405 with a GET.
//   - A browser that loads the page ahead of its reader, or as part of another page, is refused.
//   - A page that another site links to asks its reader first. Otherwise any page of the web could
//     spend the quota of whoever is signed in. A site of the same domain is another site, too.
//
// Browsers that send none of these headers are charged.
func (v *visit) beforeCharge(p price) (answered bool, err error) {
	h := v.r.Header
	if v.r.Method == http.MethodHead {
		v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		v.w.WriteHeader(http.StatusOK)
		return true, nil
	}
	if !isDocument(h) {
		return true, cola.Errorf(cola.CodeForbidden,
			"This page opens only in a window of its own, because it is charged. Nothing was charged.")
	}
	if isAhead(h) {
		return true, cola.Errorf(cola.CodeForbidden,
			"This page is charged, so it is not loaded before you open it. Nothing was charged.")
	}
	switch h.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false, nil
	}
	to := v.r.URL.RequestURI()
	ask := askedFirst{p, to, shortened(to, 200), v.quota}
	return true, v.show(http.StatusOK, "exploreask", page{Title: "Open this page?", Data: ask})
}
