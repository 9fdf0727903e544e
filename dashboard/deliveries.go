package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

var deliveriesReader = params.New[cola.DeliveryListParams]("this page")

// deliveryPath returns the path of a delivery's page.
func deliveryPath(id int64) string { return deliveriesPath + "/" + strconv.FormatInt(id, 10) }

// deliveryRow is a delivery as shown in lists.
type deliveryRow struct {
	cola.Delivery
	About         string // subject of the message
	To            string // address of the destination, unless it was deleted
	Path          string // path of the destination's page; empty if the message goes to another address
	Class         string // CSS class for the state
	Undeliverable bool   // a pending email on a server that sends no email
}

// isStarting reports whether the first attempt is about to start.
func (r deliveryRow) isStarting() bool {
	return r.State == cola.DeliveryPending && r.AttemptCount == 0 && !r.Undeliverable
}

// rows converts deliveries to display rows.
func (n nameIndex) rows(list []cola.Delivery) []deliveryRow {
	rows := make([]deliveryRow, len(list))
	for i, d := range list {
		rows[i] = n.row(d)
	}
	return rows
}

func (n nameIndex) row(d cola.Delivery) deliveryRow {
	row := deliveryRow{
		Delivery: d,
		To:       n.destinations[d.Destination],
		Path:     destinationPath(d.Destination),
		Class:    "soft",
	}
	row.Undeliverable = n.noMail && d.Kind == cola.KindEmail && d.State == cola.DeliveryPending
	switch d.Event {
	case cola.EventRan:
		row.About = "Run " + strconv.FormatInt(d.RunID.V, 10)
		if name := n.searches[d.SavedSearch.V]; name != "" {
			row.About += " · “" + name + "”"
		}
	case cola.EventTest:
		row.About = "Test message"
	case cola.EventConfirm:
		row.About = "Confirmation request"
		if d.Kind == cola.KindWebhook {
			row.About = "Endpoint challenge"
		}
	case cola.EventPaused:
		row.About = "Alerts paused for " + cmp.Or(row.To, "a destination")
		row.To, row.Path = ownAddressName, "" // d.Destination is the paused destination, not the recipient
	default:
		row.About = d.Event
	}
	switch d.State {
	case cola.DeliveryDelivered:
		row.Class = "good"
	case cola.DeliveryFailed:
		row.Class = "bad"
	}
	return row
}

// deliveriesPage lists the deliveries of the account.
type deliveriesPage struct {
	Rows                           []deliveryRow
	Pager                          pager
	States, Searches, Destinations []option
	More                           bool // the options omit some searches
	Filtered                       bool
}

func (req *request) deliveries() error {
	filters := url.Values{}
	for _, name := range []string{"state", "destination", "saved_search", "page"} {
		if values := req.query()[name]; strings.Join(values, "") != "" {
			filters[name] = values
		}
	}
	list, state, err := req.svc.Deliveries(req.ctx(), req.caller,
		deliveriesReader.Read(deliveriesReader.Fields(filters), nil))
	if err != nil {
		return err
	}
	req.recordQuota(state)
	names, searches, err := req.loadNames()
	if err != nil {
		return err
	}
	p := deliveriesPage{
		Rows:     names.rows(list.Rows),
		Pager:    newPager(req.http.URL, list.Meta, len(list.Rows)),
		States:   []option{{Label: "Any"}},
		Filtered: filters.Has("state") || filters.Has("destination") || filters.Has("saved_search"),
	}
	for _, o := range optionsOf(strings.ToLower(filters.Get("state")), cola.DeliveryStates()...) {
		o.Label = capitalize(o.Label)
		p.States = append(p.States, o)
	}
	p.Searches, p.More = searchOptions(searches, filters.Get("saved_search"), "Any")
	p.Destinations = []option{{Label: "Any"}}
	for _, d := range names.all {
		p.Destinations = append(p.Destinations,
			option{
				Value:  d.UUID,
				Label:  names.destinations[d.UUID],
				Chosen: strings.EqualFold(d.UUID, filters.Get("destination")),
			})
	}
	return req.show(http.StatusOK, "deliveries", page{
		Title: "Deliveries",
		Data:  p,
		Call:  req.call(http.MethodGet, withQuery(deliveriesPath, filters), freeCost),
	})
}

