package cola

import (
	"encoding/base64"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// public contains the rules of a server that sends email and rejects private webhook addresses.
var public = DestinationRules{SendsMail: true}

func TestDestinationParams(t *testing.T) {
	const search = "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"
	for name, tt := range map[string]struct {
		params DestinationParams
		want   Destination
	}{
		"email": {
			DestinationParams{Kind: "email", Address: " Mr.Oak+labels@Example.co.uk "},
			Destination{Kind: KindEmail, Address: Some("Mr.Oak+labels@Example.co.uk")},
		},
		"webhook": {
			DestinationParams{Kind: "Webhook", Address: "HTTPS://Hooks.Example.com:8443/Labels?to=me", SendEmpty: Some(true)},
			Destination{Kind: KindWebhook, Address: Some("https://hooks.example.com:8443/Labels?to=me"), SendEmpty: true},
		},
		"for one search": {
			DestinationParams{Kind: "email", Address: "a@example.com", SavedSearch: strings.ToUpper(search), SendEmpty: Some(false)},
			Destination{Kind: KindEmail, Address: Some("a@example.com"), SavedSearch: Some(search)},
		},
	} {
		got, err := tt.params.Normalize(public)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestDestinationProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		params DestinationParams
		rules  DestinationRules
		want   map[string]string // by parameter: a substring of its only message
	}{
		"empty": {DestinationParams{}, public, map[string]string{"kind": "email, webhook", "address": "URL"}},
		"all parameters": {
			DestinationParams{Kind: "fax", Address: "\x00", SavedSearch: "oaks", Decoded: Decoded{Problems: Problems{"adress": {"Unknown parameter."}}}}, public,
			map[string]string{"kind": `"fax"`, "address": "control character", "saved_search": `"oaks" is not a UUID`, "adress": "Unknown"},
		},
		"email disabled":            {DestinationParams{Kind: "email", Address: "a@example.com"}, DestinationRules{}, map[string]string{"kind": "webhook"}},
		"an email address as a URL": {DestinationParams{Kind: "webhook", Address: "a@example.com"}, public, map[string]string{"address": "https"}},
		"a URL as an email address": {DestinationParams{Kind: "email", Address: "https://example.com/"}, public, map[string]string{"address": "email address"}},
		"address without a kind":    {DestinationParams{Address: "a@example.com"}, public, map[string]string{"kind": "email, webhook"}},
		"a UUID without hyphens": {
			DestinationParams{Kind: "email", Address: "a@example.com", SavedSearch: "0b9f8c0e6a554f0e9a392f1f0f9f6d11"}, public, map[string]string{"saved_search": "is not a UUID"},
		},
		"URL too long": {DestinationParams{Kind: "webhook", Address: "https://a.example/" + strings.Repeat("x", 983)}, public, map[string]string{"address": "1000"}},
		"URL too long after escaping": {
			DestinationParams{Kind: "webhook", Address: "https://a.example/" + strings.Repeat("é", 200)}, public, map[string]string{"address": "1000"},
		},
	} {
		got, err := tt.params.Normalize(tt.rules)
		checkProblems(t, name, err, tt.want)
		if diff := cmp.Diff(Destination{}, got); diff != "" {
			t.Errorf("%s: destination returned with an error: %s", name, diff)
		}
	}
}

// checkProblems checks that a validation error has exactly one message for each parameter in want,
// and that each message contains the given substring.
func checkProblems(t *testing.T, name string, err error, want map[string]string) {
	t.Helper()
	refusal, ok := err.(*Error)
	if !ok || refusal.Code != CodeValidation || len(refusal.Details) != len(want) {
		t.Errorf("%s: error = %v, want problems with %v", name, err, want)
		return
	}
	for parameter, part := range want {
		messages, _ := refusal.Details[parameter].([]string)
		if len(messages) != 1 || !strings.Contains(messages[0], part) || len(messages[0]) > 250 {
			t.Errorf("%s: problems with %s = %q, want one containing %q", name, parameter, messages, part)
		}
	}
}

func TestMailboxes(t *testing.T) {
	for address, good := range map[string]bool{
		"a@example.com": true, "first.last+tag@sub.example.com": true, "o'neil@example.com": true, "x_y-z@ex-ample.com": true,
		strings.Repeat("a", 64) + "@example.com": true, "a@xn--bcher-kva.example": true,
		"a": false, "@example.com": false, "a@": false, "a@localhost": false, "a@@example.com": false, "a@b@example.com": false,
		"Oak <a@example.com>": false, "<a@example.com>": false, "a@example.com (oak)": false, `"a b"@example.com`: false, "a@example.com, b@example.com": false,
		"a@[192.0.2.1]": false, "a@192.0.2.1": false, "a@example..com": false, "a@-example.com": false, "a@example.com.": false, ".a@example.com": false,
		"a b@example.com": false, "á@example.com": false, "a@exämple.com": false, "a@example.com\r\nBcc: b@example.com": false,
		strings.Repeat("a", 65) + "@example.com": false, "a@" + strings.Repeat("b", 64) + ".com": false,
		"a@" + strings.Repeat(strings.Repeat("b", 60)+".", 5) + "com": false,
	} {
		got, err := DestinationParams{Kind: KindEmail, Address: address}.Normalize(public)
		if good && (err != nil || got.Address != Some(address)) {
			t.Errorf("email address %s: Normalize = %v, %v; want it unchanged", address, got.Address, err)
		}
		if !good && CodeOf(err) != CodeValidation {
			t.Errorf("invalid email address %s is accepted: %v", address, got.Address)
		}
	}
}

func TestWebhookURLs(t *testing.T) {
	// Always accepted, accepted only if private addresses are allowed, and never accepted.
	const good, private, bad = "good", "private", "bad"
	for address, want := range map[string]string{
		"https://example.com": good, "https://example.com/": good, "https://a.b.example.com:443/x?y=z&key=%20": good, "https://93.184.216.34/": good,
		"https://[2606:4700::1111]/": good, "https://xn--bcher-kva.example/": good, "https://example.com/a%2Fb": good,
		"http://example.com/": private, "https://localhost/": private, "https://intranet/": private, "https://a.localhost/": private, "http://127.0.0.1:9090/labels": private,
		"https://127.0.0.1/": private, "https://10.0.0.1/": private, "https://192.168.1.1/": private, "https://169.254.169.254/latest": private, "https://[::1]/": private,
		"https://[fd00::1]/": private, "https://[fe80::1]/": private, "https://[::ffff:127.0.0.1]/": private, "https://0.0.0.0/": private, "https://[64:ff9b::7f00:1]/": private,
		"example.com": bad, "//example.com/": bad, "https:example.com": bad, "https:///x": bad, "ftp://example.com/": bad, "javascript:alert(1)": bad, "file:///etc/passwd": bad,
		"https://user@example.com/": bad, "https://user:word@example.com/": bad, "https://example.com/#top": bad, "https://example.com/#": bad,
		"https://example.com:0/": bad, "https://example.com:65536/": bad, "https://example.com:x/": bad, "https://exa mple.com/": bad, "https://example.com/a b": bad,
		"https://bücher.example/": bad, "https://127.1/": bad, "https://2130706433/": bad, "https://0x7f.0x1/": bad, "https://0177.0.0.1/": bad, "https://example..com/": bad,
		"https://example.com./": bad, "https://-a.example/": bad, "https://[::1/": bad, "https://%31.example/": bad,
	} {
		for _, allowed := range []bool{false, true} {
			got, err := DestinationParams{Kind: KindWebhook, Address: address}.Normalize(DestinationRules{PrivateWebhooks: allowed})
			if accepted := err == nil; accepted != (want == good || want == private && allowed) {
				t.Errorf("webhook %s, private addresses allowed = %t: Normalize = %v, %v", address, allowed, got.Address, err)
			}
		}
	}
}

// TestNormalizeWebhookURLIdempotent checks that a normalized URL normalizes to itself.
func TestNormalizeWebhookURLIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := DestinationParams{Kind: KindWebhook, Address: rapid.StringMatching(`[hH]ttps?://[a-zA-Z0-9.:\[\]-]{1,12}\.[a-zA-Z]{2}(:[0-9]{1,5})?(/.{0,9}){0,2}`).Draw(t, "address")}
		rules := DestinationRules{PrivateWebhooks: rapid.Bool().Draw(t, "private")}
		first, err := p.Normalize(rules)
		if err != nil {
			return
		}
		p.Address = first.Address.V
		if again, err := p.Normalize(rules); err != nil || again != first {
			t.Fatalf("Normalize(%+v) = %+v, %v, want it unchanged", first, again, err)
		}
	})
}

func TestPublicAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "100.63.255.255": true, "172.32.0.1": true, "2606:4700::1111": true, "2a00:1450:4001::1": true, "::ffff:8.8.8.8": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "100.64.0.1": false, "127.0.0.1": false, "127.255.0.1": false, "169.254.1.1": false, "172.16.0.1": false,
		"192.0.0.8": false, "192.0.2.1": false, "192.168.0.1": false, "198.18.0.1": false, "198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::808:808": false, "64:ff9b:1::1": false, "100::1": false, "2001::1": false, "2001:db8::1": false,
		"2002:7f00:1::": false, "3fff::1": false, "fc00::1": false, "fd12::1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "ff02::1": false, "2606:4700::1%eth0": false, "5f00::1": false,
	} {
		if got := IsPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("IsPublic(%s) = %t", address, got)
		}
	}
	if IsPublic(netip.Addr{}) {
		t.Error("IsPublic(zero address) = true")
	}
}

func TestDeliveryListParams(t *testing.T) {
	const id = "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"
	got, err := DeliveryListParams{Destination: strings.ToUpper(id), SavedSearch: id, State: "Failed", PerPage: Some(5)}.Normalize()
	if want := (DeliveryPage{Destination: id, SavedSearch: id, State: DeliveryFailed, Page: 1, PerPage: 5}); err != nil || got != want {
		t.Errorf("Normalize = %+v, %v, want %+v", got, err, want)
	}
	if got, err := (DeliveryListParams{}).Normalize(); err != nil || got != (DeliveryPage{Page: 1, PerPage: DefaultPerPage}) {
		t.Errorf("without parameters: Normalize = %+v, %v", got, err)
	}
	_, err = DeliveryListParams{Destination: "x", SavedSearch: "y", State: "lost", Page: Some(0), PerPage: Some(101)}.Normalize()
	checkProblems(t, "all wrong", err, map[string]string{
		"destination": `"x" is not a UUID`, "saved_search": `"y" is not a UUID`, "state": "pending, delivered, failed, skipped", "page": "too small", "per_page": "too large",
	})
}

