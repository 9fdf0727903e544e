package dashboard

import (
	"net/http"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// price is what a page is charged when it is opened.
type price struct {
	Words string // of what opening costs
	Open  string // of the link that opens it
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

// askedFirst is a page that is charged, for somebody who did not come to it from here.
type askedFirst struct {
	price
	To, Shown string // its address, and as much of it as is shown
	Quota     cola.QuotaState
}

// beforeCharge answers requests for a page that must not be charged, and reports whether it did.
//
// HEAD is answered without a look at what the page is about, since looking is what costs. It is 200 and not 405, which would have many of those who ask
// by HEAD ask by GET after all. What another site has a browser open, by a link or by itself, waits until its reader goes on from here: otherwise any page
// of the web could spend the quota of whoever is signed in. A site of the same domain is another one too. Browsers that say nothing of it are let on.
func (v *visit) beforeCharge(p price) (answered bool, err error) {
	if v.r.Method == http.MethodHead {
		v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		v.w.WriteHeader(http.StatusOK)
		return true, nil
	}
	if strings.Contains(v.r.Header.Get("Sec-Purpose"), "prefetch") {
		return true, cola.Errorf(cola.CodeForbidden, "This page is charged, so it is not loaded before you open it. Nothing was charged.")
	}
	switch v.r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false, nil
	}
	to := v.r.URL.RequestURI()
	return true, v.show(http.StatusOK, "exploreask", page{Title: "Open this page?", Data: askedFirst{p, to, shortened(to, 200), v.quota}})
}
