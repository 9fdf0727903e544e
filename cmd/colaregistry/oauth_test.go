package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	usageCall  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage"}}`
	createCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_saved_search","arguments":{"name":"Oak","filters":{"brand_name":"oak"}}}}`
	createBody = `{"name":"Oak","filters":{"brand_name":"oak"}}`
)

// rest sends a request to the REST API with a bearer token and header lines ("Name: value"). It
// checks the response against the OpenAPI document.
func (s *serverProcess) rest(t *testing.T, method, path, token, body string, lines ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	return do(t, req)
}

// onEach requests the usage over REST and over MCP.
func (s *serverProcess) onEach(t *testing.T, token string) map[string]answer {
	t.Helper()
	return map[string]answer{
		"REST": s.rest(t, "GET", "/usage", token, ""),
		"MCP":  s.post(t, "", usageCall, "Authorization: Bearer "+token),
	}
}

// expect checks the status, the body and the challenge of both responses.
func (s *serverProcess) expect(t *testing.T, when, token string, status int, want string) {
	t.Helper()
	for edge, got := range s.onEach(t, token) {
		if got.StatusCode != status || !strings.Contains(string(got.body), want) {
			t.Errorf("%s, %s: %d %s, want %d and %q", when, edge, got.StatusCode, got.body, status, want)
		}
		challenge := got.Header.Get("WWW-Authenticate")
		challenged := strings.Contains(challenge, `error="invalid_token"`) &&
			strings.Contains(challenge, "resource_metadata=")
		if challenged != (status == 401) {
			t.Errorf("%s, %s: status %d with challenge %q, want a challenge only with 401", when, edge, got.StatusCode, challenge)
		}
	}
}

func registerApp(t *testing.T, h testRegistry, i issuer, scopes ...string) {
	t.Helper()
	args := []string{"app", "register", "--issuer", i.URL, "--client-id", "assistant", "--name", "Assistant"}
	for _, s := range scopes {
		args = append(args, "--scope", s)
	}
	h.run(t, args...)
}

// TestTokens checks that a connected app has read access and is metered like an API key of the same
// account, on REST and MCP, until its link is revoked or the app is disabled.
func TestTokens(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		i := startIssuer(t)
		s := startServer(t, h, "--oidc-issuer", i.URL)
		st := mustOpen(t, h)
		account, secret, _ := mustAccount(t, st, "Ada@example.com", cola.TierPro)
		token := i.token(t, s, map[string]any{"email": "ada@EXAMPLE.com", "email_verified": true})

		s.expect(t, "before the app is registered", token, 401, `The app \"assistant\" is not registered`)
		if links, err := st.Links(t.Context(), 0); err != nil || len(links) != 0 {
			t.Errorf("links created by a rejected token: %v, %v", links, err)
		}
		registerApp(t, h, i)
		s.expect(t, "registered", token, 200, "detail_views")
		s.expect(t, "for the read-only endpoint", i.token(t, s, map[string]any{
			"email": "ada@example.com", "email_verified": true, "aud": s.endpoint() + "/readonly",
		}), 200, "detail_views")

		s.rest(t, "GET", "/colas?per_page=7", token, "")
		a := mustConnect(t, s.endpoint(), token)
		a.call(t, "search_colas", map[string]any{"per_page": 5})
		s.get(t, "/colas?per_page=3", secret.Reveal())
		usage := s.rest(t, "GET", "/usage", token, "")
		if used := usage.at("data", "list_records", "used"); used != 15. || usage.at("data", "tier") != "pro" {
			t.Errorf("usage of token and key: %v", usage.at("data"))
		}
		links, err := st.Links(t.Context(), account.ID)
		if err != nil || len(links) != 1 || links[0].LastUsedAt.IsZero() || links[0].App.ClientID != "assistant" {
			t.Fatalf("links of the account: %+v, %v", links, err)
		}
		link := fmt.Sprint(links[0].ID)
		if list := listed[linkRow](t, h, "app", "links", "--account", "ada@example.com"); len(list) != 1 ||
			list[0].Account != "Ada@example.com" || list[0].App != "Assistant" || len(list[0].Scopes) > 0 {
			t.Errorf("app links printed %+v, want Ada's link", list)
		}
		h.run(t, "app", "revoke-link", link)
		s.expect(t, "revoked", token, 401, "access was revoked")
		s.expect(t, "revoked, with a new token",
			i.token(t, s, map[string]any{"jti": "2", "email": "ada@example.com", "email_verified": true}), 401,
			"account holder has revoked access")
		s.get(t, "/usage", secret.Reveal())
		h.run(t, "app", "restore-link", link)
		time.Sleep(time.Second) // a rejection is cached
		s.expect(t, "restored", token, 200, "detail_views")
		h.run(t, "app", "disable", fmt.Sprint(links[0].App.ID))
		s.expect(t, "disabled", token, 401, "access was revoked")
		registerApp(t, h, i)
		i.Close()
		time.Sleep(time.Second)
		s.expect(t, "registered again, while the issuer is down", token, 200, "detail_views")
		s.expect(t, "another account", i.token(t, s, map[string]any{"sub": "else"}), 200, `"free"`)
		accounts, err := st.Accounts(t.Context())
		if last := accounts[len(accounts)-1]; err != nil || last.Email != i.URL+"#else" {
			t.Errorf("Accounts = %+v, %v", accounts, err)
		}
	})
}