func TestWebhookSecrets(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		secret := NewWebhookSecret()
		bits, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if !strings.HasPrefix(secret, "whsec_") || err != nil || len(bits) != 32 || seen[secret] {
			t.Fatalf("NewWebhookSecret = %s, %v", secret, err)
		}
		seen[secret] = true
	}
}

// FuzzDestination checks that a normalized address normalizes to itself, is within the length limit
// and contains no spaces, line breaks or NUL bytes.
func FuzzDestination(f *testing.F) {
	for _, address := range []string{"a@example.com", "https://Example.com:8443/a?b=c", "http://127.0.0.1:9090", "https://[::1]/", "https://user@example.com/#x"} {
		f.Add(address, true)
		f.Add(address, false)
	}
	f.Fuzz(func(t *testing.T, address string, private bool) {
		for _, kind := range Kinds() {
			p, rules := DestinationParams{Kind: kind, Address: address}, DestinationRules{SendsMail: true, PrivateWebhooks: private}
			first, err := p.Normalize(rules)
			if err != nil {
				continue
			}
			p.Address = first.Address.V
			if again, err := p.Normalize(rules); err != nil || again != first || len(p.Address) > maxAddressLength || strings.ContainsAny(p.Address, " \r\n\x00") {
				t.Errorf("address %q: Normalize = %q, normalized again = %+v, %v", address, p.Address, again, err)
			}
		}
	})
}

// standing is the state of a destination and the reason for it.
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
	active         = standing{DestinationActive, ""}
	unconfirmed    = standing{DestinationUnconfirmed, ""}
	pending        = standing{DestinationPending, ""}
	pausedByHolder = standing{DestinationPaused, ReasonHolder}
	unsubscribed   = standing{DestinationPaused, ReasonUnsubscribed}
	failing        = standing{DestinationPaused, ReasonFailing}
	gone           = standing{DestinationDisabled, ReasonGone}
	refused        = standing{} // stands for a CodeNotActive error
)

