package web

import "strings"

// DefaultSiteName is the name of the service in headers and titles unless the operator sets
// another.
const DefaultSiteName = "Label approval registry"

// Operator is the company or person that runs the service, as named on pages and in emails.
type Operator struct {
	Name    string // company or person; may be empty
	Contact string // email address or http(s) URL; may be empty
	Source  string // http(s) URL of the source code; may be empty
}

// ContactURL returns the link to the contact, or "" if there is none.
func (o Operator) ContactURL() string {
	switch {
	case o.Contact == "", strings.HasPrefix(o.Contact, "https://"), strings.HasPrefix(o.Contact, "http://"):
		return o.Contact
	}
	return "mailto:" + o.Contact
}
