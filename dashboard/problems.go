package dashboard

import (
	"errors"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// problemsOf returns what a refusal says of each field of a form.
func problemsOf(err error) map[string][]string {
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeValidation {
		return nil
	}
	problems := map[string][]string{}
	for field, value := range refusal.Details {
		if messages, ok := value.([]string); ok {
			problems[field] = messages
		}
	}
	return problems
}

func sortDetails(details []faultDetail) {
	slices.SortFunc(details, func(a, b faultDetail) int { return strings.Compare(a.Field, b.Field) })
}

// correctable returns what a form is shown again with when the service has refused it for what its sender can mend, and whether it is so: the
// problems by field, and a sentence for those of no field.
func correctable(err error) (problems map[string][]string, sentence string, ok bool) {
	var refusal *cola.Error
	if !errors.As(err, &refusal) {
		return nil, "", false
	}
	switch refusal.Code {
	case cola.CodeValidation, cola.CodeSearchTooBroad, cola.CodeWatchlistLimit, cola.CodeDestinationLimit, cola.CodeDestinationExists, cola.CodeNotActive,
		cola.CodeKeyLimit:
		return problemsOf(err), refusal.Message, true
	}
	return nil, "", false
}