// TestStandings checks every transition from every state of a destination.
func TestStandings(t *testing.T) {
	for _, tt := range []struct {
		from                             standing
		resumed, resumedOwn, paused      standing // standing after an action by the account holder
		confirmed, unsubscribed, checked standing // standing after an action by the recipient; checked is the outcome of CheckActive
	}{
		{active, active, active, pausedByHolder, active, unsubscribed, active},
		{unconfirmed, refused, active, unconfirmed, active, unsubscribed, refused},
		{pending, refused, active, pending, active, unsubscribed, refused},
		{pausedByHolder, active, active, pausedByHolder, pausedByHolder, unsubscribed, refused},
		{unsubscribed, refused, active, unsubscribed, active, unsubscribed, refused},
		{failing, active, active, failing, failing, unsubscribed, refused},
		{gone, active, active, gone, gone, unsubscribed, refused},
	} {
		d, requested := tt.from.destination(), unconfirmed
		if d.Kind == KindWebhook {
			requested = pending
		}
		for name, k := range map[string]struct {
			got  func() (Destination, error)
			want standing
		}{
			"resumed":                {func() (Destination, error) { return DestinationChangeParams{Active: Some(true)}.Apply(d, false) }, tt.resumed},
			"resumed, own":           {func() (Destination, error) { return DestinationChangeParams{Active: Some(true)}.Apply(d, true) }, tt.resumedOwn},
			"paused":                 {func() (Destination, error) { return DestinationChangeParams{Active: Some(false)}.Apply(d, false) }, tt.paused},
			"confirmed":              {func() (Destination, error) { return d.Confirmed(), nil }, tt.confirmed},
			"unsubscribed":           {func() (Destination, error) { return d.Unsubscribed(), nil }, tt.unsubscribed},
			"confirmation requested": {func() (Destination, error) { return d.Asked(), nil }, requested},
			"used": {func() (Destination, error) {
				if err := d.CheckActive(false); err != nil {
					return Destination{}, err
				}
				return d, nil
			}, tt.checked},
		} {
			got, err := k.got()
			if standingOf(got) != k.want || (err != nil) != (k.want == refused) || err != nil && CodeOf(err) != CodeNotActive {
				t.Errorf("%v, %s: %v, %v, want %v", tt.from, name, standingOf(got), err, k.want)
			}
		}
	}
}

// TestConsentRequired checks that the account holder can't activate a destination without its
// recipient's consent.
func TestConsentRequired(t *testing.T) {
	for _, from := range []standing{unconfirmed, pending, unsubscribed} {
		d := from.destination()
		for _, p := range []DestinationChangeParams{{Active: Some(false)}, {SendEmpty: Some(true)}, {Active: Some(false), SendEmpty: Some(false)}, {Active: Some(false)}} {
			var err error
			if d, err = p.Apply(d, false); err != nil {
				t.Fatal(err)
			}
			if _, err := (DestinationChangeParams{Active: Some(true)}).Apply(d, false); CodeOf(err) != CodeNotActive || !strings.Contains(err.Error(), "/destinations/"+d.UUID+"/confirmation") {
				t.Errorf("%v after %+v: error = %v, want a confirmation error", from, p, err)
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
		t.Errorf("only send_empty: Apply = %+v, %v", got, err)
	}
	if err := d.CheckActive(false); err == nil || !strings.Contains(err.Error(), `PATCH /destinations/`+d.UUID+` with {"active": true}`) {
		t.Errorf("CheckActive(paused) = %v, want an error with the request that resumes it", err)
	}
	for _, from := range []standing{unconfirmed, pending, gone} {
		details := from.destination().CheckActive(false).(*Error).Details
		if reason, has := details["reason"]; details["state"] != from.state || has != (from.reason != "") || has && reason != from.reason {
			t.Errorf("%v: details = %v", from, details)
		}
	}
	if own := unsubscribed.destination(); !strings.Contains(own.CheckActive(true).Error(), "PATCH") {
		t.Errorf("own address: CheckActive = %v, want the request that resumes it", own.CheckActive(true))
	}
}

func TestDestinationChangeParams(t *testing.T) {
	for _, p := range []DestinationChangeParams{{Active: Some(false)}, {SendEmpty: Some(false)}, {Active: Some(true), SendEmpty: Some(true)}} {
		if got, err := p.Normalize(); err != nil || !cmp.Equal(got, p) {
			t.Errorf("Normalize(%+v) = %+v, %v", p, got, err)
		}
	}
	_, err := DestinationChangeParams{}.Normalize()
	checkProblems(t, "an empty change", err, map[string]string{"body": "active"})
	_, err = DestinationChangeParams{Decoded: Decoded{Problems: Problems{"activ": {"Unknown parameter."}}}}.Normalize()
	checkProblems(t, "a misspelled field", err, map[string]string{"activ": "Unknown parameter."})
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
			t.Errorf("Redacted(%s) = %v", tt.address, got)
		}
	}
	for _, d := range []Destination{{Kind: KindEmail}, {Kind: KindWebhook, Address: Some("://secret")}, {Kind: KindWebhook, Address: Some("secret")}} {
		if got := d.Redacted().Address; got.OK {
			t.Errorf("Redacted(%+v) = %v, want no address", d, got)
		}
	}
}
