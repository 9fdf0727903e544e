package attack

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/dashboard"
	"github.com/colaregistry/colaregistry/internal/nodetest"
	"github.com/colaregistry/colaregistry/internal/program"
)

// secretPart stands for any secret in a URL: a sign-in link, a feed, a token in an email, an OAuth
// code.
const secretPart = "Zx7_SECRET-9q"

// TestServerLogSecrets sends a secret in the path and the query of every route. The secret must not
// appear in the server's log.
func TestServerLogSecrets(t *testing.T) {
	onBoth(t, program.Options{Flags: []string{"--log-level", "debug"}}, func(t *testing.T, s *site) {
		s.sendSecrets(s.URL)
		if log := s.Log(); strings.Contains(log, "SECRET") || !strings.Contains(log, "/sign-in/link/{token}") {
			t.Errorf("log contains secrets, or lacks the routes:\n%s", linesWith(log, "SECRET"))
		}
	})
}

// TestProxyLogSecrets repeats TestServerLogSecrets through HAProxy with deploy/haproxy.cfg. The
// HAProxy log must contain route names instead of paths.
func TestProxyLogSecrets(t *testing.T) {
	s := startOnSQLite(t, program.Options{})
	proxy, log := s.startProxy("", "")
	requests := s.sendSecrets(proxy)
	lines := linesOf(t, log, requests)
	if strings.Contains(lines, "SECRET") {
		t.Errorf("log contains secrets:\n%s", linesWith(lines, "SECRET"))
	}
	for _, want := range []string{
		"route=sign-in ", "route=feeds ", "route=unsubscribe ", "route=confirm ",
		"route=api/v1/colas ", "route=home ", "route=other ", "method=other ",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("no line with %s in\n%s", want, lines)
		}
	}
	for line := range strings.Lines(lines) {
		if strings.Contains(line, "route=") && !regexp.MustCompile(` route=[a-z0-9./-]+ `).MatchString(line) {
			t.Errorf("unexpected route in %s", line)
		}
	}
}

// TestProxyClientLimits checks that HAProxy answers a flooding client with 429 and Retry-After,
// and rejects oversized headers.
func TestProxyClientLimits(t *testing.T) {
	s := startOnSQLite(t, program.Options{})
	proxy, _ := s.startProxy("sc_http_req_rate(0) gt 2000", "sc_http_req_rate(0) gt 20")
	last := response{}
	for range 30 {
		last = s.sendTo(proxy, http.MethodGet, "/healthz", nil)
	}
	if body := last.JSON(t); last.Status != http.StatusTooManyRequests || last.Header.Get("Retry-After") == "" ||
		body["error"] == nil {
		t.Errorf("flood: status %d, headers %v; want 429 with Retry-After: %s", last.Status, last.Header, last.Body)
	}
	proxy, _ = s.startProxy("", "")
	large := response{}
	for n := 0; n < 5 && large.Status == 0; n++ { // a connection reset can overtake the response
		large = s.sendTo(proxy, http.MethodGet, "/healthz", http.Header{"X-Large": {strings.Repeat("x", 20<<10)}})
	}
	if large.Status < 400 {
		t.Errorf("20 KiB of headers: status %d, want an error", large.Status)
	}
}