// TestStepUp checks that REST and MCP reject a token without the write scope, with a challenge that
// names the scope, and accept a token that has the scope.
func TestStepUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		i := startIssuer(t)
		s := startServer(t, h, "--oidc-issuer", i.URL)
		registerApp(t, h, i, "saved_searches:write")
		reads, writes := i.token(t, s, nil), i.token(t, s, map[string]any{"scope": "openid saved_searches:write"})
		metadata := strings.TrimSuffix(s.base, "/api/v1") + "/.well-known/oauth-protected-resource/mcp"
		for edge, got := range map[string]answer{
			"REST": s.rest(t, "POST", "/saved-searches", reads, createBody),
			"MCP":  s.post(t, "", createCall, "Authorization: Bearer "+reads),
		} {
			challenge := got.Header.Get("WWW-Authenticate")
			for _, part := range []string{
				`error="insufficient_scope"`, `scope="saved_searches:write"`, `resource_metadata="` + metadata + `"`,
			} {
				if got.StatusCode != 403 || !strings.Contains(challenge, part) {
					t.Errorf("%s: %d, challenge %q without %s", edge, got.StatusCode, challenge, part)
				}
			}
			if got.at("error", "code") != "insufficient_scope" ||
				got.at("error", "details", "required_scope") != "saved_searches:write" {
				t.Errorf("%s: want insufficient_scope and the required scope: %s", edge, got.body)
			}
		}
		if created := s.rest(t, "POST", "/saved-searches", writes, createBody); created.StatusCode != 201 ||
			created.Header.Get("Location") == "" {
			t.Errorf("REST: status %d, want 201 with Location: %s", created.StatusCode, created.body)
		}
		if created := s.post(t, "", createCall, "Authorization: Bearer "+writes); created.StatusCode != 200 ||
			!strings.Contains(string(created.body), "uuid") {
			t.Errorf("MCP: status %d, want 200 with uuid: %s", created.StatusCode, created.body)
		}
		// An app gets only the scopes in its token that it is registered for.
		registerApp(t, h, i)
		narrowed := i.token(t, s, map[string]any{"scope": "saved_searches:write", "jti": "2"})
		for edge, got := range map[string]answer{
			"REST": s.rest(t, "POST", "/saved-searches", narrowed, createBody),
			"MCP":  s.post(t, "", createCall, "Authorization: Bearer "+narrowed),
		} {
			challenge := got.Header.Get("WWW-Authenticate") // no challenge: the token already has the scope
			if got.StatusCode != 403 || got.at("error", "details", "reason") != "app_not_allowed" ||
				strings.Contains(challenge, "scope") {
				t.Errorf("app without the scope, %s: %d %q %s", edge, got.StatusCode, challenge, got.body)
			}
		}
	})
}

