package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// destinationService contains the operations for destinations and deliveries.
type destinationService interface {
	// DestinationRules describes the destinations that the server sends messages to.
	DestinationRules() cola.DestinationRules
	Destinations(
		context.Context, cola.Caller, cola.SavedSearchListParams,
	) (registry.PageList[cola.Destination], cola.QuotaState, error)
	Destination(
		ctx context.Context, c cola.Caller, id, ifNoneMatch string,
	) (registry.Tagged[cola.Destination], cola.QuotaState, error)
	CreateDestination(
		context.Context, cola.Caller, cola.DestinationParams,
	) (cola.DestinationWithSecret, cola.QuotaState, error)
	ChangeDestination(
		ctx context.Context, c cola.Caller, id string, p cola.DestinationChangeParams,
	) (cola.Destination, cola.QuotaState, error)
	DeleteDestination(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error)
	RotateSecret(ctx context.Context, c cola.Caller, id string) (cola.DestinationWithSecret, cola.QuotaState, error)
	TestDestination(ctx context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error)
	ResendConfirmation(ctx context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error)
	ConfirmDestination(
		ctx context.Context, c cola.Caller, id string, p cola.DestinationConfirmParams,
	) (cola.Destination, cola.QuotaState, error)
	ReplayDestination(ctx context.Context, c cola.Caller, id string) (cola.Replayed, cola.QuotaState, error)
	Deliveries(
		context.Context, cola.Caller, cola.DeliveryListParams,
	) (registry.PageList[cola.Delivery], cola.QuotaState, error)
	Delivery(
		ctx context.Context, c cola.Caller, id, ifNoneMatch string,
	) (registry.Tagged[cola.DeliveryDetail], cola.QuotaState, error)
	DeliveryExchanges(ctx context.Context, c cola.Caller, id string) ([]registry.Exchange, cola.QuotaState, error)
	ReplayDelivery(ctx context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error)
}

const (
	newDestinationPath = destinationsPath + "/new"
	destinationPattern = destinationsPath + "/{uuid}"
	deliveryPattern    = deliveriesPath + "/{id}"
)

func destinationRoutes() []route {
	return []route{
		get(destinationsPath, (*request).destinations),
		get(newDestinationPath, (*request).newDestination),
		post(newDestinationPath, (*request).addDestination),
		get(destinationPattern, (*request).destinationDetail),
		post(destinationPattern+"/pause", (*request).pauseDestination),
		post(destinationPattern+"/resume", (*request).resumeDestination),
		post(destinationPattern+"/empty", (*request).setSendEmpty),
		post(destinationPattern+"/test", (*request).testDestination),
		post(destinationPattern+"/confirmation", (*request).resendConfirmation),
		post(destinationPattern+"/confirm", (*request).confirmDestination),
		post(destinationPattern+"/replay", (*request).replayDestination),
		get(destinationPattern+"/secret", (*request).confirmRotateSecret),
		post(destinationPattern+"/secret", (*request).rotateSecret),
		get(destinationPattern+"/delete", (*request).confirmDeleteDestination),
		post(destinationPattern+"/delete", (*request).deleteDestination),
		get(deliveriesPath, (*request).deliveries),
		get(deliveryPattern, (*request).deliveryDetail),
		post(deliveryPattern+"/replay", (*request).replayDelivery),
	}
}

// destinationPath returns the path of a destination's page.
func destinationPath(uuid string) string { return destinationsPath + "/" + url.PathEscape(uuid) }

// destinationRow is a destination as shown in lists.
type destinationRow struct {
	cola.Destination
	Name     string // address, or ownAddressName
	Own      bool   // the account's own email address
	For      string // name of its saved search, or empty for all searches
	Word     string // the state
	Class    string // CSS class for the state
	Why      string // reason for the state; may be empty
	Short    string // short form of Why
	Unserved string // why the server doesn't send to the destination; empty if it does
	Form     string // single-use form token
}

// ownAddressName is the display name of the account's own email address.
const ownAddressName = "Your account email"

// destinationRow describes a destination. searches maps the IDs of saved searches to their names.
func (req *request) destinationRow(d cola.Destination, searches map[string]string) destinationRow {
	row := destinationRow{
		Destination: d,
		Name:        d.Address.V,
		Own:         req.isOwn(d),
		Word:        d.State,
		Class:       "soft",
		Why:         stateReason(d),
		Short:       shortStateReason(d),
	}
	if row.Name == "" {
		row.Name = ownAddressName
	}
	if d.SavedSearch.OK {
		row.For = searches[d.SavedSearch.V]
		if row.For == "" {
			row.For = "One search"
		}
	}
	switch {
	case d.State == cola.DestinationActive && !d.FailingSince.OK:
		row.Class = "good"
	case d.State == cola.DestinationActive, d.Reason.V == cola.ReasonFailing, d.State == cola.DestinationDisabled:
		row.Class = "bad"
	}
	if row.Unserved = unserved(req.svc.DestinationRules(), d); row.Unserved != "" && d.State == cola.DestinationActive {
		row.Word, row.Class = "unavailable", "bad"
	}
	return row
}

// unserved returns why the server doesn't send to a destination, or "" if it does.
func unserved(rules cola.DestinationRules, d cola.Destination) string {
	switch why := rules.Unserved(d.Kind, d.Address.V); {
	case why != "" && d.Kind == cola.KindEmail:
		return "Email isn’t set up on this server."
	case why != "":
		return "This server doesn’t accept the URL: " + why
	}
	return ""
}

