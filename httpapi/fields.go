package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// sparseCall is listCall for a list with a fields parameter. split separates the service's
// parameters from the value of fields; render gets the chosen members of a row, or nil if the
// caller chose none.
func sparseCall[P, Q, R any](
	row reflect.Type, split func(*P) (q *Q, problems *cola.Problems, fields []string),
	fetch func(context.Context, cola.Caller, Q) (R, cola.QuotaState, error), render func(R, []string) result,
) call {
	d, names := newDecoder[P](), web.MemberNames(row)
	return func(r *http.Request, caller cola.Caller) (result, cola.QuotaState, error) {
		p := new(P)
		d.decodeInto(p, r.URL.RawQuery)
		q, problems, fields := split(p)
		fields = problems.Choices("fields", fields, names)
		value, state, err := fetch(r.Context(), caller, *q)
		if err != nil {
			return result{}, state, err
		}
		return render(value, fields), state, nil
	}
}
