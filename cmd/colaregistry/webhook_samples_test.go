package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/colaregistry/colaregistry/cola"
)

// signatureCase is a webhook with the expected outcome of its verification.
type signatureCase struct {
	name    string
	headers map[string]string
	body    string
	genuine bool
}

// signedBody is the body of a message about a run.
const signedBody = `{"type":"saved_search.ran","data":{"labels":[{"ttb_id":"26266001009917","brand_name":"CHÂTEAU"}]}}`

// newSignatureCases returns webhooks signed by the Standard Webhooks library, including changed and
// outdated ones, and webhooks whose headers are missing or malformed.
func newSignatureCases(t *testing.T, secret string) []signatureCase {
	t.Helper()
	const body, other = signedBody, "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	sign := func(secret string, at time.Time, body string) string {
		hook, err := webhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := hook.Sign("msg_1", at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
	now := time.Now()
	old, early := now.Add(-10*time.Minute), now.Add(10*time.Minute)
	headers := func(at time.Time, signature string) map[string]string {
		sent := strconv.FormatInt(at.Unix(), 10)
		return map[string]string{"webhook-id": "msg_1", "webhook-timestamp": sent, "webhook-signature": signature}
	}
	cases := []signatureCase{
		{"genuine", headers(now, sign(secret, now, body)), body, true},
		{"after a rotation", headers(now, sign(other, now, body)+" "+sign(secret, now, body)), body, true},
		{"changed", headers(now, sign(secret, now, body)), body + " ", false},
		{"another secret", headers(now, sign(other, now, body)), body, false},
		{"another time", headers(now.Add(time.Second), sign(secret, now, body)), body, false},
		{"old", headers(old, sign(secret, old, body)), body, false},
		{"early", headers(early, sign(secret, early, body)), body, false},
		{"unknown version", headers(now, strings.Replace(sign(secret, now, body), "v1,", "v9,", 1)), body, false},
		{"no headers", map[string]string{}, body, false},
	}
	changed := func(name, header string, values ...string) {
		for _, value := range values {
			h := headers(now, sign(secret, now, body))
			h[header] = value
			cases = append(cases, signatureCase{fmt.Sprintf("%s %.20q", name, value), h, body, false})
		}
	}
	for header := range headers(now, "") {
		h := headers(now, sign(secret, now, body))
		delete(h, header)
		cases = append(cases, signatureCase{"no " + header, h, body, false})
	}
	changed("ID", "webhook-id", "", "msg_2", "é")
	changed("timestamp", "webhook-timestamp", "", " ", "abc", "²", "NaN", "Infinity", "1e400", "0x10", "-1", "1.5",
		strings.Repeat("9", 30), strings.Repeat("9", 400), strings.Repeat("9", 5000))
	changed("signature", "webhook-signature", "", " ", "v1", "v1,", "v1,AAAA", "v1,é", ",", sign(secret, now, body)+"A",
		strings.TrimPrefix(sign(secret, now, body), "v1,"), strings.Repeat("v1,A ", 1000))
	return cases
}

// TestWebhookReceivers runs the programs in the webhooks guide that receive messages. Each confirms
// its endpoint and receives a test message from a server, accepts genuine messages and rejects all
// others.
func TestWebhookReceivers(t *testing.T) {
	t.Parallel()
	h := demoFile(t)
	s, st := startServer(t, h, "--webhook-allow-private"), mustOpen(t, h)
	for _, language := range sampleLanguages {
		_, secret, _ := mustAccount(t, st, language.name+"@example.com", cola.TierPro) // has its own limit on challenges
		key := secret.Reveal()
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			address := mustFreeAddress(t)
			url := "http://" + address + "/labels"
			created := s.mustAnswer(t, 201, "POST", "/destinations", key, `{"kind":"webhook","address":"`+url+`"}`)
			destination, _ := created.at("data", "uuid").(string)
			signingSecret, _ := created.at("data", "secret").(string)
			build := language.receiver(t, address)

			unset, refusal := build(""), &output{}
			unset.Stdout, unset.Stderr = refusal, refusal
			deadline := time.AfterFunc(time.Minute, func() { _ = unset.Process.Kill() })
			if err := unset.Run(); err == nil || !strings.Contains(refusal.String(), "Set WEBHOOK_SECRET.") {
				t.Errorf("receiver without a secret: %v, %s", err, refusal)
			}
			deadline.Stop()
			receiver, out := build(signingSecret), &output{}
			receiver.Stdout, receiver.Stderr = out, out
			if err := receiver.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = receiver.Process.Kill()
				_ = receiver.Wait()
			})
			awaitListening(t, address, out)

			place := "/destinations/" + destination
			s.mustAnswer(t, 202, "POST", place+"/confirmation", key, "")
			awaitState(t, s, place, key, "active")
			test := s.mustAnswer(t, 202, "POST", place+"/test", key, "")
			awaitState(t, s, fmt.Sprintf("/deliveries/%v", test.at("data", "id")), key, "delivered")
			checkReceiver(t, url, signingSecret, out)
			if !strings.Contains(out.String(), " destination.test\n") {
				t.Errorf("output %q, want the test message", out)
			}
		})
	}
}

