package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// destinationPage is a destination with what became of what was sent there.
type destinationPage struct {
	destinationRow
	Refusal    string // why what was asked for was not done
	Deliveries []deliveryRow
	Asks       bool // the recipient can be asked to confirm
	Resumable  bool
	Code       searchField // of the challenge of a pending endpoint
}

func (v *visit) oneDestination() error { return v.showDestination(http.StatusOK, "", nil) }

// showDestination shows the page of a destination. refusal is the reason an action failed; problems
// concern an entered code.
func (v *visit) showDestination(status int, refusal string, problems []string) error {
	found, state, err := v.svc.Destination(v.ctx(), v.caller, v.path("uuid"), "")
	if err != nil {
		return err
	}
	v.asked(state)
	d := found.Value
	names, _, err := v.allNames()
	if err != nil {
		return err
	}
	p := destinationPage{destinationRow: v.destinationRow(d, names.searches), Refusal: refusal, Code: searchField{
		Name: "code", Label: "Code", Hint: "From data.code in the challenge, such as KX7Q-2MFA.", Most: 40, Problems: problems,
	}}
	p.Asks = d.NeedsConsent() && !v.ownAddress(d) && !p.Unreachable
	p.Resumable = d.State != cola.DestinationActive && (!d.NeedsConsent() || v.ownAddress(d))
	sent, _, err := v.svc.Deliveries(v.ctx(), v.caller, cola.DeliveryListParams{Destination: d.UUID, PerPage: cola.Some(latestDeliveries)})
	if err != nil {
		return err
	}
	p.Deliveries = names.rows(sent.Rows)
	return v.show(status, "destination", page{Title: p.Name, Data: p, Call: v.call(http.MethodGet, destinationPath(d.UUID), freeAlways)})
}

// ownAddress reports whether a destination goes to the account's own email address, which nobody else need agree to, for whatever searches.
func (v *visit) ownAddress(d cola.Destination) bool {
	d.SavedSearch = cola.Opt[string]{}
	return v.isOwn(d)
}

// refuseDestination shows the page of a destination with why what was asked for was not done, or returns the error that is no such refusal.
func (v *visit) refuseDestination(err error) error {
	problems, sentence, ok := refused(err)
	if !ok {
		return err
	}
	for _, messages := range problems {
		sentence = messages[0]
	}
	v.tellRetry(err)
	return v.showDestination(web.StatusOf(cola.CodeOf(err)), sentence, problems["code"])
}

func (v *visit) pauseDestination() error {
	return v.changeDestination(cola.DestinationChangeParams{Active: cola.Some(false)}, "Paused. What would be sent is noted as skipped, and can be sent again later.")
}

func (v *visit) resumeDestination() error {
	return v.changeDestination(cola.DestinationChangeParams{Active: cola.Some(true)}, "Resumed. What was missed is sent when you choose “Send again what was missed”.")
}

// setSendEmpty settles whether runs that found nothing are told.
func (v *visit) setSendEmpty() error {
	typed, err := v.form()
	if err != nil {
		return err
	}
	on := typed.Get("send_empty") == "true"
	notice := "Runs that find nothing are not told any more."
	if on {
		notice = "Runs that find nothing are told, too."
	}
	return v.changeDestination(cola.DestinationChangeParams{SendEmpty: cola.Some(on)}, notice)
}

func (v *visit) changeDestination(p cola.DestinationChangeParams, notice string) error {
	changed, state, err := v.svc.ChangeDestination(v.ctx(), v.caller, v.path("uuid"), p)
	v.asked(state)
	if err != nil {
		return v.refuseDestination(err)
	}
	return v.leadTo(destinationPath(changed.UUID), notice)
}

func (v *visit) testDestination() error {
	d, state, err := v.svc.TestDestination(v.ctx(), v.caller, v.path("uuid"))
	return v.sent(d, state, err, "A test message is on its way. Load this page again to see what became of it.")
}