// TestHostileTokens checks that REST and MCP reject each bad token for its actual defect, charge no
// account and log no part of the token.
func TestHostileTokens(t *testing.T) {
	t.Parallel()
	i, other := startIssuer(t), startIssuer(t)
	h := seeded(t)
	s := startServer(t, h, "--oidc-issuer", i.URL)
	st := mustOpen(t, h)
	registerApp(t, h, i, "saved_searches:write")
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(i.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	good := i.token(t, s, nil)
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`))
	future, past := time.Now().Add(time.Hour).Unix(), time.Now().Add(-time.Hour).Unix()
	tests := []struct{ name, token, want string }{
		{
			"for another audience", i.token(t, s, map[string]any{"aud": "https://elsewhere.example/mcp"}),
			"for another audience",
		},
		{"for the REST API's address", i.token(t, s, map[string]any{"aud": s.base}), "for another audience"},
		{"from another issuer", other.token(t, s, nil), "issuer"},
		{"signed by another issuer's key", sign(t, jose.RS256, stranger, "current", "at+jwt", i.claims(s, nil)), "signature"},
		{"unsigned", none + "." + parts[1] + ".", ""},
		{"unsigned, with a signature", none + "." + parts[1] + "." + parts[2], ""},
		{
			"signed with the public key as a secret",
			sign(t, jose.HS256, public, "current", "at+jwt", i.claims(s, nil)), "",
		},
		{"signed by an unknown key", sign(t, jose.RS256, i.key, "former", "at+jwt", i.claims(s, nil)), ""},
		{"expired", i.token(t, s, map[string]any{"exp": past}), "expired"},
		{"without expiration", i.token(t, s, map[string]any{"exp": nil}), "exp"},
		{"not valid yet", i.token(t, s, map[string]any{"nbf": future}), "not valid yet"},
		{
			"an ID token", sign(t, jose.RS256, i.key, "current", "JWT",
				i.claims(s, map[string]any{"scope": nil, "nonce": "n", "aud": s.endpoint()})), "ID token",
		},
		{"a logout token", sign(t, jose.RS256, i.key, "current", "logout+jwt", i.claims(s, nil)), ""},
		{"bound to a key", i.token(t, s, map[string]any{"cnf": map[string]any{"jkt": "x"}}), "cnf"},
		{"from an unregistered app", i.token(t, s, map[string]any{"client_id": "stranger"}), "not registered"},
		{"without an app", i.token(t, s, map[string]any{"client_id": nil}), "app"},
		{"without a subject", i.token(t, s, map[string]any{"sub": ""}), "sub"},
		{
			"changed payload",
			parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+i.URL+`"}`)) + "." + parts[2],
			"signature",
		},
		{"truncated", good[:len(good)-10], ""},
		{"garbage", "x.y.z", ""},
		{"not a token", "0", ""},
		{"60,000 bytes long", strings.Repeat("a", 60_000), ""},
	}
	for _, tt := range tests {
		s.expect(t, tt.name, tt.token, 401, tt.want)
	}
	for _, path := range []string{"/api/v1/usage", "/mcp"} {
		if status := sendHuge(t, s, path); status != http.StatusRequestHeaderFieldsTooLarge &&
			status != http.StatusUnauthorized {
			t.Errorf("%s: status %d for a 1 MB token", path, status)
		}
	}
	s.expect(t, "the good one", good, 200, "detail_views")
	// the demo account and the account of the valid token
	if accounts, err := st.Accounts(t.Context()); err != nil || len(accounts) != 2 {
		t.Errorf("Accounts = %+v, %v", accounts, err)
	}
	s.stop(t)
	for _, tt := range append(tests, struct{ name, token, want string }{name: "good", token: good}) {
		if len(tt.token) > 20 && strings.Contains(s.err.String(), tt.token[len(tt.token)-20:]) {
			t.Errorf("log contains the token: %s", tt.name)
		}
	}
}