// receiver returns a function that returns a command to run the receiver in the webhooks guide at
// an address with a signing secret.
func (s sampleLanguage) receiver(t *testing.T, address string) func(secret string) *exec.Cmd {
	t.Helper()
	_, port, _ := strings.Cut(address, ":")
	source := guideSample(t, "WEBHOOKS", s.name, 1)
	if strings.Count(source, "8000)")+strings.Count(source, `:8000"`) != 1 {
		t.Fatalf("the receiver doesn't listen on port 8000:\n%s", source)
	}
	file := filepath.Join(t.TempDir(), s.file)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(source, "8000", port)), 0o600); err != nil {
		t.Fatal(err)
	}
	program := append([]string{s.tool(t)}, file)
	if s.name == "go" { // killing "go run" wouldn't stop the program
		program = []string{file + ".exe"}
		if out, err := exec.Command(s.tool(t), "build", "-o", program[0], file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return func(secret string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
		cmd.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret)
		return cmd
	}
}

// awaitListening waits until a program accepts connections.
func awaitListening(t *testing.T, address string, out *output) {
	t.Helper()
	for range 600 {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("no receiver at %s: %s", address, out)
}

// awaitState waits until a record has a state.
func awaitState(t *testing.T, s *serverProcess, path, key, state string) {
	t.Helper()
	var last answer
	for range 600 {
		if last = s.get(t, path, key); last.at("data", "state") == state {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s isn't %s: %s", path, state, last.body)
}

// checkReceiver checks that a receiver prints the labels of genuine messages, returns the token of a
// genuine challenge, and rejects all other messages.
func checkReceiver(t *testing.T, url, secret string, out *output) {
	t.Helper()
	genuine := 0
	for _, c := range newSignatureCases(t, secret) {
		want := http.StatusUnauthorized
		if c.genuine {
			want = http.StatusOK
			genuine++
		}
		if status, _ := postMessage(t, url, c.headers, c.body); status != want {
			t.Errorf("%s: status %d, want %d", c.name, status, want)
		}
	}
	printed := func() int { return strings.Count(out.String(), "26266001009917 CHÂTEAU\n") }
	for range 100 { // the output arrives through a pipe
		if printed() >= genuine {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if got := printed(); got != genuine {
		t.Errorf("printed the labels of %d messages, want %d: %s", got, genuine, out)
	}
	const challenge = `{"type":"destination.confirm","data":{"challenge":"KX7Q2MFA","code":"KX7Q-2MFA"}}`
	signer, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	signMessage(t, req, signer, "msg_2", challenge)
	signed := map[string]string{}
	for name := range req.Header {
		signed[name] = req.Header.Get(name)
	}
	answersChallenge := func() {
		t.Helper()
		if status, body := postMessage(t, url, signed, challenge); status != http.StatusOK || body != "KX7Q2MFA" {
			t.Errorf("challenge: status %d, response %q; want the token", status, body)
		}
	}
	answersChallenge()
	forged := maps.Clone(signed)
	forged["Webhook-Id"] = "msg_3"
	status, text := postMessage(t, url, forged, challenge)
	if status != http.StatusUnauthorized || strings.Contains(text, "KX7Q2MFA") {
		t.Errorf("forged challenge: status %d, response %q; want 401", status, text)
	}
	status, _ = postMessage(t, url, signed, strings.Repeat(" ", 1_100_000))
	if status != http.StatusRequestEntityTooLarge && status != 0 { // 0: closed before the body was sent
		t.Errorf("large body: status %d, want 413", status)
	}
	answersChallenge() // still running
}

// postMessage posts a message and returns the status and body of the response, or 0 if there is no
// response.
func postMessage(t *testing.T, url string, headers map[string]string, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(content)
}
