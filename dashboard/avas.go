package dashboard

import (
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// avaList lists viticultural areas.
func avaList() list[cola.AVAParams] {
	return list[cola.AVAParams]{
		path: avaListPath, title: "AVAs", one: "area", many: "areas", call: "/avas", tool: "search_avas",
		intro: "American Viticultural Areas. Each name links to the labels with that appellation, including areas " +
			"inside it.",
		fields: []listField{
			{Name: "q", Label: "Name"},
			{Name: "state", Label: "State", Words: func(w registry.Vocabulary) []string { return w.AVAs["state"] }},
			flagField("current", "Boundaries", "Current only"),
		},
		columns: []listColumn{
			{Title: "Area"}, {Title: "Other name"}, {Title: "States"}, {Title: "Counties"}, {Title: "Established"}, {Title: "Ended"},
		},
		find: func(req *request, p cola.AVAParams) (listRows, cola.QuotaState, error) {
			found, state, err := req.svc.AVAs(req.ctx(), req.caller, p)
			return wholeList(req, found, avaCells), state, err
		},
	}
}

func avaCells(a *cola.AVA) []listCell {
	ended := a.RemovedDate
	if ended == 0 {
		ended = a.ValidEndDate
	}
	return []listCell{
		textCell(a.Name).to(allHistory("appellation", a.Name)), textCell(a.AKA), textCell(strings.Join(a.States, ", ")),
		{Text: singleLine(strings.Join(a.Counties, ", "))}, dayCell(a.EstablishedDate), dayCell(ended),
	}
}
