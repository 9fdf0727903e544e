package dashboard

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// refused returns what a form or a page is shown again with when the service has refused it for what its sender can mend: correctable, said in the words of
// pages rather than of the API. The other refusals of this area that a sender can mend are among them.
func refused(err error) (problems map[string][]string, sentence string, ok bool) {
	problems, _, ok = correctable(err)
	refusal, is := errors.AsType[*cola.Error](err)
	switch {
	case !is:
		return nil, "", false
	case refusal.Code == cola.CodeIdempotencyKeyReused:
		return nil, "You have saved another search from this form already. To save this one beside it, save once more.", true
	case refusal.Code == cola.CodeQuotaExceeded && slices.Contains([]any{"confirmations", registry.ReasonManualRuns, registry.ReasonTests}, refusal.Details["reason"]):
		return nil, refusal.Message, true
	case !ok:
		return nil, "", false
	case len(problems) > 0:
		return problems, "Nothing was saved. Something has to be mended first:", true
	}
	return nil, sentenceOf(refusal), true
}

// sentenceOf says a refusal in the words of pages.
func sentenceOf(refusal *cola.Error) string {
	switch refusal.Code {
	case cola.CodeSearchTooBroad:
		return "A search that runs by itself needs something that narrows it: words, a name, a number, a place, a category path, a strength, a size, " +
			"or some but not all of the kinds, categories, origins or containers. A status alone is too broad. Without a schedule it can be kept as it is."
	case cola.CodeWatchlistLimit:
		return limitSentence(refusal)
	case cola.CodeDestinationLimit:
		return "Your account has as many destinations as it may: " + strconv.Itoa(cola.MaxDestinations) + ". Delete one that is no longer needed first."
	case cola.CodeDestinationExists:
		return "Your account has this destination already, for the same searches; it is in the list of destinations. If its secret is lost, replace it there."
	case cola.CodeNotActive:
		return inactiveSentence(refusal)
	}
	return refusal.Message
}

func limitSentence(refusal *cola.Error) string {
	limit, _ := refusal.Details["limit"].(int)
	switch {
	case limit == 0:
		return "Your account may have no saved search that runs by itself. Ask the operator of this service."
	case limit > cola.MaxActiveSchedules:
		return "Your account has as many saved searches as it may: " + count(limit) + ". Delete some that are no longer needed first."
	}
	return "Your account may have " + plural(limit, "saved search that runs by itself", "saved searches that run by themselves") +
		", and has that many. Pause or delete another one first, or save this one paused or without a schedule."
}

// inactiveSentence says why nothing can be sent or run.
func inactiveSentence(refusal *cola.Error) string {
	state, _ := refusal.Details["state"].(string)
	reason, _ := refusal.Details["reason"].(string)
	switch {
	case state == cola.DestinationPending && strings.Contains(refusal.Message, "no challenge"):
		return "No more codes can be entered for the latest challenge. Send another challenge."
	case state == cola.DestinationPending:
		return "The endpoint has not confirmed yet. It must answer the challenge, or you enter the code from it."
	case state == cola.DestinationUnconfirmed:
		return "The owner of this address has not agreed yet. They received an email with a link to confirm; you can ask them again."
	case reason == cola.ReasonUnsubscribed:
		return "The owner of this address has unsubscribed and must agree again. You can ask them."
	case state != "":
		return "The destination is " + state + ", so nothing is sent to it. Resume it first."
	case strings.Contains(refusal.Message, "destination of this message"):
		return "Nothing is sent to the destination of this message now. Open the destination to see why, and to resume it."
	}
	return refusal.Message
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

// Told lists what is wrong with the fields of the form.
func (f *searchForm) Told() []told {
	return tellAll(f.Problems, func(name string) (string, bool) {
		field, ok := fieldOf(name)
		return field.Label, ok && name != "filters" && name != "schedule"
	})
}
