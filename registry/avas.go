package registry

import (
	"context"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// AVAs returns the viticultural areas that match, sorted by name. It is free.
func (s *Service) AVAs(ctx context.Context, c cola.Caller, p cola.AVAParams) (List[cola.AVA], cola.QuotaState, error) {
	q, err := p.Normalize()
	today := s.today()
	return listReference(ctx, s, c, err, func(r *store.ReferenceSets) []cola.AVA {
		found := []cola.AVA{}
		for i := range r.AVAs {
			a := &r.AVAs[i].AVA
			if inState(q.State, a.States) && search.Contains(a.Name, q.Q) && (!q.Current || a.IsCurrent(today)) {
				found = append(found, *a)
			}
		}
		return found
	}, func(w Vocabulary) []string { return w.AVAs.notes(listFilter{"state", q.State}, listFilter{"q", q.Q}) })
}

// AVA returns a viticultural area. It is free.
func (s *Service) AVA(
	ctx context.Context, c cola.Caller, id, ifNoneMatch string,
) (Tagged[cola.AVADetail], cola.QuotaState, error) {
	return lookup(ctx, s, c, cola.MeterNone, ifNoneMatch, func() (cola.AVADetail, error) {
		id = strings.TrimSpace(id)
		for _, a := range s.references.Load().AVAs {
			if strings.EqualFold(a.AVAID, id) {
				return a, nil
			}
		}
		return cola.AVADetail{}, cola.Errorf(cola.CodeNotFound, "No AVA has the ID %s.", cola.Quoted(id))
	})
}

func inState(state string, states []string) bool {
	if state == "" {
		return true
	}
	for _, s := range states {
		if strings.EqualFold(s, state) {
			return true
		}
	}
	return false
}
