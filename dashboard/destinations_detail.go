package dashboard

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// destinationPage is a destination with its latest deliveries.
type destinationPage struct {
	destinationRow
	ActionError string // why an action failed; may be empty
	Deliveries  []deliveryRow
	CanResend   bool // the recipient can be asked to confirm
	Resumable   bool
	Code        formField // field for the code of a pending endpoint's challenge
}

// destination returns the destination in the path, with the names to describe it and its
// deliveries.
func (req *request) destination() (cola.Destination, nameIndex, error) {
	found, state, err := req.svc.Destination(req.ctx(), req.caller, req.path("uuid"), "")
	if err != nil {
		return cola.Destination{}, nameIndex{}, err
	}
	req.recordQuota(state)
	names, _, err := req.loadNames()
	return found.Value, names, err
}

func (req *request) destinationDetail() error { return req.showDestination(http.StatusOK, "", nil) }

// showDestination shows the page of a destination. actionError says why an action failed; problems
// lists the problems with the code field.
func (req *request) showDestination(status int, actionError string, problems []string) error {
	d, names, err := req.destination()
	if err != nil {
		return err
	}
	p := destinationPage{destinationRow: req.destinationRow(d, names.searches), ActionError: actionError, Code: formField{
		Name: "code", Label: "Code", Hint: "The value of data.code in the challenge, such as KX7Q-2MFA.", MaxLength: 40,
		Problems: problems,
	}}
	p.CanResend = d.NeedsConsent() && !req.ownAddress(d) && p.Unserved == ""
	p.Resumable = d.State != cola.DestinationActive && (!d.NeedsConsent() || req.ownAddress(d))
	deliveries, _, err := req.svc.Deliveries(req.ctx(), req.caller,
		cola.DeliveryListParams{Destination: d.UUID, PerPage: cola.Some(latestDeliveries)})
	if err != nil {
		return err
	}
	p.Deliveries = names.rows(deliveries.Rows)
	return req.show(status, "destination", page{
		Title: p.Name,
		Data:  p,
		Call:  req.call(http.MethodGet, destinationPath(d.UUID), freeCost),
	})
}

// ownAddress reports whether a destination is the account's own email address, for one search or
// for all. Such a destination needs no consent.
func (req *request) ownAddress(d cola.Destination) bool {
	d.SavedSearch = cola.Opt[string]{}
	return req.isOwn(d)
}

// showDestinationError shows the page of a destination with the reasons an action failed. It
// returns errors that the user can't correct.
func (req *request) showDestinationError(err error) error {
	problems, sentence, ok := formErrors(err)
	if !ok {
		return err
	}
	if len(problems) > 0 {
		var messages []string
		for _, name := range slices.Sorted(maps.Keys(problems)) {
			messages = append(messages, problems[name]...)
		}
		sentence = strings.Join(messages, " ")
	}
	req.setRetryAfter(err)
	return req.showDestination(web.StatusOf(cola.CodeOf(err)), sentence, problems["code"])
}

func (req *request) pauseDestination() error {
	return req.changeDestination(cola.DestinationChangeParams{Active: cola.Some(false)},
		"Destination paused. You can resend missed messages later.")
}

func (req *request) resumeDestination() error {
	return req.changeDestination(cola.DestinationChangeParams{Active: cola.Some(true)},
		"Destination resumed. To catch up, choose “Resend missed messages”.")
}

// setSendEmpty turns messages about runs without matches on or off.
func (req *request) setSendEmpty() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	on := form.Get("send_empty") == "true"
	notice := "This destination no longer gets alerts about runs without new labels."
	if on {
		notice = "This destination now also gets alerts about runs without new labels."
	}
	return req.changeDestination(cola.DestinationChangeParams{SendEmpty: cola.Some(on)}, notice)
}

func (req *request) changeDestination(p cola.DestinationChangeParams, notice string) error {
	changed, state, err := req.svc.ChangeDestination(req.ctx(), req.caller, req.path("uuid"), p)
	req.recordQuota(state)
	if err != nil {
		return req.showDestinationError(err)
	}
	return req.redirect(destinationPath(changed.UUID), notice)
}

func (req *request) testDestination() error {
	d, state, err := req.svc.TestDestination(req.ctx(), req.caller, req.path("uuid"))
	return req.redirectToDelivery(d, state, err,
		"Test message queued.")
}

