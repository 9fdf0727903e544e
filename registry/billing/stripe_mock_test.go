package billing

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// stripeMock is Stripe's own mock server, which checks requests against the API specification.
const stripeMock = "github.com/stripe/stripe-mock@v0.203.0"

// startStripeMock builds and starts stripe-mock, and returns its address. It skips the test if the
// module can't be downloaded.
func startStripeMock(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	install := exec.CommandContext(t.Context(), "go", "install", stripeMock)
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=mod")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("stripe-mock isn't available, so the requests weren't checked: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	var output bytes.Buffer
	mock := exec.Command(filepath.Join(dir, "stripe-mock"), "-http-addr", address)
	mock.Stdout, mock.Stderr = &output, &output
	if err := mock.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = mock.Process.Kill() // it may have ended
		_ = mock.Wait()
	})
	for range 300 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return "http://" + address
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("stripe-mock did not start:\n%s", output.String())
	return ""
}

// TestRequestShapes forwards a copy of every request that the service makes to stripe-mock.
func TestRequestShapes(t *testing.T) {
	mock := startStripeMock(t)
	w := onSQLite(t)
	checked := map[string]bool{}
	w.stripe.Fault = func(r *http.Request) int {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		req, err := http.NewRequestWithContext(t.Context(), r.Method, mock+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return 500
		}
		req.Header = r.Header.Clone()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return 500
		}
		defer resp.Body.Close()
		answer, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s %s %s: status %d from stripe-mock: %s", r.Method, r.URL.RequestURI(), body, resp.StatusCode, answer)
		}
		form, _ := url.ParseQuery(string(body))
		checked[r.Method+" "+r.URL.Path+" "+form.Get("flow_data[type]")] = true
		return 0
	}
	w.mustChange(cola.TierPro) // expired by the next one
	w.advance(time.Hour)
	customer, _ := w.subscriber(cola.TierStarter)
	w.mustChange(cola.TierPro)
	w.mustChange(cola.TierFree)
	if _, err := w.Portal(t.Context(), w.account); err != nil {
		t.Error(err)
	}
	if err := w.End(t.Context(), w.account); err != nil {
		t.Error(err)
	}
	w.sendAll(http.StatusOK)
	for _, want := range []string{
		"GET /v1/prices ", "POST /v1/customers ", "DELETE /v1/customers/" + customer + " ", "GET /v1/customers/" + customer + " ", "GET /v1/subscriptions ",
		"GET /v1/checkout/sessions ", "POST /v1/checkout/sessions ", "POST /v1/billing_portal/sessions ",
		"POST /v1/billing_portal/sessions subscription_cancel", "POST /v1/billing_portal/sessions subscription_update_confirm",
	} {
		if !checked[want] {
			t.Errorf("request %s was not checked; checked: %v", want, checked)
		}
	}
	if len(checked) != 11 { // including the request that expires a session
		t.Errorf("%d kinds of requests, want 11: %v", len(checked), checked)
	}
}
