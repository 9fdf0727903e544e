package dashboard

import (
	"net/http"
	"net/url"

	"github.com/colaregistry/colaregistry/cola"
)

// permitteePage is a permit holder with its latest labels.
type permitteePage struct {
	Facts  []fact
	Recent []labelRow
	Labels int    // of the permittee, in all
	Search string // finds all of them
	Cost   pageCost
}

func (v *visit) permittee() error {
	if answered, err := v.beforeCharge(recordPrice()); answered || err != nil {
		return err
	}
	number := v.path("*")
	tagged, state, err := v.svc.Permittee(v.ctx(), v.caller, number, "")
	v.asked(state)
	if cola.CodeOf(err) == cola.CodeNotFound {
		return v.showMissing(err, "No such permittee", number)
	}
	if err != nil {
		return err
	}
	v.keepForBack()
	d := &tagged.Value
	p := permitteePage{
		Facts: permitteeFacts(&d.PermitteeSummary), Labels: d.Colas, Search: allHistory("permit_number", d.PermitNumber), Cost: detailCost(v.quota),
	}
	for i := range d.RecentColas {
		p.Recent = append(p.Recent, v.row(&d.RecentColas[i], ""))
	}
	call := v.call("GET", "/permittees/"+url.PathEscape(d.PermitNumber), "It costs one detail view, the latest labels included, as this page did. A number that there is not is free.").
		forTool("get_permittee", map[string]any{"permit_number": d.PermitNumber})
	return v.show(http.StatusOK, "permittee", page{Title: permitteeName(&d.PermitteeSummary), Data: p, Call: call})
}