// sendHuge sends a one-megabyte token and returns the response status, or 401 if the server closes
// the connection.
func sendHuge(t *testing.T, s *serverProcess, path string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		strings.TrimSuffix(s.base, "/api/v1")+path, bytes.NewReader([]byte(usageCall)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.Repeat("a", 1<<20))
	resp, err := http.DefaultClient.Do(req)
	if err != nil { // the server may close the connection early
		return http.StatusUnauthorized
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestScopeBypass checks that ambiguous messages, and messages that hide which tool they
// call, create no saved search.
func TestScopeBypass(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		i := startIssuer(t)
		s := startServer(t, h, "--oidc-issuer", i.URL)
		registerApp(t, h, i, "saved_searches:write")
		st := mustOpen(t, h)
		if err := st.SetTier(t.Context(), signedIn(t, st, s, i), cola.TierPro); err != nil { // for a higher rate limit
			t.Fatal(err)
		}
		token := i.token(t, s, nil)
		arguments := `"arguments":` + createBody
		params := func(members string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + members + `}}`
		}
		modern := `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		for name, attempt := range map[string]struct {
			body  string
			lines []string
		}{
			"unchanged": {createCall, nil},
			"the name twice": {
				params(`"name":"get_usage","name":"create_saved_search",` + arguments),
				nil,
			},
			"the name twice, reversed": {
				params(`"name":"create_saved_search","name":"get_usage",` + arguments),
				nil,
			},
			"the name in a different letter case": {
				params(`"name":"get_usage","Name":"create_saved_search",` + arguments),
				nil,
			},
			"only in a different letter case":           {params(`"NAME":"create_saved_search",` + arguments), nil},
			"the parameters twice":                      {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage"},"params":{"name":"create_saved_search",` + arguments + `}}`, nil},
			"the parameters in a different letter case": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage"},"Params":{"name":"create_saved_search",` + arguments + `}}`, nil},
			"the method twice":                          {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"create_saved_search",` + arguments + `}}`, nil},
			"the method in a different letter case":     {`{"jsonrpc":"2.0","id":1,"Method":"tools/call","method":"ping","params":{"name":"create_saved_search",` + arguments + `}}`, nil},
			"a batch":                                   {"[" + usageCall + "," + createCall + "]", nil},
			"two messages":                              {usageCall + "\n" + createCall, nil},
			"no ID":                                     {strings.Replace(createCall, `"id":1,`, "", 1), nil},
			"null ID":                                   {strings.Replace(createCall, `"id":1`, `"id":null`, 1), nil},
			"an escaped name": {
				strings.Replace(createCall, "create_saved", `create\u005fsaved`, 1),
				nil,
			},
			"the name with a space": {strings.Replace(createCall, `search"`, `search "`, 1), nil},
			"the name in an array": {
				strings.Replace(createCall, `"create_saved_search"`, `["create_saved_search"]`, 1), nil,
			},
			"a scope in the parameters": {
				strings.Replace(createCall, `"params":{`,
					`"params":{"scope":"saved_searches:write","_meta":{"scope":"saved_searches:write"},`, 1), nil,
			},
			"a harmless name in the header": {
				params(`"name":"create_saved_search",` + arguments + modern),
				[]string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: get_usage"},
			},
			"a harmless method in the header": {
				params(`"name":"create_saved_search",` + arguments + modern),
				[]string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: ping"},
			},
			"the tool's name in the header only": {
				params(`"name":"get_usage",` + arguments + modern),
				[]string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: create_saved_search"},
			},
			"a byte order mark": {"\ufeff" + createCall, nil},
		} {
			got := s.post(t, "", attempt.body, append(attempt.lines, "Authorization: Bearer "+token)...)
			if strings.Contains(string(got.body), "uuid") ||
				got.StatusCode == 200 && !strings.Contains(string(got.body), `"error"`) {
				t.Errorf("%s: status %d, want an error: %s", name, got.StatusCode, got.body)
			}
		}
		for _, attempt := range []struct{ method, path string }{
			{"POST", "/saved-searches"}, {"POST", "/saved-searches?scope=saved_searches:write"},
			{"POST", "/saved-searches?access_token=x"},
			{"POST", "/saved%2dsearches"}, {"PUT", "/saved-searches"},
		} {
			got := s.rest(t, attempt.method, attempt.path, token, createBody,
				"X-HTTP-Method-Override: POST", "X-Scope: saved_searches:write")
			if got.StatusCode < 400 {
				t.Errorf("%s %s: status %d, want an error: %s", attempt.method, attempt.path, got.StatusCode, got.body)
			}
		}
		account := signedIn(t, st, s, i)
		if searches, _, err := st.SavedSearches(t.Context(), account, 0, 100); err != nil || len(searches) != 0 {
			t.Errorf("created without the scope: %+v, %v", searches, err)
		}
	})
}

// signedIn returns the account of the issuer's default subject after its first request.
func signedIn(t *testing.T, st store.Store, s *serverProcess, i issuer) cola.AccountID {
	t.Helper()
	if got := s.rest(t, "GET", "/usage", i.token(t, s, nil), ""); got.StatusCode != 200 {
		t.Fatalf("status %d, want 200: %s", got.StatusCode, got.body)
	}
	a, err := st.AccountByEmail(t.Context(), i.URL+"#somebody")
	if err != nil {
		t.Fatal(err)
	}
	return a.ID
}
