package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// Forms whose result is shown only once carry a single-use token, so that submitting them again,
// for example by reloading the result, has no further effect. See auth.Browsers.OpenForm.

// formUsed is the message for an invalid form token: used, expired or unknown.
const formUsed = "This form was already submitted or has expired. "

// formUsedSecret is formUsed for forms that create a secret or a URL.
const formUsedSecret = formUsed + "The secret or URL can’t be shown again. If you didn’t copy it, create a new one."

// newFormToken returns a token for a form.
func (req *request) newFormToken() (token string, err error) { return req.browsers.OpenForm(req.ctx()) }

// useFormToken consumes a form token and reports whether it was valid.
func (req *request) useFormToken(token string) (first bool, err error) {
	return req.browsers.TakeForm(req.ctx(), token)
}

// problemList lists the problems with a form in the order of the field names.
func problemList(problems map[string][]string, label func(name string) (string, bool)) (all []fieldProblem) {
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		for _, message := range problems[name] {
			t := fieldProblem{Label: strings.ToValidUTF8(name, "\uFFFD"), Message: message}
			if words, ok := label(name); ok {
				t.ID, t.Label = fieldID(name), words
			}
			all = append(all, t)
		}
	}
	return all
}

// accountField is a hidden field with the account that opened a form. A user with two accounts may
// sign in to the other one in another tab before submitting the form.
const accountField = "holder"

// maxForm is the maximum size of a form's body, in bytes.
const maxForm = 64 << 10

// form reads the submitted form. It rejects a form that was opened by another account.
func (req *request) form() (url.Values, error) {
	values, err := req.parseForm()
	if err != nil {
		return nil, err
	}
	if shownTo := values.Get(accountField); req.signedIn && shownTo != "" && shownTo != fmt.Sprint(req.caller.Account) {
		return nil, cola.Errorf(cola.CodeForbidden,
			"You opened this form while signed in to a different account. Nothing was saved. Open the form again, or "+
				"switch back and resubmit it.")
	}
	values.Del(accountField)
	return values, nil
}

// parseForm reads the submitted form.
func (req *request) parseForm() (url.Values, error) {
	body, err := web.ReadBody(req.http, maxForm, "The form is too large (limit: %d bytes). Nothing was saved.")
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, cola.Errorf(cola.CodeValidation,
			"We couldn’t read the form. Nothing was saved. Reload the page and try again.")
	}
	return values, nil
}

// resubmitForm is a form that was rejected before it had any effect: the visitor is signed out, the
// session could not be read, or the request hit an outage or rate limit.
type resubmitForm struct {
	Action string
	Fields []formValue
}

type formValue struct{ Name, Value string }

// showResubmit asks a signed-out visitor to sign in, and offers to submit the form again.
func (req *request) showResubmit() error {
	form, err := req.readResubmitForm()
	if err != nil {
		return err
	}
	return req.show(http.StatusUnauthorized, "signed_out", page{Title: "You’re signed out", Data: form})
}

// readResubmitForm reads the submitted form, so that the page can offer to submit it again.
func (req *request) readResubmitForm() (resubmitForm, error) {
	values, err := req.parseForm()
	if err != nil {
		return resubmitForm{}, err
	}
	form := resubmitForm{Action: req.http.URL.RequestURI()}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[name] {
			form.Fields = append(form.Fields, formValue{name, value})
		}
	}
	return form, nil
}

// formField is a field of a form with its value and problems.
type formField struct {
	Name, Label, Hint string
	Mode              string // inputmode attribute
	Datalist          string // ID of the list of suggestions
	MaxLength         int    // in characters
	IsSelect          bool   // the value is one of Options

	Value    string
	Problems []string
	Options  []option // choices of a select
}

// ID returns the element ID of the field.
func (f formField) ID() string { return fieldID(f.Name) }

// DescribedBy returns the IDs of the field's descriptions, if it has any.
func (f formField) DescribedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if len(f.Problems) > 0 {
		ids = append(ids, f.ID()+"-problems")
	}
	return strings.Join(ids, " ")
}

func fieldID(name string) string { return strings.ReplaceAll(name, ".", "-") }

// checkbox is a checkbox in a form.
type checkbox struct {
	Name, Label string
	On          bool
}

// ID returns the element ID of the checkbox.
func (b checkbox) ID() string { return fieldID(b.Name) }

// fieldProblem is a problem with one field.
type fieldProblem struct {
	ID, Label string // ID is empty if the form has no such field
	Message   string
}
