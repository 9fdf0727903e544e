package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

var newDestinationReader = params.New[cola.DestinationParams]("this form")

// mostOffered is how many searches a field offers: a page must stay small.
const mostOffered = 100

// destinationForm is the form of a new destination, as it is shown.
type destinationForm struct {
	Typed     url.Values
	Problems  map[string][]string
	Sentence  string // what is wrong that is of no field
	Searches  []option
	More      bool // searches than are offered
	SendsMail bool
}

var destinationLabels = map[string]string{"kind": "How", "address": "Address", "saved_search": "For", "send_empty": "Runs that find nothing"}

var destinationHints = map[string]string{
	"address":      "For a webhook, an https URL on the public internet; for email, an email address.",
	"saved_search": "For one search it comes in place of a destination of all searches with the same address.",
}

// Text returns what was typed into a field.
func (f *destinationForm) Text(name string) string {
	return strings.ToValidUTF8(f.Typed.Get(name), "\uFFFD")
}

// Is reports whether a field has a value.
func (f *destinationForm) Is(name, value string) bool { return f.Typed.Get(name) == value }

// Told lists what is wrong with the fields of the form.
func (f *destinationForm) Told() []told {
	return tellAll(f.Problems, func(name string) (string, bool) {
		words, ok := destinationLabels[name]
		return words, ok
	})
}

// Field returns a field for its problems.
func (f *destinationForm) Field(name string) searchField {
	field := searchField{Name: name, Label: destinationLabels[name], Value: f.Text(name), Problems: f.Problems[name], Hint: destinationHints[name], Most: 1000}
	if name == "address" {
		field.Mode = "url"
		if f.Is("kind", cola.KindEmail) {
			field.Mode = "email"
		}
	}
	return field
}

func (v *visit) newDestination() error {
	f := &destinationForm{Typed: url.Values{"kind": {cola.KindWebhook}, "saved_search": {v.query().Get("saved_search")}}}
	if kind := v.query().Get("kind"); kind != "" {
		f.Typed.Set("kind", kind)
	}
	return v.showDestinationForm(http.StatusOK, f)
}

// addDestination makes a destination. The secret of a webhook is in the answer, this once.
func (v *visit) addDestination() error {
	typed, err := v.form()
	if err != nil {
		return err
	}
	p := newDestinationReader.Read(newDestinationReader.Fields(typed), nil)
	made, state, err := v.svc.CreateDestination(v.ctx(), v.caller, p)
	v.asked(state)
	if err != nil {
		f := &destinationForm{Typed: typed}
		var ok bool
		if f.Problems, f.Sentence, ok = refused(err); !ok {
			return err
		}
		v.tellRetry(err)
		return v.showDestinationForm(web.StatusOf(cola.CodeOf(err)), f)
	}
	if made.Secret.OK {
		return v.showSecret(http.StatusCreated, made, "The webhook is added", v.destinationCall(typed))
	}
	notice := "The destination is added."
	if made.State == cola.DestinationUnconfirmed {
		notice = "Destination added. The owner of the address is asked by email to agree; no other messages are sent until then."
	}
	return v.leadTo(destinationPath(made.UUID), notice)
}

// showDestinationForm shows the form, with the searches that a destination may be for.
func (v *visit) showDestinationForm(status int, f *destinationForm) error {
	roll, state, err := v.svc.SearchRoll(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	v.asked(state)
	f.SendsMail = v.svc.SendsMail()
	f.Searches, f.More = searchOptions(roll, f.Text("saved_search"), "all saved searches")
	return v.show(status, "destinationform", page{Title: "New destination", Data: f, Call: v.destinationCall(f.Typed)})
}

// searchOptions offers searches to choose from, the first of them and the one that is chosen; more tells that there are others.
func searchOptions(roll registry.SearchRoll, chosen, none string) (options []option, more bool) {
	options = []option{{Label: none}}
	for i, s := range roll.Names {
		is := strings.EqualFold(s.UUID, chosen)
		if i < mostOffered || is {
			options = append(options, option{Value: s.UUID, Label: shortened(s.Name, mostOfName), Chosen: is})
		}
	}
	return options, len(options) <= len(roll.Names)
}

// mostOfName is how many characters of a name a field offers.
const mostOfName = 60

// destinationCall is the call of the API that makes the destination of a form.
func (v *visit) destinationCall(typed url.Values) *apiCall {
	body := map[string]any{"kind": typed.Get("kind"), "address": typed.Get("address")}
	if typed.Get("address") == "" {
		body["address"] = "https://hooks.example.com/labels"
	}
	if search := typed.Get("saved_search"); search != "" {
		body["saved_search"] = search
	}
	if typed.Get("send_empty") == "true" {
		body["send_empty"] = true
	}
	return v.call(http.MethodPost, destinationsPath, freeAlways).with(body)
}

// tellRetry tells when what was refused for having been asked for too often may be asked for again.
func (v *visit) tellRetry(err error) {
	if shown, _ := web.Shown(err, ""); shown.RetryAfter > 0 {
		v.w.Header().Set("Retry-After", strconv.FormatInt(web.RetrySeconds(shown.RetryAfter), 10))
	}
}
