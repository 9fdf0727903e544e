package webhook

import (
	"errors"
	"fmt"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
)

// payload is the body of a message, as recommended by Standard Webhooks.
type payload struct {
	Type      string         `json:"type"`
	Timestamp cola.Timestamp `json:"timestamp"` // of the event
	Data      any            `json:"data"`
}

// runData is the data in a message about a run.
type runData struct {
	SavedSearch search              `json:"saved_search"`
	Run         cola.SavedSearchRun `json:"run"`
	Labels      []label             `json:"labels"`
	More        int                 `json:"more"` // number of labels that are not included
	MatchesURL  string              `json:"matches_url"`
}

type search struct {
	UUID      string `json:"uuid"`
	Name      string `json:"name"`
	ManageURL string `json:"manage_url"`
}

// label is a label as it appears in search results, with its match.
type label struct {
	cola.ColaSummary
	Late bool           `json:"late"`
	Met  cola.FilterSet `json:"met"`
}

// testData is the data in a test message.
type testData struct {
	Destination destination `json:"destination"`
}

type destination struct {
	UUID string `json:"uuid"`
}

// challengeData is the data in a challenge.
type challengeData struct {
	Destination destination `json:"destination"`
	Challenge   string      `json:"challenge"` // token to respond with
	Code        string      `json:"code"`      // code for the account holder to enter
}

// challenge decrypts the challenge of a message's destination.
func (s *Sender) challenge(m alerts.Message) (cola.Challenge, error) {
	token, err := s.vault.Open(vault.Challenge, m.Destination.UUID, m.Destination.Challenge.Sealed)
	if err == nil && token == "" {
		err = errors.New("the destination has no challenge")
	}
	return cola.Challenge(token), err
}

// body returns the body of a message. All attempts have the same body unless the saved search or
// the labels change in between.
func (s *Sender) body(m alerts.Message) ([]byte, error) {
	p := payload{Type: m.Event, Timestamp: cola.TimestampOf(m.CreatedAt)}
	switch {
	case m.Event == cola.EventRan && m.Content != nil:
		data := s.runData(m)
		p.Timestamp, p.Data = data.Run.RanAt, data
	case m.Event == cola.EventTest:
		p.Data = testData{destination{m.Destination.UUID}}
	case m.Event == cola.EventConfirm:
		c, err := s.challenge(m)
		if err != nil {
			return nil, err
		}
		p.Data = challengeData{destination{m.Destination.UUID}, string(c), c.Code()}
	default:
		return nil, fmt.Errorf("unknown event %q", m.Event)
	}
	return cola.AppendJSON(nil, p)
}

func (s *Sender) runData(m alerts.Message) runData {
	c := m.Content
	manageURL := s.public + "/saved-searches/" + c.Search.UUID
	data := runData{
		SavedSearch: search{c.Search.UUID, c.Search.Name, manageURL},
		Run:         c.Run,
		Labels:      []label{},
		More:        max(0, c.Run.MatchCount-len(c.Labels)),
		MatchesURL:  fmt.Sprintf("%s/api/v1/saved-searches/%s/runs/%d/matches", s.public, c.Search.UUID, c.Run.ID),
	}
	for _, l := range c.Labels {
		data.Labels = append(data.Labels, label{l.Label, l.Match.Late, l.Match.Met})
	}
	return data
}
