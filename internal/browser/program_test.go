package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/internal/kit"
	"github.com/colaregistry/colaregistry/internal/traffic"
)

var built struct {
	once sync.Once
	path string
	err  error
}

// mustBuild returns the program.
func mustBuild(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		built.path = filepath.Join(folder, "colaregistry")
		build := kit.Command(context.Background(), "go", "build", "-o", built.path, "github.com/colaregistry/colaregistry/cmd/colaregistry")
		_, built.err = kit.Succeed(build)
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// printed is what a child printed so far.
type printed struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// program is a server that was started as the README says.
type program struct {
	t        *testing.T
	base     string // URL, without a slash at the end
	data     string // folder
	out, log printed
}

// startProgram starts serve with demonstration data and waits until it is ready.
func startProgram(t *testing.T, flags ...string) *program {
	t.Helper()
	return startProgramAt(t, mustAddress(t), flags...)
}

// mustAddress returns an address of this machine that nobody listens on.
func mustAddress(t *testing.T) string {
	t.Helper()
	address, err := traffic.QuietAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func startProgramAt(t *testing.T, address string, flags ...string) *program {
	t.Helper()
	p := &program{t: t, base: "http://" + address, data: t.TempDir()}
	cmd := kit.Command(context.Background(), mustBuild(t), append([]string{"serve", "--listen", address, "--data-dir", p.data}, flags...)...)
	cmd.Stdout = &p.out
	server, err := kit.Launch(cmd, &p.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(time.Minute); err != nil {
			t.Errorf("the server: %v\n%s", err, p.log.String())
		}
	})
	if err := server.Await(t.Context(), p.base+"/readyz"); err != nil {
		t.Fatalf("the server: %v\n%s", err, p.log.String())
	}
	for range 600 { // what it tells comes a moment after it is ready
		if strings.Contains(p.out.String(), "Stop with Ctrl-C") {
			return p
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the server does not tell where it is:\n%s", p.out.String())
	return nil
}

var printedLink = regexp.MustCompile(`http://\S+/sign-in/link/\S+`)

// link returns the link that the server has printed.
func (p *program) link() string {
	p.t.Helper()
	link := printedLink.FindString(p.out.String())
	if link == "" {
		p.t.Fatalf("no link was printed:\n%s", p.out.String())
	}
	return link
}

// run runs another command on the server's data and returns what it prints.
func (p *program) run(args ...string) string {
	p.t.Helper()
	out, err := kit.Succeed(kit.Command(p.t.Context(), mustBuild(p.t), append(args, "--data-dir", p.data)...))
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// call asks the REST API, with a key or an access token as a bearer token.
func (p *program) call(method, path, bearer string) (status int, body map[string]any) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+"/api/v1"+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
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
	return resp.StatusCode, body
}

// startIssuer starts the issuer for a dashboard and an app, and returns its URL.
func startIssuer(t *testing.T, dashboard, app string) string {
	t.Helper()
	k := mustKit(t)
	address := mustAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + address
	log, err := os.Create(filepath.Join(t.TempDir(), "issuer.log"))
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := kit.Launch(k.Command(context.Background(), k.Script("issuer.mjs"), url, port, dashboard, dashboard+"/mcp", app), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := issuer.Stop(time.Minute); err != nil {
			t.Errorf("the issuer: %v", err)
		}
		log.Close()
	})
	if err := issuer.Await(t.Context(), url+"/.well-known/openid-configuration"); err != nil {
		t.Fatal(err)
	}
	return url
}