// withQuery adds parameters to a path.
func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// deliveryPage is a delivery with its attempts.
type deliveryPage struct {
	deliveryRow
	ActionError string // why an action failed; may be empty
	Attempts    []attemptRow
	Subject     string // subject of an email
	Sent        copied // the latest message, formatted
	Signed      copied // the exact text that was signed, if it differs from Sent
	Truncated   bool   // the message was too long to record
	UpdatesLeft int    // automatic updates left while the delivery is in progress
}

// attemptRow is an attempt and its response.
type attemptRow struct {
	cola.DeliveryAttempt
	N        int
	Latest   bool
	Headers  string
	Response string
}

// UpdateSeconds is the interval between automatic updates.
func (deliveryPage) UpdateSeconds() int { return progressSeconds }

// Responses returns the attempts that got a response, latest first.
func (p deliveryPage) Responses() (rows []attemptRow) {
	for _, a := range slices.Backward(p.Attempts) {
		if a.Headers != "" || a.Response != "" {
			rows = append(rows, a)
		}
	}
	return rows
}

func (req *request) deliveryDetail() error { return req.showDelivery(http.StatusOK, "") }

// showDelivery shows the page of a delivery. actionError says why an action failed; it may be
// empty.
func (req *request) showDelivery(status int, actionError string) error {
	found, state, err := req.svc.Delivery(req.ctx(), req.caller, req.path("id"), "")
	if err != nil {
		return err
	}
	req.recordQuota(state)
	exchanges, _, err := req.svc.DeliveryExchanges(req.ctx(), req.caller, req.path("id"))
	if err != nil {
		return err
	}
	names, _, err := req.loadNames()
	if err != nil {
		return err
	}
	d := found.Value
	p := deliveryPage{deliveryRow: names.row(d.Delivery), ActionError: actionError}
	p.addAttempts(d.Attempts, exchanges)
	if p.isStarting() {
		p.UpdatesLeft = req.updatesLeft(maxProgressUpdates)
	}
	if req.isUpdate() {
		return req.showPart("delivery", "live", p)
	}
	return req.show(status, "delivery", page{
		Title: "Delivery " + strconv.FormatInt(d.ID, 10),
		Data:  p,
		Call:  req.call(http.MethodGet, deliveryPath(d.ID), freeCost),
	})
}

// addAttempts adds the attempts with their responses, and the latest message. Attempts and
// exchanges are read separately, so there may be more of one than of the other.
func (p *deliveryPage) addAttempts(attempts []cola.DeliveryAttempt, exchanges []registry.Exchange) {
	var sent registry.Exchange
	for i, a := range attempts {
		row := attemptRow{DeliveryAttempt: a, N: i + 1, Latest: i == len(attempts)-1}
		if i < len(exchanges) {
			row.Headers, row.Response = multiLine(exchanges[i].Headers), multiLine(indented(exchanges[i].Response))
			if exchanges[i].Sent != "" {
				sent = exchanges[i]
			}
		}
		p.Attempts = append(p.Attempts, row)
	}
	p.Truncated = sent.Truncated()
	if p.Kind == cola.KindEmail {
		p.Subject, p.Sent = stripHidden(sent.Subject), copied{"text", multiLine(sent.Sent)}
		return
	}
	p.Sent = copied{"payload", multiLine(indented(sent.Sent))}
	if p.Event != cola.EventConfirm && !p.Truncated && p.Sent.Text != sent.Sent {
		p.Signed = copied{"payload as signed", sent.Sent}
	}
}

func (req *request) replayDelivery() error {
	replay, state, err := req.svc.ReplayDelivery(req.ctx(), req.caller, req.path("id"))
	req.recordQuota(state)
	if err == nil {
		return req.redirect(deliveryPath(replay.ID), "Resending with the same message ID.")
	}
	_, sentence, ok := formErrors(err)
	if !ok {
		return err
	}
	if cola.CodeOf(err) == cola.CodeNotActive {
		sentence = "The destination isn’t active. Open it to see why."
	}
	return req.showDelivery(web.StatusOf(cola.CodeOf(err)), sentence)
}
