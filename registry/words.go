package registry

import (
	"context"
)

// Words are what may be asked for, as far as it is known from the records. None of them costs anything to list.
type Words struct {
	Categories []string // category paths that labels have, and those above them
	States     []string // of permittees, two letters
}

// Words returns the words that the records hold. It is not metered and no request of the burst: call it for an admitted
// request only.
func (s *Service) Words(context.Context) (Words, error) {
	if err := s.built(); err != nil {
		return Words{}, err
	}
	v := s.index.View()
	return Words{Categories: v.Categories(), States: v.States()}, nil
}
