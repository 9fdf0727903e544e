package httpapi

import (
	"maps"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/internal/web"
)

// flags are what curl asks for an operation with.
func (op *openOperation) flags() string {
	if op.method == "" {
		return ""
	}
	return "-X " + op.method + " "
}

// recipientOperations are the addresses that messages hold.
func recipientOperations() []openOperation {
	token := func(example string) []*huma.Param {
		return []*huma.Param{{
			Name: "token", In: "path", Required: true, Description: "The secret of the address, as it was given." + isPlaceholder,
			Example: example, Schema: &huma.Schema{Type: huma.TypeString},
		}}
	}
	page := func(id, method, path, example, summary, description string) openOperation {
		return openOperation{
			id: id, method: method, path: path, summary: summary, description: description, example: example + exampleMailToken, placeholder: "token",
			params: token(exampleMailToken), content: content("text/html", &huma.Schema{Type: huma.TypeString, Description: "A page for people."}),
			pages: true, errors: []int{http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable},
		}
	}
	oneClick := page("unsubscribe", http.MethodPost, unsubscribePath, "/unsubscribe/", "End messages to an address",
		"Ends what a message was sent for, by the link that every one has. A mail program's one click (RFC 8058: a form with `List-Unsubscribe=One-Click`) is answered with a line of text, anything else with a page.")
	oneClick.content["text/plain"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "The answer to one click."}}
	return []openOperation{
		page("getUnsubscribe", "", unsubscribePath, "/unsubscribe/", "Ask to end messages", "A page that asks whether to end what a message was sent for. It ends nothing."),
		oneClick,
		page("getConfirm", "", confirmPath, "/confirm/", "Ask to agree to messages", "A page that asks whoever has an address whether messages may be sent there. It changes nothing."),
		page("confirm", http.MethodPost, confirmPath, "/confirm/", "Agree to messages", "Has messages sent to the address that the link was sent to, for the first time or again."),
		{
			id: "getFeed", path: feedPath, example: "/feeds/" + exampleFeedToken, placeholder: "token", cached: true, params: token(exampleFeedToken),
			summary: "The feed of a saved search", description: "The latest 30 runs with matches, as Atom (RFC 4287): up to 25 labels of scheduled runs in total, and counts and links for the rest. Free. Entry IDs are stable.",
			content: content("application/atom+xml", &huma.Schema{Type: huma.TypeString, Description: "A feed."}),
			errors:  []int{http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable},
		},
	}
}

// onPages describes errors that are told on pages. A panic is told in the envelope, as everywhere.
func (s components) onPages(o *huma.Operation, op *openOperation) {
	for _, status := range append(op.errors, http.StatusInternalServerError) {
		told := maps.Clone(op.content)
		if status == http.StatusInternalServerError {
			told[mediaJSON] = &huma.MediaType{Schema: s.Of(reflect.TypeFor[web.ErrorBody]())}
		}
		o.Responses[statusKey(status)] = &huma.Response{
			Description: kindNamed(errorResponseName(status)).description, Headers: headerRefs([]string{"X-Request-Id"}), Content: told,
		}
	}
}
