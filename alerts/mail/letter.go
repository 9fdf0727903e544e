package mail

import (
	"fmt"
	netmail "net/mail"
	"net/url"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
)

// letter makes the mail that a message is; nil when it cannot be made, and what that means.
func (s *Sender) letter(m alerts.Message) (*gomail.Msg, alerts.Sent) {
	to := recipient(m)
	switch {
	case to == "":
		return nil, alerts.Sent{Fault: faultNobody, Final: true, Ours: true}
	case !sendable(to):
		return nil, alerts.Sent{Fault: faultAddress, Final: true}
	}
	c, err := s.compose(m)
	if err != nil {
		s.log.Error("cannot compose email", "delivery", m.ID, "event", m.Event, "error", err)
		return nil, alerts.Sent{Fault: faultUnmade, Ours: true}
	}
	l := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithEncoding(gomail.EncodingQP))
	l.FromMailAddress(&s.from)
	l.ToMailAddress(&netmail.Address{Address: to})
	l.Subject(c.subject)
	l.SetMessageIDWithValue(fmt.Sprintf("%s@%s", url.PathEscape(m.MessageID), s.domain()))
	l.SetDateWithValue(s.now().UTC())
	l.SetGenHeader("Auto-Submitted", "auto-generated")
	if c.unsubscribe != "" {
		l.SetGenHeaderPreformatted(gomail.HeaderListUnsubscribe, "<"+c.unsubscribe+">")
		l.SetGenHeaderPreformatted(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	l.SetBodyString(gomail.TypeTextPlain, c.text)
	l.AddAlternativeString(gomail.TypeTextHTML, c.html)
	return l, alerts.Sent{}
}

// sendable reports whether mail can be sent to an address: a bare one, as it is written.
func sendable(address string) bool {
	a, err := netmail.ParseAddress(address)
	return err == nil && a.Address == address && a.Name == "" && plain(address, 320) == address && !strings.ContainsAny(address, " <>,;\"")
}

// ascii reports whether the addresses of a letter are plain.
func ascii(l *gomail.Msg) bool {
	for _, a := range append(l.GetTo(), l.GetFrom()...) {
		if strings.ContainsFunc(a.Address, func(r rune) bool { return r > '~' }) {
			return false
		}
	}
	return true
}

// tellsAccount reports whether an event is told to the account, whatever its destination.
func tellsAccount(event string) bool { return event == cola.EventPaused }