func (v *visit) resendConfirmation() error {
	d, state, err := v.svc.ResendConfirmation(v.ctx(), v.caller, v.path("uuid"))
	notice := "The owner of the address is asked by email to agree."
	if d.Kind == cola.KindWebhook {
		notice = "Another challenge is on its way to the endpoint. Codes of earlier challenges are no longer valid."
	}
	return v.sent(d, state, err, notice)
}

var confirmReader = params.New[cola.DestinationConfirmParams]("this form")

func (v *visit) confirmDestination() error {
	typed, err := v.form()
	if err != nil {
		return err
	}
	changed, state, err := v.svc.ConfirmDestination(v.ctx(), v.caller, v.path("uuid"), confirmReader.Read(confirmReader.Fields(typed), nil))
	v.asked(state)
	if err != nil {
		return v.refuseDestination(err)
	}
	return v.leadTo(destinationPath(changed.UUID), "Endpoint confirmed. To send skipped messages, choose “Send again what was missed”.")
}

// sent leads to the page of the message that a destination is sent, or tells why there is none.
func (v *visit) sent(d cola.Delivery, state cola.QuotaState, err error, notice string) error {
	v.asked(state)
	if err != nil {
		return v.refuseDestination(err)
	}
	return v.leadTo(deliveryPath(d.ID), notice)
}

func (v *visit) replayDestination() error {
	again, state, err := v.svc.ReplayDestination(v.ctx(), v.caller, v.path("uuid"))
	v.asked(state)
	if err != nil {
		return v.refuseDestination(err)
	}
	notice := "Nothing was missed, so nothing is sent again."
	if again.Count > 0 {
		notice = plural(again.Count, "message is", "messages are") + " sent again."
	}
	return v.leadTo(destinationPath(v.path("uuid")), notice)
}

func (v *visit) askRotateSecret() error {
	return v.askDestination("destinationrotate", "Replace the secret of ", http.MethodPost, "/secret")
}

func (v *visit) askDeleteDestination() error {
	return v.askDestination("destinationdelete", "Delete ", http.MethodDelete, "")
}

// askDestination shows the page that says what stops. below is where the API has it, below the destination.
func (v *visit) askDestination(template, title, method, below string) error {
	found, state, err := v.svc.Destination(v.ctx(), v.caller, v.path("uuid"), "")
	if err != nil {
		return err
	}
	v.asked(state)
	names, _, err := v.allNames()
	if err != nil {
		return err
	}
	row := v.destinationRow(found.Value, names.searches)
	if method == http.MethodPost {
		if row.Form, err = v.openForm(); err != nil {
			return err
		}
	}
	return v.show(http.StatusOK, template, page{Title: title + row.Name, Data: row, Call: v.call(method, destinationPath(row.UUID)+below, freeAlways)})
}

func (v *visit) rotateSecret() error {
	typed, err := v.form()
	if err != nil {
		return err
	}
	first, err := v.takeForm(typed.Get("form"))
	if err != nil {
		return err
	}
	if !first {
		return v.leadTo(destinationPath(v.path("uuid")), shownBefore)
	}
	d, state, err := v.svc.RotateSecret(v.ctx(), v.caller, v.path("uuid"))
	v.asked(state)
	if err != nil {
		return v.refuseDestination(err)
	}
	return v.showSecret(http.StatusOK, d, "The secret is replaced", v.call(http.MethodPost, destinationPath(d.UUID)+"/secret", freeAlways+" Each call makes a new secret."))
}

func (v *visit) deleteDestination() error {
	state, err := v.svc.DeleteDestination(v.ctx(), v.caller, v.path("uuid"))
	v.asked(state)
	if err != nil {
		return v.refuseDestination(err)
	}
	return v.leadTo(destinationsPath, "The destination is deleted, with what was and was to be sent there.")
}

// secretPage shows the secret of a webhook, this once.
type secretPage struct {
	Destination cola.Destination
	Secret      copied
	Rotated     bool
}

func (v *visit) showSecret(status int, d cola.DestinationWithSecret, title string, call *apiCall) error {
	return v.show(status, "destinationsecret", page{
		Title: title, Data: secretPage{d.Destination, copied{"the secret", d.Secret.V}, status == http.StatusOK}, Call: call,
	})
}
