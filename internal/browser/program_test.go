package browser

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/internal/nodetest"
	"github.com/colaregistry/colaregistry/internal/program"
)

// server is a server started as the README describes.
type server struct {
	*program.Server
	t    *testing.T
	base string // URL without a trailing slash
}

// startProgram starts serve with demo data and waits until it has printed its address.
func startProgram(t *testing.T, flags ...string) *server {
	t.Helper()
	return startProgramAt(t, program.Address(t), flags...)
}

func startProgramAt(t *testing.T, address string, flags ...string) *server {
	t.Helper()
	s := program.Start(t, program.Options{Address: address, Flags: flags})
	s.AwaitOutput("Press Ctrl-C")
	return &server{s, t, s.URL}
}

var printedLink = regexp.MustCompile(`http://\S+/sign-in/link/\S+`)

// link returns the sign-in link that the server printed.
func (p *server) link() string {
	p.t.Helper()
	link := printedLink.FindString(p.Output())
	if link == "" {
		p.t.Fatalf("no sign-in link in the output:\n%s", p.Output())
	}
	return link
}

// call calls the REST API with a key or an access token as a bearer token.
func (p *server) call(method, path, bearer string) (status int, body map[string]any) {
	p.t.Helper()
	resp, body := p.send(method, path, bearer)
	return resp.StatusCode, body
}

// send is like call but returns the response, with its body already read, instead of the status.
func (p *server) send(method, path, bearer string) (resp *http.Response, body map[string]any) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+"/api/v1"+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	if resp, err = http.DefaultClient.Do(req); err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal(content, &body); err != nil {
		p.t.Fatalf("%v in %s", err, content)
	}
	return resp, body
}

// startIssuer starts the issuer for a dashboard and an app, and returns its URL.
func startIssuer(t *testing.T, dashboard, app string) string {
	t.Helper()
	k := mustKit(t)
	address := program.Address(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + address
	log, err := os.Create(filepath.Join(t.TempDir(), "issuer.log"))
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := nodetest.Launch(k.Command(context.Background(), k.Script("issuer.mjs"), url, port, dashboard,
		dashboard+"/mcp", app), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := issuer.Stop(time.Minute); err != nil {
			t.Errorf("issuer: %v", err)
		}
		log.Close()
	})
	if err := issuer.Await(t.Context(), url+"/.well-known/openid-configuration"); err != nil {
		t.Fatal(err)
	}
	return url
}
