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

// tellAll lists what is wrong with a form, by the names of its fields.
func tellAll(problems map[string][]string, label func(name string) (string, bool)) (all []told) {
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		for _, message := range problems[name] {
			t := told{Label: strings.ToValidUTF8(name, "\uFFFD"), Message: message}
			if words, ok := label(name); ok {
				t.ID, t.Label = fieldID(name), words
			}
			all = append(all, t)
		}
	}
	return all
}

// holderField is a hidden field of forms that make something: the account that the form was shown to. Somebody with two accounts may sign in to the
// other one, in another tab, before it is sent.
const holderField = "holder"

// maxForm bounds the body of a form, in bytes.
const maxForm = 64 << 10

// form reads the form that was sent, which must not have been shown to another account than the one that is signed in.
func (v *visit) form() (url.Values, error) {
	values, err := v.sentFields()
	if err != nil {
		return nil, err
	}
	if shownTo := values.Get(holderField); v.signedIn && shownTo != "" && shownTo != fmt.Sprint(v.caller.Account) {
		return nil, cola.Errorf(cola.CodeForbidden, "This form was opened by another account than the one that is signed in now. Nothing was done: open the form anew, or sign in to the other account and send it again.")
	}
	values.Del(holderField)
	return values, nil
}

// sentFields reads the form that was sent, as it is.
func (v *visit) sentFields() (url.Values, error) {
	body, err := web.ReadBody(v.r, maxForm, "A form has %d bytes at most; nothing was changed. Send less at once.")
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, cola.Errorf(cola.CodeValidation, "The form could not be read; nothing was changed. Load the page again and send it once more.")
	}
	return values, nil
}

// keptForm is a form that was sent and not taken: nobody was signed in any more, or it could not be told who.
type keptForm struct {
	Action string
	Fields []keptField
}

type keptField struct{ Name, Value string }

// keepForm shows that nobody is signed in, with the form that was sent.
func (v *visit) keepForm() error {
	kept, err := v.kept()
	if err != nil {
		return err
	}
	return v.show(http.StatusUnauthorized, "again", page{Title: "You are signed out", Data: kept})
}

// kept reads the form that was sent, to put it on a page that can send it again.
func (v *visit) kept() (keptForm, error) {
	form, err := v.sentFields()
	if err != nil {
		return keptForm{}, err
	}
	kept := keptForm{Action: v.r.URL.RequestURI()}
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range form[name] {
			kept.Fields = append(kept.Fields, keptField{name, value})
		}
	}
	return kept, nil
}

// searchField is a field of the form of a saved search.
type searchField struct {
	Name, Label, Hint string
	Mode              string // of the keyboard that a phone shows
	List              string // id of the list of words that it may have
	Most              int    // characters that it takes
	Chosen            bool   // it is chosen from Options

	Value    string
	Problems []string
	Options  []option // of a field that is chosen from
}

// ID is the id of the field in the page.
func (f searchField) ID() string { return fieldID(f.Name) }

// Described returns the ids of what describes the field; empty for none.
func (f searchField) Described() string {
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

// searchBox is a box to tick.
type searchBox struct {
	Name, Label string
	On          bool
}

// ID is the id of the box in the page.
func (b searchBox) ID() string { return fieldID(b.Name) }

// told is one thing that is wrong with a form.
type told struct {
	ID, Label string // of the field; empty where the form has no such field
	Message   string
}
