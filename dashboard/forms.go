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

// Forms whose result is shown once carry a single-use token: submitting the form again, as reloading
// the result does, must not create another. See auth.Browsers.OpenForm.

// formUsed starts the message for a form token that is not valid: used, expired or unknown.
const formUsed = "This form was sent before, or is not one that is open for this account, so nothing was done now. "

// formUsedSecret is the message for such a form if its answer is shown only once.
const formUsedSecret = formUsed +
	"What it made, if it was sent, was shown then and cannot be shown again. If you do not have it, open the form anew."

// newFormToken returns a token for a form.
func (req *request) newFormToken() (token string, err error) { return req.browsers.OpenForm(req.ctx()) }

// useFormToken reports whether a form with a token is sent for the first time. From then on it is
// not.
func (req *request) useFormToken(token string) (first bool, err error) {
	return req.browsers.TakeForm(req.ctx(), token)
}

// problemList lists the problems of a form in the order of the field names.
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

// accountField is a hidden field of forms that make something: the account that the form was shown
// to. Somebody with two accounts may sign in to the other one, in another tab, before it is sent.
const accountField = "holder"

// maxForm bounds the body of a form, in bytes.
const maxForm = 64 << 10

// form reads the submitted form. It refuses a form that was opened by another account.
func (req *request) form() (url.Values, error) {
	values, err := req.parseForm()
	if err != nil {
		return nil, err
	}
	if shownTo := values.Get(accountField); req.signedIn && shownTo != "" && shownTo != fmt.Sprint(req.caller.Account) {
		return nil, cola.Errorf(cola.CodeForbidden,
			"This form was opened by another account than the one that is signed in now. Nothing was done: open the "+
				"form anew, or sign in to the other account and send it again.")
	}
	values.Del(accountField)
	return values, nil
}

// parseForm reads the submitted form.
func (req *request) parseForm() (url.Values, error) {
	body, err := web.ReadBody(req.http, maxForm, "A form has %d bytes at most; nothing was changed. Send less at once.")
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, cola.Errorf(cola.CodeValidation,
			"The form could not be read; nothing was changed. Load the page again and send it once more.")
	}
	return values, nil
}

// resubmitForm is a submitted form that was refused because nobody was signed in, or it was unknown
// who.
type resubmitForm struct {
	Action string
	Fields []formValue
}

type formValue struct{ Name, Value string }

// showResubmit shows that nobody is signed in, with the form to submit again.
func (req *request) showResubmit() error {
	form, err := req.readResubmitForm()
	if err != nil {
		return err
	}
	return req.show(http.StatusUnauthorized, "signed_out", page{Title: "You are signed out", Data: form})
}

// readResubmitForm reads the submitted form, to offer it for submission again.
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

// formField is a field of the form of a saved search.
type formField struct {
	Name, Label, Hint string
	Mode              string // of the keyboard that a phone shows
	Datalist          string // id of the list of words that it may have
	MaxLength         int    // characters that it takes
	Chosen            bool   // it is chosen from Options

	Value    string
	Problems []string
	Options  []option // of a field that is chosen from
}

// ID is the id of the field in the page.
func (f formField) ID() string { return fieldID(f.Name) }

// DescribedBy returns the IDs of the field's descriptions; empty if it has none.
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

// checkbox is a box to tick.
type checkbox struct {
	Name, Label string
	On          bool
}

// ID is the id of the box in the page.
func (b checkbox) ID() string { return fieldID(b.Name) }

// fieldProblem is one thing that is wrong with a form.
type fieldProblem struct {
	ID, Label string // of the field; empty where the form has no such field
	Message   string
}