// isOwn reports whether a destination is the one that every account has: the account's own email
// address, for all searches.
func (req *request) isOwn(d cola.Destination) bool {
	return d.Kind == cola.KindEmail && !d.SavedSearch.OK &&
		(!d.Address.OK || cola.FoldAddress(d.Kind, d.Address.V) == cola.FoldAddress(d.Kind, req.account.Email))
}

// stateReason explains the state of an inactive or failing destination. It returns "" for a working
// one.
func stateReason(d cola.Destination) string {
	switch {
	case d.State == cola.DestinationPending:
		return "The endpoint hasn’t been confirmed. Have it respond to the challenge, or enter the code from the challenge " +
			"yourself. Until then, messages are skipped; you can resend them later."
	case d.State == cola.DestinationUnconfirmed:
		return "The recipient must confirm using the link we emailed. Until then, we won’t send alerts."
	case d.Reason.V == cola.ReasonHolder:
		return "You paused this destination. Messages are skipped; you can resend them after you resume it."
	case d.Reason.V == cola.ReasonUnsubscribed:
		return "The recipient unsubscribed and must confirm again."
	case d.Reason.V == cola.ReasonFailing:
		return "Messages couldn’t be delivered. Fix the problem, resume the destination, then resend missed messages."
	case d.Reason.V == cola.ReasonGone:
		return "The endpoint returned 410 Gone. If that was a mistake, resume the destination."
	case d.FailingSince.OK:
		return "Deliveries are failing. We retry each one for up to three days."
	}
	return ""
}

// shortStateReason is a short form of stateReason.
func shortStateReason(d cola.Destination) string {
	switch {
	case d.State == cola.DestinationPending:
		return "waiting for the endpoint"
	case d.State == cola.DestinationUnconfirmed:
		return "waiting for the recipient"
	case d.Reason.V == cola.ReasonHolder:
		return "paused by you"
	case d.Reason.V == cola.ReasonUnsubscribed:
		return "recipient unsubscribed"
	case d.Reason.V == cola.ReasonFailing:
		return "deliveries failed"
	case d.Reason.V == cola.ReasonGone:
		return "endpoint returned 410"
	case d.FailingSince.OK:
		return "deliveries are failing"
	}
	return ""
}

// nameIndex contains the display names of an account's destinations and saved searches.
type nameIndex struct {
	all          []cola.Destination
	destinations map[string]string // display name by ID
	searches     map[string]string // name by ID
	noMail       bool              // the server sends no email
}

// loadDestinationNames reads all destinations of the account, at most cola.MaxDestinations.
func (req *request) loadDestinationNames() (nameIndex, error) {
	list, state, err := req.svc.Destinations(req.ctx(), req.caller,
		cola.SavedSearchListParams{PerPage: cola.Some(cola.MaxPerPage)})
	if err != nil {
		return nameIndex{}, err
	}
	req.recordQuota(state)
	n := nameIndex{
		all:          list.Rows,
		destinations: map[string]string{},
		searches:     map[string]string{},
		noMail:       !req.svc.DestinationRules().SendsMail,
	}
	for _, d := range list.Rows {
		n.destinations[d.UUID] = req.destinationRow(d, nil).Name
	}
	return n, nil
}

// destinationsFor returns the destinations of a search: its own, and the account-wide ones except
// those with the same address.
func (n nameIndex) destinationsFor(search string) (list []cola.Destination) {
	own := func(d cola.Destination) bool { return d.SavedSearch.V == search }
	for _, d := range n.all {
		replaced := slices.ContainsFunc(n.all, func(o cola.Destination) bool {
			return own(o) && o.Kind == d.Kind &&
				cola.FoldAddress(o.Kind, o.Address.V) == cola.FoldAddress(d.Kind, d.Address.V)
		})
		if own(d) || !d.SavedSearch.OK && !replaced {
			list = append(list, d)
		}
	}
	return list
}

// searchDestinations returns the rows of a search's destinations, without the search's name.
func (req *request) searchDestinations(n nameIndex, search string) (rows []destinationRow) {
	for _, d := range n.destinationsFor(search) {
		rows = append(rows, req.destinationRow(d, nil))
	}
	return rows
}

// loadNames reads the destinations and saved searches of the account.
func (req *request) loadNames() (nameIndex, registry.SavedSearchNames, error) {
	n, err := req.loadDestinationNames()
	if err != nil {
		return n, registry.SavedSearchNames{}, err
	}
	searches, _, err := req.svc.SavedSearchNames(req.ctx(), req.caller)
	n.searches = searchNames(searches)
	return n, searches, err
}

// searchNames returns the names of saved searches by ID.
func searchNames(list registry.SavedSearchNames) map[string]string {
	names := map[string]string{}
	for _, s := range list.Names {
		names[s.UUID] = s.Name
	}
	return names
}

// destinationsPage lists the destinations of the account.
type destinationsPage struct {
	Rows            []destinationRow
	Pager           pager
	SendsMail       bool
	MaxDestinations int
}

func (req *request) destinations() error {
	list, state, err := req.svc.Destinations(req.ctx(), req.caller, req.listParams())
	if err != nil {
		return err
	}
	req.recordQuota(state)
	searches, _, err := req.svc.SavedSearchNames(req.ctx(), req.caller)
	if err != nil {
		return err
	}
	names := searchNames(searches)
	p := destinationsPage{
		SendsMail: req.svc.DestinationRules().SendsMail, MaxDestinations: cola.MaxDestinations,
		Pager: newPager(req.http.URL, list.Meta, len(list.Rows)),
	}
	for _, d := range list.Rows {
		p.Rows = append(p.Rows, req.destinationRow(d, names))
	}
	return req.show(http.StatusOK, "destinations",
		page{Title: "Destinations", Data: p, Call: req.listCall(destinationsPath)})
}
