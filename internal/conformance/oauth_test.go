package main

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// mustBench returns a bench whose recorders do not forward requests.
func mustBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{issuer: &issuer{}}
	for _, at := range []**recorder{&b.public, &b.issuer.recorder} {
		r, err := newRecorder(t.Context(), new(atomic.Int64))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.close() })
		*at = r
	}
	return b
}

// walked returns the exchanges of a client that takes every step.
func walked(b *bench) []exchange {
	server, issuer := b.public, b.issuer.recorder
	sign := func(scope string) exchange {
		return exchange{server: issuer, method: "GET", path: "/auth", status: http.StatusSeeOther, query: url.Values{
			"response_type": {"code"}, "code_challenge_method": {"S256"},
			"code_challenge": {"x"}, "resource": {b.resource()}, "scope": {scope},
		}}
	}
	redeem := exchange{server: issuer, method: "POST", path: "/token", status: 200, form: url.Values{
		"grant_type": {"authorization_code"}, "code_verifier": {"x"}, "resource": {b.resource()},
	}}
	call := func(method, target string, status int, challenge string) exchange {
		return exchange{
			server: server, method: "POST", path: endpoint, rpcMethod: method, target: target,
			status: status, challenge: challenge, credentials: true,
		}
	}
	first := call("initialize", "", 401, `Bearer realm="x", resource_metadata="`+b.public.origin()+resourceMetadata+`"`)
	first.credentials = false
	return []exchange{
		first,
		{server: server, method: "GET", path: resourceMetadata, status: 200},
		{server: issuer, method: "GET", path: issuerMetadata[0], status: 200, agent: "node"},
		{server: issuer, method: "POST", path: "/reg", status: 201},
		sign("registry.read"), redeem,
		call("tools/list", "", 200, ""), call("tools/call", "search_colas", 200, ""),
		call("tools/call", "create_saved_search", 403,
			`Bearer error="insufficient_scope", error_description="x", scope="registry.read saved_searches:write"`),
		sign("registry.read saved_searches:write"), redeem,
		call("tools/call", "create_saved_search", 200, ""),
	}
}

// TestSteps checks that each step is required, in order and with all of its conditions.
func TestSteps(t *testing.T) {
	b := mustBench(t)
	steps, all := b.steps(), walked(b)
	if len(steps) != len(all) {
		t.Fatalf("%d steps for %d exchanges, want one for each", len(steps), len(all))
	}
	if names, err := matchSteps(steps, all); err != nil || len(names) != len(steps) {
		t.Fatalf("matchSteps = %d steps, %v; want all", len(names), err)
	}
	for i, s := range steps {
		if _, err := matchSteps(steps, slices.Delete(slices.Clone(all), i, i+1)); err == nil {
			t.Errorf("matchSteps accepted exchanges without the step: %s", s.name)
		}
	}
	swapped := slices.Clone(all)
	swapped[6], swapped[8] = swapped[8], swapped[6]
	if _, err := matchSteps(steps, swapped); err == nil {
		t.Error("matchSteps accepted exchanges in the wrong order")
	}
	for name, spoil := range map[string]func(all []exchange){
		"credentials from the start":   func(all []exchange) { all[0].credentials = true },
		"a challenge with an error":    func(all []exchange) { all[0].challenge += `, error="invalid_token"` },
		"a challenge without metadata": func(all []exchange) { all[0].challenge = "Bearer" },
		"metadata read by the server":  func(all []exchange) { all[2].agent = "Go-http-client/1.1" },
		"no PKCE":                      func(all []exchange) { all[4].query.Del("code_challenge") },
		"plain PKCE":                   func(all []exchange) { all[4].query.Set("code_challenge_method", "plain") },
		"no resource":                  func(all []exchange) { all[4].query.Del("resource") },
		"the write scope first":        func(all []exchange) { all[4].query.Set("scope", writeScope) },
		"a token for another resource": func(all []exchange) { all[5].form.Set("resource", "x") },
		"a write that succeeds":        func(all []exchange) { all[8].status = 200 },
		"no scope in the challenge":    func(all []exchange) { all[8].challenge = `Bearer error="insufficient_scope"` },
		"no scope requested":           func(all []exchange) { all[9].query.Del("scope") },
		"a write that fails":           func(all []exchange) { all[11].status = 403 },
	} {
		spoiled := walked(b)
		spoil(spoiled)
		if _, err := matchSteps(steps, spoiled); err == nil {
			t.Errorf("matchSteps accepted exchanges with: %s", name)
		}
	}
}

func TestChallengeScopes(t *testing.T) {
	for challenge, want := range map[string]string{
		`Bearer realm="a", scope="b c", error="d"`: "b c", `Bearer scope="b"`: "b",
		`Bearer error="a"`: "", `Bearer my_scope="b"`: "",
	} {
		if got := strings.Join(challengeScopes(challenge), " "); got != want {
			t.Errorf("challengeScopes(%s) = %q, want %q", challenge, got, want)
		}
	}
}

// completeOutput is the output of a client that completed every step.
const completeOutput = `{"step":"signed in","client_id":"c"}
{"step":"read","tools":TOOLS,"total":3,"token":"a.b.c"}
{"step":"created","uuid":"u","token":"a.b.d","asked":2}
`

func TestClientResults(t *testing.T) {
	whole := strings.Replace(completeOutput, "TOOLS", `["`+strings.Join(toolNames(), `","`)+`"]`, 1)
	for _, tt := range []struct{ old, new, want string }{
		{"", "", ""},
		{`"client_id":"c"`, `"x":1`, "no client ID"},
		{`"get_cola",`, ``, "fewer tools"},
		{`"total":3`, `"total":0`, "no results"},
		{"a.b.d", "a.b.c", "identical"},
		{"a.b.d", "opaque", "not JWTs"},
		{`"uuid":"u"`, `"uuid":""`, "no saved search"},
		{`"asked":2`, `"asked":1`, "1 sign-ins"},
		{`"step":"created"`, `"step":"made"`, `unknown step "made"`},
		{`{"step":"created"`, `Error: {`, "unexpected output"},
	} {
		s, err := parseResults([]byte(strings.Replace(whole, tt.old, tt.new, 1)))
		if err == nil {
			err = s.check()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s instead of %s: %v, want %s", tt.new, tt.old, err, tt.want)
		}
	}
}

func TestRegisteredOnce(t *testing.T) {
	one := exchange{path: "/reg"}
	if registeredOnce([]exchange{one}) != nil || registeredOnce(nil) == nil ||
		registeredOnce([]exchange{one, one}) == nil {
		t.Error("registeredOnce accepts a wrong number of registrations")
	}
}
