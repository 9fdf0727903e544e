package httpapi

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/schemas"
	"github.com/colaregistry/colaregistry/internal/web"
)

const schemaPrefix = schemas.Prefix

// components are the schemas of the OpenAPI document.
type components struct{ *schemas.Set }

func newComponents() components { return components{schemas.New(schemaName)} }

// schemaName names the components: those of the contract by its names, the bodies of answers by what they hold.
func schemaName(t reflect.Type, hint string) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[cola.Cola]():
		return "ColaDetail"
	case reflect.TypeFor[dataOf[cola.Cola]]():
		return "ColaDetailResponse"
	case reflect.TypeFor[colaPage]():
		return "ColaSearchResponse"
	case reflect.TypeFor[permitteePage]():
		return "PermitteeSearchResponse"
	case reflect.TypeFor[cola.SavedSearchParams]():
		return "SavedSearchRequest"
	case reflect.TypeFor[cola.ScheduleParams]():
		return "ScheduleRequest"
	case reflect.TypeFor[cola.SavedSearchChangeParams]():
		return "SavedSearchChange"
	case reflect.TypeFor[cola.ScheduleChangeParams]():
		return "ScheduleChange"
	case reflect.TypeFor[cola.DestinationParams]():
		return "DestinationRequest"
	case reflect.TypeFor[cola.DestinationChangeParams]():
		return "DestinationChange"
	case reflect.TypeFor[cola.DestinationConfirmParams]():
		return "DestinationConfirmation"
	case reflect.TypeFor[cola.PreviewParams]():
		return "PreviewRequest"
	case reflect.TypeFor[web.ErrorBody]():
		return "ErrorResponse"
	case reflect.TypeFor[web.ErrorInfo]():
		return "Error"
	}
	name := huma.DefaultSchemaNamer(t, hint)
	for prefix, suffix := range map[string]string{"DataOf": "Response", "NotedOf": "WithNotesResponse", "RowsOf": "ListResponse", "PageOf": "ListResponse"} {
		if of, ok := strings.CutPrefix(name, prefix); ok {
			return of + suffix
		}
	}
	return name
}
