package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestLogSecrets sends keys and search terms in every possible place and checks that the log
// doesn't contain them, even at the most verbose level.
func TestLogSecrets(t *testing.T) {
	t.Parallel()
	const term = "soughtafter"
	s := startServer(t, seeded(t), "--log-level", "debug", "--log-format", "json")
	wrong := s.key[:len(s.key)-1] + "!"
	public := strings.TrimSuffix(s.base, "/api/v1")
	requests, answered := 0, 0
	for _, key := range []string{s.key, wrong} {
		for header, value := range map[string]string{
			"X-Api-Key": key, "Authorization": "Bearer " + key, "X-Request-Id": key, "Referer": key,
		} {
			for _, target := range []string{
				"/api/v1/colas?q=" + term, "/api/v1/colas?brand_name=" + term + "&api_key=" + key,
				"/api/v1/usage?access_token=" + key,
				"/api/v1/colas/" + key, "/api/v1/permittees/" + term,
				"/api/v1/barcode/" + key, "/" + key + "/" + term,
				"/images/" + key, "/docs?" + key,
			} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, public+target, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set(header, value)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if requests++; resp.StatusCode == http.StatusOK && strings.HasPrefix(target, "/api/v1/colas?q") {
					answered++
				}
			}
		}
		sendRaw(t, strings.TrimPrefix(public, "http://"), key)
	}
	if answered != 2 {
		t.Errorf("%d searches succeeded, want 2: X-API-Key and Bearer", answered)
	}
	s.stop(t)
	log := s.err.String()
	for _, secret := range []string{s.key, wrong, s.key[4:20], term} {
		if before, _, found := strings.Cut(log, secret); found {
			t.Errorf("log contains %s: …%s%s", secret, before[strings.LastIndex(before, "\n")+1:], secret)
		}
	}
	if lines := strings.Count(log, `"msg":"request"`); lines != requests {
		t.Errorf("%d lines for %d requests:\n%.2000s", lines, requests, log)
	}
}

// sendRaw sends bytes that are not valid HTTP.
func sendRaw(t *testing.T, address, text string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s %s\r\n%s\r\n\r\n", text, text, text); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 400")) {
		t.Errorf("response to invalid HTTP: %q, %v", answer, err)
	}
}

func TestLogFlags(t *testing.T) {
	tests := []struct {
		flags logFlags
		want  string
	}{
		{logFlags{"text", "info"}, "level=INFO msg=i\nlevel=WARN msg=w\nlevel=ERROR msg=e\n"},
		{logFlags{"text", "debug"}, "level=DEBUG msg=d\nlevel=INFO msg=i\nlevel=WARN msg=w\nlevel=ERROR msg=e\n"},
		{logFlags{"json", "warn"}, `"level":"WARN","msg":"w"}` + "\n" + `"level":"ERROR","msg":"e"}` + "\n"},
		{logFlags{"json", "error"}, `"level":"ERROR","msg":"e"}` + "\n"},
	}
	for _, tt := range tests {
		var b strings.Builder
		log := tt.flags.logger(&b)
		log.Debug("d")
		log.Info("i")
		log.Warn("w")
		log.Error("e")
		var got strings.Builder
		for line := range strings.Lines(b.String()) {
			got.WriteString(line[strings.Index(line, "level")-strings.Count(line[:1], "{"):])
		}
		if got.String() != tt.want {
			t.Errorf("%+v: log %s, want %s", tt.flags, got.String(), tt.want)
		}
	}
}
