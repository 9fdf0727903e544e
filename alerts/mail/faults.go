package mail

import (
	"errors"
	"fmt"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/colaregistry/colaregistry/alerts"
)

const (
	faultNotSent = "The mail could not be sent: a fault of this service, not of the address."
	faultUnmade  = "The message could not be made: this version of the service does not know what it is to tell."
	faultAddress = "Mail can't be sent to this address."
	faultNobody  = "The account has no email address."
)

// sentBy says what an error of the server means. What the server says about the recipient, or about the message, counts against the destination;
// what it says about us does not: that it cannot be reached, or logged in to, or does not take mail from us.
func sentBy(err error) alerts.Sent {
	var e *gomail.SendError
	if !errors.As(err, &e) {
		return alerts.Sent{Fault: faultNotSent, Ours: true}
	}
	code, enhanced := e.ErrorCode(), e.EnhancedStatusCode()
	what := "message"
	switch e.Reason {
	case gomail.ErrSMTPRcptTo:
		what = "address"
	case gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
	default:
		return alerts.Sent{Fault: faultNotSent, Status: code, Ours: true}
	}
	if code < 400 || aboutUs(code) {
		return alerts.Sent{Fault: faultNotSent, Status: code, Ours: true}
	}
	said := strings.TrimSpace(fmt.Sprintf("%d %s", code, enhanced))
	if code < 500 {
		return alerts.Sent{Fault: fmt.Sprintf("The mail server put the %s off (%s).", what, said), Status: code}
	}
	// Of an address, 5.7 speaks of policy: relays say so to senders that they do not know, which a recipient must not pay for at once.
	final := e.Reason != gomail.ErrSMTPRcptTo || !strings.HasPrefix(enhanced, "5.7.")
	return alerts.Sent{Fault: fmt.Sprintf("The mail server refused the %s (%s).", what, said), Status: code, Final: final}
}

// aboutUs reports whether an answer is about how the server is spoken to, or about logging in.
func aboutUs(code int) bool {
	return code >= 500 && code <= 504 || code >= 530 && code <= 539 || code == 421
}