func (req *request) resendConfirmation() error {
	d, state, err := req.svc.ResendConfirmation(req.ctx(), req.caller, req.path("uuid"))
	notice := "Confirmation email queued."
	if d.Kind == cola.KindWebhook {
		notice = "New challenge queued. Earlier codes no longer work."
	}
	return req.redirectToDelivery(d, state, err, notice)
}

var confirmReader = params.New[cola.DestinationConfirmParams]("this form")

func (req *request) confirmDestination() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	changed, state, err := req.svc.ConfirmDestination(req.ctx(), req.caller, req.path("uuid"),
		confirmReader.Read(confirmReader.Fields(form), nil))
	req.recordQuota(state)
	if cola.CodeOf(err) == cola.CodeNotActive {
		return req.showDestination(http.StatusConflict, "Too many wrong codes. Send a new challenge.", nil)
	}
	if err != nil {
		return req.showDestinationError(err)
	}
	return req.redirect(destinationPath(changed.UUID),
		"Endpoint confirmed. To send what it missed, choose “Resend missed messages”.")
}

// redirectToDelivery redirects to the page of a new message, or shows why there is none.
func (req *request) redirectToDelivery(d cola.Delivery, state cola.QuotaState, err error, notice string) error {
	req.recordQuota(state)
	if err != nil {
		return req.showDestinationError(err)
	}
	return req.redirect(deliveryPath(d.ID), notice)
}

func (req *request) replayDestination() error {
	replay, state, err := req.svc.ReplayDestination(req.ctx(), req.caller, req.path("uuid"))
	req.recordQuota(state)
	if err != nil {
		return req.showDestinationError(err)
	}
	notice := "There are no missed messages to resend."
	if replay.Count > 0 {
		notice = "Resending " + plural(replay.Count, "message", "messages") + "."
	}
	return req.redirect(destinationPath(req.path("uuid")), notice)
}

func (req *request) confirmRotateSecret() error {
	return req.confirmDestinationAction("destination_rotate", "Rotate the secret for ", http.MethodPost, "/secret")
}

func (req *request) confirmDeleteDestination() error {
	return req.confirmDestinationAction("destination_delete", "Delete ", http.MethodDelete, "")
}

// confirmDestinationAction shows a confirmation page. subpath is the API path of the action,
// relative to the destination.
func (req *request) confirmDestinationAction(template, title, method, subpath string) error {
	d, names, err := req.destination()
	if err != nil {
		return err
	}
	row := req.destinationRow(d, names.searches)
	if method == http.MethodPost {
		if row.Form, err = req.newFormToken(); err != nil {
			return err
		}
	}
	return req.show(http.StatusOK, template, page{
		Title: title + row.Name,
		Data:  row,
		Call:  req.call(method, destinationPath(row.UUID)+subpath, freeCost),
	})
}

func (req *request) rotateSecret() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	first, err := req.useFormToken(form.Get("form"))
	if err != nil {
		return err
	}
	if !first {
		return req.redirect(destinationPath(req.path("uuid")), formUsedSecret)
	}
	d, state, err := req.svc.RotateSecret(req.ctx(), req.caller, req.path("uuid"))
	req.recordQuota(state)
	if err != nil {
		return req.showDestinationError(err)
	}
	p := newSecretPage(d)
	p.Rotated = true
	return req.showSecret(http.StatusOK, p, "Secret rotated",
		req.call(http.MethodPost, destinationPath(d.UUID)+"/secret", freeCost+" Each call creates a new secret."))
}

func (req *request) deleteDestination() error {
	state, err := req.svc.DeleteDestination(req.ctx(), req.caller, req.path("uuid"))
	req.recordQuota(state)
	if err != nil {
		return req.showDestinationError(err)
	}
	return req.redirect(destinationsPath, "Destination deleted.")
}

// secretPage shows the secret of a webhook, once.
type secretPage struct {
	Destination cola.Destination
	Secret      copied
	Rotated     bool
	Saved       string // confirms that a search was saved with the destination; may be empty
	Done        string // path of the next page
}

func (req *request) showSecret(status int, p secretPage, title string, call *apiCall) error {
	return req.show(status, "destination_secret", page{Title: title, Data: p, Call: call})
}

// newSecretPage returns the page for a destination with its new secret.
func newSecretPage(d cola.DestinationWithSecret) secretPage {
	return secretPage{Destination: d.Destination, Secret: copied{"secret", d.Secret.V}, Done: destinationPath(d.UUID)}
}
