package auth

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/store"
)

// TestSignInsAreCounted: each attempt once, by what became of it.
func TestSignInsAreCounted(t *testing.T) {
	metrics := prometheus.NewPedanticRegistry()
	d := newDesk(t, func(_ *desk, o *BrowserOptions) { o.Metrics = metrics })
	b := d.browser()
	link := d.store.link(store.Account{ID: 7, Email: "ann@example.com"})
	for range 3 {
		_ = b.do(func(ctx context.Context) error { return d.UseLink(ctx, link, "a browser") })
	}
	b.signIn(t, "ann")
	if _, err := b.finish(url.Values{"state": {"made up"}, "code": {"made up"}}); err == nil {
		t.Error("a made-up answer signs in")
	}
	want := `
# HELP colaregistry_sign_ins_total Attempts to sign in to the dashboard, by how they ended.
# TYPE colaregistry_sign_ins_total counter
colaregistry_sign_ins_total{by="issuer",result="accepted"} 1
colaregistry_sign_ins_total{by="issuer",result="failed"} 0
colaregistry_sign_ins_total{by="issuer",result="refused"} 1
colaregistry_sign_ins_total{by="issuer",result="unavailable"} 0
colaregistry_sign_ins_total{by="link",result="accepted"} 1
colaregistry_sign_ins_total{by="link",result="failed"} 0
colaregistry_sign_ins_total{by="link",result="refused"} 2
colaregistry_sign_ins_total{by="link",result="unavailable"} 0
`
	if err := testutil.GatherAndCompare(metrics, strings.NewReader(want), "colaregistry_sign_ins_total"); err != nil {
		t.Error(err)
	}
}