// sendSecrets sends the secret to every route, in each path variable, the query and several headers.
// It returns the number of requests.
func (s *site) sendSecrets(to string) (sent int) {
	s.t.Helper()
	var spec struct{ Paths map[string]any }
	if err := json.Unmarshal(s.send(http.DefaultClient, http.MethodGet, "/api/v1/openapi.json", nil, nil).Body,
		&spec); err != nil {
		s.t.Fatal(err)
	}
	paths := append(dashboard.Pages(), "/"+secretPart, "/api/v1/"+secretPart, "/%66eeds/"+secretPart,
		"//feeds/"+secretPart, "//"+secretPart, "/Feeds/"+secretPart,
		"/sign-in/link%2F"+secretPart, "/feeds/{token}", "/unsubscribe/{token}", "/confirm/{token}",
		"/assets/"+secretPart+"/x", "/mcp/"+secretPart)
	for path := range spec.Paths {
		paths = append(paths, "/api/v1"+path)
	}
	query := "?code=" + secretPart + "&state=" + secretPart + "&token=" + secretPart +
		"&return=%2Fsign-in%2Flink%2F" + secretPart + ";" + secretPart
	header := http.Header{
		"X-Api-Key": {secretPart}, "Cookie": {"session=" + secretPart + "; __Host-session=" + secretPart},
		"Referer":    {"https://x.example/" + secretPart},
		"User-Agent": {secretPart}, "X-Request-Id": {"lar_" + secretPart},
	}
	for _, path := range paths {
		path = variable.ReplaceAllString(strings.ReplaceAll(path, "/*", "/"+secretPart), secretPart)
		for _, method := range []string{http.MethodGet, http.MethodPost, "ZxSECRET"} {
			s.sendTo(to, method, path+query, header)
			sent++
		}
	}
	return sent
}

// sendTo sends a request to any server without following redirects. It returns the zero response if
// no complete response arrives.
func (s *site) sendTo(server, method, path string, header http.Header) response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, server, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.URL.Opaque, req.URL.RawQuery, _ = strings.Cut(path, "?") // unchanged, including escapes
	if strings.HasPrefix(path, "//") {
		// Otherwise, the first path segment would be parsed as the host.
		req.URL.Opaque = strings.TrimPrefix(server, "http:") + req.URL.Opaque
	}
	if header != nil {
		req.Header = header.Clone()
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return response{}
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return response{}
	}
	return response{resp.StatusCode, resp.Header, content}
}

// startProxy starts HAProxy in front of the server and returns its URL and its log file. It uses
// the deployed configuration with old replaced by replace.
func (s *site) startProxy(old, replace string) (url, log string) {
	s.t.Helper()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		if haproxy, err = exec.LookPath("/usr/sbin/haproxy"); err != nil {
			s.t.Skip("HAProxy is not installed")
		}
	}
	content, err := os.ReadFile("../../deploy/haproxy.cfg")
	if err != nil {
		s.t.Fatal(err)
	}
	config, address, dir := string(content), program.Address(s.t), s.t.TempDir()
	if !strings.Contains(config, old) {
		s.t.Fatalf("deploy/haproxy.cfg does not contain %q", old)
	}
	if old != "" {
		config = strings.ReplaceAll(config, old, replace)
	}
	config = strings.ReplaceAll(config, "bind :8080", "bind "+address)
	config = regexp.MustCompile(`app[0-9]:8080`).ReplaceAllString(config, strings.TrimPrefix(s.URL, "http://"))
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if out, err := exec.Command(haproxy, "-c", "-f", file).CombinedOutput(); err != nil ||
		strings.Contains(string(out), "WARNING") {
		s.t.Fatalf("haproxy -c: %v\n%s", err, out)
	}
	log = filepath.Join(dir, "log")
	lines, err := os.Create(log)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { lines.Close() })
	cmd := nodetest.Command(s.t.Context(), haproxy, "-db", "-f", file)
	cmd.Stdout = lines
	daemon, err := nodetest.Launch(cmd, io.Discard)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { daemon.Stop(0) })
	url = "http://" + address
	if err := daemon.Await(s.t.Context(), url+"/healthz"); err != nil {
		s.t.Fatal(err)
	}
	return url, log
}

// linesOf waits until a log file has at least the given number of lines, and returns its content.
func linesOf(t *testing.T, file string, minLines int) string {
	t.Helper()
	for range 200 {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(content), "\n") >= minLines {
			return string(content)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("missing lines in the HAProxy log")
	return ""
}

// linesWith returns the lines of text that contain part.
func linesWith(text, part string) string {
	var found strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			found.WriteString(line)
		}
	}
	return found.String()
}
