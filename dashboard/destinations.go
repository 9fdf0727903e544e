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
	// SendsMail reports whether messages to email addresses are sent.
	SendsMail() bool
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

// destinationPath is where the page of a destination is.
func destinationPath(uuid string) string { return destinationsPath + "/" + url.PathEscape(uuid) }

// destinationRow is a destination as lists show it.
type destinationRow struct {
	cola.Destination
	Name        string // its address
	Own         bool   // it is the account's own email address
	For         string // name of the search that it is for; empty: of all
	Class       string // of its state
	Why         string // it is in its state
	Short       string // the same in a few words
	Unreachable bool   // an email address on a server that sends no email
	Form        string // token of a form that is good for one sending
}

// destinationRow describes a destination; searches are the names of searches by their ids.
func (req *request) destinationRow(d cola.Destination, searches map[string]string) destinationRow {
	row := destinationRow{Destination: d, Name: d.Address.V, Own: req.isOwn(d), Class: "soft", Why: stateReason(d),
		Short: shortStateReason(d)}
	if row.Name == "" {
		row.Name = "the account’s own address"
	}
	if d.SavedSearch.OK {
		if row.For = searches[d.SavedSearch.V]; row.For == "" {
			row.For = "one search"
		}
	}
	switch {
	case d.State == cola.DestinationActive && !d.FailingSince.OK:
		row.Class = "good"
	case d.State == cola.DestinationActive, d.Reason.V == cola.ReasonFailing, d.State == cola.DestinationDisabled:
		row.Class = "bad"
	}
	row.Unreachable = d.Kind == cola.KindEmail && !req.svc.SendsMail()
	return row
}

// isOwn reports whether a destination is the account's own email address for all searches, which
// every account has.
func (req *request) isOwn(d cola.Destination) bool {
	return d.Kind == cola.KindEmail && !d.SavedSearch.OK &&
		(!d.Address.OK || cola.FoldAddress(d.Kind, d.Address.V) == cola.FoldAddress(d.Kind, req.account.Email))
}

// stateReason explains the state of an inactive or failing destination; it is empty for a working
// one.
func stateReason(d cola.Destination) string {
	switch {
	case d.State == cola.DestinationPending:
		return "The endpoint has not confirmed yet. It was sent a challenge and must answer it, or you enter the code. Until then, messages are recorded as skipped; you can send them again later."
	case d.State == cola.DestinationUnconfirmed:
		return "The owner of this address has not agreed yet. They received an email with a link to confirm; no other messages are sent until then."
	case d.Reason.V == cola.ReasonHolder:
		return "You paused it. Messages are recorded as skipped and can be sent again once you resume it."
	case d.Reason.V == cola.ReasonUnsubscribed:
		return "The owner of this address has unsubscribed and must agree again."
	case d.Reason.V == cola.ReasonFailing:
		return "A message could not be delivered, and later ones failed too. Fix the receiver, resume the destination, and send the missed messages again."
	case d.Reason.V == cola.ReasonGone:
		return "The receiver answered 410: it wants no more messages. Resume the destination if that was a mistake."
	case d.FailingSince.OK:
		return "Deliveries currently fail. They are retried for three days."
	}
	return ""
}

// shortStateReason is a short form of stateReason.
func shortStateReason(d cola.Destination) string {
	switch {
	case d.State == cola.DestinationPending:
		return "waiting for the endpoint to confirm"
	case d.State == cola.DestinationUnconfirmed:
		return "waiting for the recipient to agree"
	case d.Reason.V == cola.ReasonHolder:
		return "you paused it"
	case d.Reason.V == cola.ReasonUnsubscribed:
		return "the recipient unsubscribed"
	case d.Reason.V == cola.ReasonFailing:
		return "messages did not get through"
	case d.Reason.V == cola.ReasonGone:
		return "the receiver wants no more"
	case d.FailingSince.OK:
		return "deliveries currently fail"
	}
	return ""
}

// nameIndex are the destinations and searches of an account, to name them in lists.
type nameIndex struct {
	all          []cola.Destination
	destinations map[string]string // address by id
	searches     map[string]string // name by id
	noMail       bool              // no email is sent
}

// loadDestinationNames reads the destinations of the account: an account has few.
func (req *request) loadDestinationNames() (nameIndex, error) {
	list, state, err := req.svc.Destinations(req.ctx(), req.caller,
		cola.SavedSearchListParams{PerPage: cola.Some(cola.MaxPerPage)})
	if err != nil {
		return nameIndex{}, err
	}
	req.recordQuota(state)
	n := nameIndex{all: list.Rows, destinations: map[string]string{}, searches: map[string]string{},
		noMail: !req.svc.SendsMail()}
	for _, d := range list.Rows {
		n.destinations[d.UUID] = req.destinationRow(d, nil).Name
	}
	return n, nil
}

// destinationsFor returns the destinations of a search: its own, and those of all searches, unless
// it has its own destination with the same address.
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

// loadNames reads the searches of the account, too.
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
		SendsMail: req.svc.SendsMail(), MaxDestinations: cola.MaxDestinations,
		Pager: newPager(req.http.URL, list.Meta, len(list.Rows)),
	}
	for _, d := range list.Rows {
		p.Rows = append(p.Rows, req.destinationRow(d, names))
	}
	return req.show(http.StatusOK, "destinations",
		page{Title: "Destinations", Data: p, Call: req.listCall(destinationsPath)})
}
