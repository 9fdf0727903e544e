package records

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// AttemptedDelivery is a delivery with its destination. Apply changes both.
type AttemptedDelivery struct {
	Delivery    DeliveryState
	Destination DestinationState

	Event     string
	CreatedAt time.Time
	Kind      string // kind of the destination
	Address   string // address of the destination, folded for comparison
	Email     string // email address of the account, folded for comparison
}

// DeliveryState is the part of a delivery that an attempt changes.
type DeliveryState struct {
	State          string
	Error          cola.Text
	Attempts       int
	FirstAttemptAt time.Time
	NextAttemptAt  time.Time
	SettledAt      time.Time
}

// Columns returns the columns of a delivery row that hold d.
func (d *DeliveryState) Columns() []Column {
	return []Column{
		{"state", &d.State}, {"error", &d.Error}, {"attempts", &d.Attempts}, {"first_attempt_at", &d.FirstAttemptAt},
		{"next_attempt_at", &d.NextAttemptAt}, {"settled_at", &d.SettledAt},
	}
}

// DestinationState is the part of a destination that an attempt changes.
type DestinationState struct {
	State           string
	Reason          cola.Text
	LastDeliveredAt time.Time
	FailingSince    time.Time
	VerifiedAt      time.Time
}

// Columns returns the columns of a destination row that hold d.
func (d *DestinationState) Columns() []Column {
	return []Column{
		{"state", &d.State}, {"reason", &d.Reason},
		{"last_delivered_at", &d.LastDeliveredAt}, {"failing_since", &d.FailingSince},
		{"verified_at", &d.VerifiedAt},
	}
}

// EndOfAttempt returns an attempt's end time as stored: UTC, in whole microseconds.
func EndOfAttempt(a *store.Attempt) time.Time { return toMicroseconds(a.At.Add(a.Took)) }

func toMicroseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Apply applies an attempt. paused reports whether it pauses the destination, so that its other
// deliveries are skipped; notify reports whether the account must be notified.
func (r *AttemptedDelivery) Apply(a *store.Attempt) (paused, notify bool) {
	if a.State == cola.DeliverySkipped {
		d := &r.Delivery
		d.State, d.Error, d.NextAttemptAt, d.SettledAt = a.State, cola.Text(StorableText(a.Error)), time.Time{}, EndOfAttempt(a)
		return false, false
	}
	if r.Event != cola.EventPaused { // pause notices go to the account's email address, not to this destination
		paused = r.applyToDestination(a)
	}
	d, ended := &r.Delivery, EndOfAttempt(a)
	d.Attempts++
	if d.FirstAttemptAt.IsZero() {
		d.FirstAttemptAt = toMicroseconds(a.At)
	}
	d.State, d.Error, d.NextAttemptAt, d.SettledAt = a.State, cola.Text(StorableText(a.Error)), time.Time{}, ended
	why := r.Destination.Skipping()
	switch {
	case a.State != cola.DeliveryPending:
	case why != "" && r.Event != cola.EventPaused:
		d.State, d.Error = cola.DeliverySkipped, cola.Text(why)
	default:
		d.NextAttemptAt, d.SettledAt = toMicroseconds(a.Next), time.Time{}
	}
	own := r.Kind == cola.KindEmail && r.Address == r.Email
	return paused, paused && !own && !store.IsIdentityName(r.Email)
}

func (r *AttemptedDelivery) applyToDestination(a *store.Attempt) (paused bool) {
	d, ended := &r.Destination, EndOfAttempt(a)
	last := d.LastDeliveredAt
	if a.Error == "" {
		d.FailingSince = time.Time{}
		if last.Before(ended) {
			d.LastDeliveredAt = ended
		}
	} else if d.FailingSince.IsZero() && last.Before(a.At) {
		d.FailingSince = toMicroseconds(a.At)
	}
	switch {
	case a.Verified && d.State == cola.DestinationPending:
		d.State, d.VerifiedAt = cola.DestinationActive, ended
	case a.Pause == cola.ReasonGone && d.State != cola.DestinationDisabled:
		d.State, d.Reason = cola.DestinationDisabled, cola.ReasonGone
		return true
	case a.Pause == cola.ReasonFailing && d.State == cola.DestinationActive && last.Before(r.CreatedAt):
		d.State, d.Reason = cola.DestinationPaused, cola.ReasonFailing
		return true
	}
	return false
}

// Skipping returns the reason why messages to the destination are skipped, or an empty string if
// they are sent.
func (d *DestinationState) Skipping() string {
	return store.Destination{Destination: cola.Destination{State: d.State}}.Skipping()
}

// StorableText returns text from another machine in a form that both databases can store. An
// attempt that cannot be recorded would be repeated forever.
func StorableText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// StorableExchange returns an exchange that both databases can store, with each part cut to its
// limit.
func StorableExchange(e store.Exchange) store.Exchange {
	return store.Exchange{
		Subject: StorableText(e.Subject), Sent: storableMessage(e.Sent),
		Headers: truncated(e.Headers, store.MaxResponseHeaders), Response: truncated(e.Response, store.MaxResponse),
	}
}

// storableMessage returns a message body or, if it is too long, its beginning followed by
// store.TruncatedMark.
func storableMessage(body string) string {
	body = StorableText(body) // the result may be longer
	if len(body) <= store.MaxSent {
		return body
	}
	return truncated(body, store.MaxSent) + store.TruncatedMark
}

// truncated cuts text to at most limit bytes, at a character boundary, and returns it in a form
// that both databases can store.
func truncated(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
		for range utf8.UTFMax - 1 { // the text may end within a character
			if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
				break
			}
			text = text[:len(text)-1]
		}
	}
	return StorableText(text)
}

// Pack compresses text. It returns nil for empty text.
func Pack(text string) []byte {
	if text == "" {
		return nil
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, text) // a Buffer returns no errors
	_ = w.Close()
	return packed.Bytes()
}

// Unpack returns the text that Pack compressed.
func Unpack(packed []byte) (string, error) {
	if packed == nil {
		return "", nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	// Replacing invalid UTF-8 may have lengthened the text.
	text, err := io.ReadAll(io.LimitReader(r, 4*store.MaxSent))
	return string(text), err
}
