package dashboard

// Forms that make something which is shown once carry a token that is good for one sending: sending the form again, as reloading the answer
// does, must not make another. See auth.Browsers.OpenForm.

// notOpen begins what is told of a form that is not taken: whether it was sent before, was open for too long or was never opened here is not remembered.
const notOpen = "This form was sent before, or is not one that is open for this account, so nothing was done now. "

// shownBefore is told of a form that is not taken whose answer would be shown once.
const shownBefore = notOpen + "What it made, if it was sent, was shown then and cannot be shown again. If you do not have it, open the form anew."

// openForm returns a token for a form.
func (v *visit) openForm() (token string, err error) { return v.browsers.OpenForm(v.ctx()) }

// takeForm reports whether a form with a token is sent for the first time. From then on it is not.
func (v *visit) takeForm(token string) (first bool, err error) {
	return v.browsers.TakeForm(v.ctx(), token)
}
