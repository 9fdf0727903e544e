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

// maxSearchOptions is the maximum number of searches in a select, to keep the page small.
const maxSearchOptions = 100

// destinationForm is the form for a new destination.
type destinationForm struct {
	Values   url.Values
	Problems map[string][]string
	Error    string // a problem not tied to a single field
	Searches []option
	More     bool // the options omit some searches
	Rules    cola.DestinationRules
}

var destinationLabels = map[string]string{
	"kind": "Type", "address": "Address", "saved_search": "Searches",
	"send_empty": "Alert when there are no new labels",
}

var destinationHints = map[string]string{
	"saved_search": "Choose one search, or all. If you add the same address for one search and for all, the settings for the single search apply.",
}

// SendsMail reports whether the server sends email.
func (f *destinationForm) SendsMail() bool { return f.Rules.SendsMail }

// webhookURLHint describes the URLs that webhooks may have.
func webhookURLHint(rules cola.DestinationRules) string {
	if rules.PrivateWebhooks {
		return "An HTTP or HTTPS URL"
	}
	return "A public HTTPS URL"
}

// Text returns the value of a field.
func (f *destinationForm) Text(name string) string {
	return strings.ToValidUTF8(f.Values.Get(name), "\uFFFD")
}

// Is reports whether a field has the given value.
func (f *destinationForm) Is(name, value string) bool { return f.Values.Get(name) == value }

// ProblemList lists the problems with the fields.
func (f *destinationForm) ProblemList() []fieldProblem {
	return problemList(f.Problems, func(name string) (string, bool) {
		words, ok := destinationLabels[name]
		return words, ok
	})
}

// Field returns a field with its value and problems.
func (f *destinationForm) Field(name string) formField {
	field := formField{
		Name:      name,
		Label:     destinationLabels[name],
		Value:     f.Text(name),
		Problems:  f.Problems[name],
		Hint:      destinationHints[name],
		MaxLength: 1000,
	}
	if name == "address" {
		field.Mode, field.Hint = "url", webhookURLHint(f.Rules)+"."
		if f.SendsMail() {
			field.Hint = webhookURLHint(f.Rules) + " or an email address."
		}
		if f.Is("kind", cola.KindEmail) {
			field.Mode = "email"
		}
	}
	return field
}

func (req *request) newDestination() error {
	f := &destinationForm{Values: url.Values{
		"kind":         {cola.KindWebhook},
		"saved_search": {req.query().Get("saved_search")},
	}}
	if kind := req.query().Get("kind"); kind != "" {
		f.Values.Set("kind", kind)
	}
	return req.showDestinationForm(http.StatusOK, f)
}

// addDestination creates a destination. A webhook's secret appears only in this response.
func (req *request) addDestination() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	p := newDestinationReader.Read(newDestinationReader.Fields(form), nil)
	created, state, err := req.svc.CreateDestination(req.ctx(), req.caller, p)
	req.recordQuota(state)
	if err != nil {
		f := &destinationForm{Values: form}
		var ok bool
		if f.Problems, f.Error, ok = formErrors(err); !ok {
			return err
		}
		req.setRetryAfter(err)
		return req.showDestinationForm(web.StatusOf(cola.CodeOf(err)), f)
	}
	if created.Secret.OK {
		return req.showSecret(http.StatusCreated, newSecretPage(created), "Webhook added", req.destinationCall(form))
	}
	notice := "Destination added."
	if created.State == cola.DestinationUnconfirmed {
		notice = "Destination added. Alerts start once the recipient confirms by email."
	}
	return req.redirect(destinationPath(created.UUID), notice)
}

// showDestinationForm shows the form, with the searches to choose from.
func (req *request) showDestinationForm(status int, f *destinationForm) error {
	searches, state, err := req.svc.SavedSearchNames(req.ctx(), req.caller)
	if err != nil {
		return err
	}
	req.recordQuota(state)
	f.Rules = req.svc.DestinationRules()
	f.Searches, f.More = searchOptions(searches, f.Text("saved_search"), "All")
	return req.show(status, "destination_form",
		page{Title: "Add destination", Data: f, Call: req.destinationCall(f.Values)})
}

// searchOptions returns the first saved searches, and the chosen one, as options. more is true if
// there are others.
func searchOptions(searches registry.SavedSearchNames, chosen, empty string) (options []option, more bool) {
	options = []option{{Label: empty}}
	for i, s := range searches.Names {
		is := strings.EqualFold(s.UUID, chosen)
		if i < maxSearchOptions || is {
			options = append(options, option{Value: s.UUID, Label: truncate(s.Name, maxOptionName), Chosen: is})
		}
	}
	return options, len(options) <= len(searches.Names)
}

// maxOptionName is the maximum length of a search's name in a select, in characters.
const maxOptionName = 60

// destinationCall returns the API call that creates the destination.
func (req *request) destinationCall(form url.Values) *apiCall {
	body := map[string]any{"kind": form.Get("kind"), "address": form.Get("address")}
	if form.Get("address") == "" {
		body["address"] = "https://hooks.example.com/labels"
	}
	if search := form.Get("saved_search"); search != "" {
		body["saved_search"] = search
	}
	if form.Get("send_empty") == "true" {
		body["send_empty"] = true
	}
	return req.call(http.MethodPost, destinationsPath, freeCost).with(body)
}

// setRetryAfter sets the Retry-After header of a rate limit error.
func (req *request) setRetryAfter(err error) {
	if public, _ := web.PublicError(err, ""); public.RetryAfter > 0 {
		req.w.Header().Set("Retry-After", strconv.FormatInt(web.RetrySeconds(public.RetryAfter), 10))
	}
}
