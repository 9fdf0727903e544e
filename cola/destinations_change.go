package cola

// Apply returns a destination with a settled change made. own says that its address is the account's own one, which nobody else need
// agree to.
//
// What is made active is sent to from then on, whatever it was paused or disabled for; but where the recipient has not agreed, or has ended it,
// only the recipient can: that fails with CodeNotActive. Pausing what is not sent to anyway changes nothing, so that why it is not stays known.
func (p DestinationChangeParams) Apply(d Destination, own bool) (Destination, error) {
	d.SendEmpty = p.SendEmpty.Or(d.SendEmpty)
	switch {
	case !p.Active.OK:
	case p.Active.V && !own && d.NeedsConsent():
		return Destination{}, d.notConfirmed()
	case p.Active.V:
		d.State, d.Reason, d.FailingSince = DestinationActive, Opt[string]{}, Opt[Timestamp]{}
	case d.State == DestinationActive:
		d.State, d.Reason = DestinationPaused, Some(ReasonHolder)
	}
	return d, nil
}

// NeedsConsent reports whether nothing may be sent to a destination, unless it is the account's own address, before its recipient agrees.
func (d Destination) NeedsConsent() bool {
	return d.State == DestinationUnconfirmed || d.Reason.V == ReasonUnsubscribed
}

// notConfirmed refuses to send anything to someone who has not agreed.
func (d Destination) notConfirmed() error {
	says := "Whoever has this address has not agreed to get messages yet; the e-mail that was sent there has a link for it."
	if d.State != DestinationUnconfirmed {
		says = "Whoever has this address has ended the messages, and has to agree to them again."
	}
	return inactive(d, says+" To have it asked again send POST /destinations/"+d.UUID+"/confirmation.")
}

// inactive is the refusal of what only an active destination can be used for.
func inactive(d Destination, message string) *Error {
	refusal := Errorf(CodeNotActive, "%s", message)
	refusal.Details = map[string]any{"state": d.State}
	if d.Reason.OK {
		refusal.Details["reason"] = d.Reason.V
	}
	return refusal
}

// CheckActive fails with CodeNotActive, telling what to do, unless messages are sent to the destination. own is as for Apply.
func (d Destination) CheckActive(own bool) error {
	switch {
	case d.State == DestinationActive:
		return nil
	case !own && d.NeedsConsent():
		return d.notConfirmed()
	}
	return inactive(d, "The destination is "+d.State+", so nothing is sent to it. To have it sent to again, send PATCH /destinations/"+d.UUID+" with {\"active\": true}.")
}

// Confirmed returns an e-mail destination to which its recipient has agreed: it is active, unless it is paused for another reason than
// the recipient's.
func (d Destination) Confirmed() Destination {
	if d.NeedsConsent() {
		d.State, d.Reason = DestinationActive, Opt[string]{}
	}
	return d
}

// Unsubscribed returns an e-mail destination that its recipient has ended.
func (d Destination) Unsubscribed() Destination {
	d.State, d.Reason = DestinationPaused, Some(ReasonUnsubscribed)
	return d
}

// Asked returns an e-mail destination whose recipient is asked to agree, perhaps again.
func (d Destination) Asked() Destination {
	d.State, d.Reason = DestinationUnconfirmed, Opt[string]{}
	return d
}
