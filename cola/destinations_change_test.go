package cola

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// standing is what a destination comes to, in short.
type standing struct{ state, reason string }

func (s standing) destination() Destination {
	d := Destination{UUID: "5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10", Kind: KindEmail, Address: Some("a@example.com"), State: s.state, FailingSince: Some(Timestamp(1))}
	if s == pending {
		d.Kind, d.Address = KindWebhook, Some("https://hooks.example.com/T0/B0/secret")
	}
	if s.reason != "" {
		d.Reason = Some(s.reason)
	}
	return d
}

func standingOf(d Destination) standing { return standing{d.State, d.Reason.V} }

var (
	active       = standing{DestinationActive, ""}
	unconfirmed  = standing{DestinationUnconfirmed, ""}
	pending      = standing{DestinationPending, ""}
	holders      = standing{DestinationPaused, ReasonHolder}
	unsubscribed = standing{DestinationPaused, ReasonUnsubscribed}
	failing      = standing{DestinationPaused, ReasonFailing}
	gone         = standing{DestinationDisabled, ReasonGone}
	refused      = standing{} // with CodeNotActive
)

// TestStandings goes through everything that can be done to a destination in each of its states.
func TestStandings(t *testing.T) {
	for _, tt := range []struct {
		from                             standing
		resumed, resumedOwn, paused      standing // by the account holder
		confirmed, unsubscribed, checked standing // by the recipient; and whether it can be used
	}{
		{active, active, active, holders, active, unsubscribed, active},
		{unconfirmed, refused, active, unconfirmed, active, unsubscribed, refused},
		{pending, refused, active, pending, active, unsubscribed, refused},
		{holders, active, active, holders, holders, unsubscribed, refused},
		{unsubscribed, refused, active, unsubscribed, active, unsubscribed, refused},
		{failing, active, active, failing, failing, unsubscribed, refused},
		{gone, active, active, gone, gone, unsubscribed, refused},
	} {
		d, asked := tt.from.destination(), unconfirmed
		if d.Kind == KindWebhook {
			asked = pending
		}
		for name, k := range map[string]struct {
			got  func() (Destination, error)
			want standing
		}{
			"resumed":      {func() (Destination, error) { return DestinationChangeParams{Active: Some(true)}.Apply(d, false) }, tt.resumed},
			"resumed, own": {func() (Destination, error) { return DestinationChangeParams{Active: Some(true)}.Apply(d, true) }, tt.resumedOwn},
			"paused":       {func() (Destination, error) { return DestinationChangeParams{Active: Some(false)}.Apply(d, false) }, tt.paused},
			"confirmed":    {func() (Destination, error) { return d.Confirmed(), nil }, tt.confirmed},
			"unsubscribed": {func() (Destination, error) { return d.Unsubscribed(), nil }, tt.unsubscribed},
			"asked":        {func() (Destination, error) { return d.Asked(), nil }, asked},
			"used": {func() (Destination, error) {
				if err := d.CheckActive(false); err != nil {
					return Destination{}, err
				}
				return d, nil
			}, tt.checked},
		} {
			got, err := k.got()
			if standingOf(got) != k.want || (err != nil) != (k.want == refused) || err != nil && CodeOf(err) != CodeNotActive {
				t.Errorf("%v, %s: %v, %v; want %v", tt.from, name, standingOf(got), err, k.want)
			}
		}
	}
}

// TestNoWayAroundConsent: whatever the account holder does, nothing is sent to who has not agreed.
func TestNoWayAroundConsent(t *testing.T) {
	for _, from := range []standing{unconfirmed, pending, unsubscribed} {
		d := from.destination()
		for _, p := range []DestinationChangeParams{{Active: Some(false)}, {SendEmpty: Some(true)}, {Active: Some(false), SendEmpty: Some(false)}, {Active: Some(false)}} {
			var err error
			if d, err = p.Apply(d, false); err != nil {
				t.Fatal(err)
			}
			if _, err := (DestinationChangeParams{Active: Some(true)}).Apply(d, false); CodeOf(err) != CodeNotActive || !strings.Contains(err.Error(), "/destinations/"+d.UUID+"/confirmation") {
				t.Errorf("%v after %+v: %v, want to be told to ask", from, p, err)
			}
		}
	}
}

func TestDestinationChange(t *testing.T) {
	d := failing.destination()
	got, err := DestinationChangeParams{Active: Some(true), SendEmpty: Some(true)}.Apply(d, false)
	want := d
	want.State, want.Reason, want.FailingSince, want.SendEmpty = DestinationActive, Opt[string]{}, Opt[Timestamp]{}, true
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := (DestinationChangeParams{SendEmpty: Some(true)}).Apply(d, false); err != nil || standingOf(got) != failing || !got.SendEmpty || !got.FailingSince.OK {
		t.Errorf("only send_empty: %+v, %v", got, err)
	}
	if err := d.CheckActive(false); err == nil || !strings.Contains(err.Error(), `PATCH /destinations/`+d.UUID+` with {"active": true}`) {
		t.Errorf("a paused one is used: %v", err)
	}
	for _, from := range []standing{unconfirmed, pending, gone} {
		details := from.destination().CheckActive(false).(*Error).Details
		if reason, has := details["reason"]; details["state"] != from.state || has != (from.reason != "") || has && reason != from.reason {
			t.Errorf("%v has the details %v", from, details)
		}
	}
	if own := unsubscribed.destination(); !strings.Contains(own.CheckActive(true).Error(), "PATCH") {
		t.Errorf("the own one: %v", own.CheckActive(true))
	}
}

func TestDestinationChangeParams(t *testing.T) {
	for _, p := range []DestinationChangeParams{{Active: Some(false)}, {SendEmpty: Some(false)}, {Active: Some(true), SendEmpty: Some(true)}} {
		if got, err := p.Normalize(); err != nil || !cmp.Equal(got, p) {
			t.Errorf("%+v: %+v, %v", p, got, err)
		}
	}
	_, err := DestinationChangeParams{}.Normalize()
	checkProblems(t, "an empty change", err, map[string]string{"body": "It changes nothing."})
	_, err = DestinationChangeParams{Decoded: Decoded{Problems: Problems{"activ": {"There is no such parameter."}}}}.Normalize()
	checkProblems(t, "a misspelt change", err, map[string]string{"activ": "There is no such parameter."})
}

func TestRedacted(t *testing.T) {
	for _, tt := range []struct{ kind, address, want string }{
		{KindWebhook, "https://hooks.slack.com/services/T0/B0/secret?x=1#y", "https://hooks.slack.com"},
		{KindWebhook, "http://user:password@127.0.0.1:9090/labels", "http://127.0.0.1:9090"},
		{KindWebhook, "https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"},
		{KindEmail, "ann.smith@sub.example.com", "a…@sub.example.com"},
		{KindEmail, "é@example.com", "é…@example.com"},
		{KindEmail, "nobody", ""},
	} {
		if got := (Destination{Kind: tt.kind, Address: Some(tt.address)}).Redacted().Address; got != Some(tt.want) {
			t.Errorf("%s: %v", tt.address, got)
		}
	}
	for _, d := range []Destination{{Kind: KindEmail}, {Kind: KindWebhook, Address: Some("://secret")}, {Kind: KindWebhook, Address: Some("secret")}} {
		if got := d.Redacted().Address; got.OK {
			t.Errorf("%+v: %v, want none", d, got)
		}
	}
}
