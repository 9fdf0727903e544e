package cola

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseNetwork(t *testing.T) {
	for text, want := range map[string]string{
		"203.0.113.7":             "203.0.113.7/32",
		"203.0.113.7/24":          "203.0.113.0/24",
		"0.0.0.0/0":               "0.0.0.0/0",
		"2001:DB8::1":             "2001:db8::1/128",
		"2001:db8:1:2:3::/64":     "2001:db8:1:2::/64",
		"::ffff:203.0.113.7":      "203.0.113.7/32",
		"::ffff:203.0.113.7/120":  "203.0.113.0/24",
		"::ffff:0:0/96":           "0.0.0.0/0",
		"::ffff:203.0.113.7/95":   "",
		"::ffff:203.0.113.7/0":    "",
		"":                        "",
		" 203.0.113.7":            "",
		"203.0.113.7/33":          "",
		"203.0.113.7/-1":          "",
		"203.0.113.7/024":         "",
		"203.0.113":               "",
		"010.0.0.1":               "",
		"203.0.113.7:80":          "",
		"fe80::1%eth0":            "",
		"fe80::1%eth0/64":         "",
		"203.0.113.0-203.0.113.9": "",
		"example.com":             "",
	} {
		got, err := ParseNetwork(text)
		if ok := err == nil; ok != (want != "") || ok && got.String() != want {
			t.Errorf("ParseNetwork(%q) = %v, %v, want %q", text, got, err, want)
		}
	}
}

func mustNetworks(t *testing.T, list ...string) (n Networks) {
	t.Helper()
	for _, text := range list {
		block, err := ParseNetwork(text)
		if err != nil {
			t.Fatal(err)
		}
		n = append(n, block)
	}
	return n
}

func TestAllow(t *testing.T) {
	n := mustNetworks(t, "203.0.113.0/24", "2001:db8::/64", "198.51.100.7")
	for client, want := range map[string]bool{
		"203.0.113.255": true, "::ffff:203.0.113.1": true, "2001:db8::1": true, "2001:db8::1%eth0": true, "198.51.100.7": true,
		"203.0.114.1": false, "::ffff:203.0.114.1": false, "2001:db8:0:1::1": false, "198.51.100.8": false, "::203.0.113.1": false,
	} {
		if got := n.Allow(netip.MustParseAddr(client)); got != want {
			t.Errorf("Allow(%s) = %t, want %t", client, got, want)
		}
	}
	if n.Allow(netip.Addr{}) {
		t.Error("an unknown address is allowed")
	}
	if !(Networks{}).Allow(netip.Addr{}) || !(Networks)(nil).Allow(netip.MustParseAddr("::1")) {
		t.Error("an empty list does not allow every address")
	}
	if mustNetworks(t, "::/0").Allow(netip.MustParseAddr("203.0.113.1")) {
		t.Error("::/0 allows IPv4 addresses")
	}
}

func FuzzNetworks(f *testing.F) {
	f.Add("203.0.113.0/24,2001:db8::/64")
	f.Add("::ffff:1.2.3.4,x")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		var n, again Networks
		n.SetString(text)
		if len(n) == 0 {
			t.Fatalf("%q allows any address", text)
		}
		for _, block := range n {
			if block.IsValid() && block != block.Masked() || block.Addr().Is4In6() {
				t.Errorf("%q: %v is not normalized", text, block)
			}
		}
		again.SetString(n.String())
		if diff := cmp.Diff(n.Strings(), again.Strings()); diff != "" {
			t.Errorf("%q changes when stored (-before +after):\n%s", text, diff)
		}
	})
}
