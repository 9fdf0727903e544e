package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/colaregistry/colaregistry/internal/program"
)

// TestIssuer signs in at a real issuer, connects an app with one of its tokens, revokes the app's
// access, and signs out of the dashboard and the issuer.
func TestIssuer(t *testing.T) {
	address := program.Address(t)
	base := "http://" + address
	codes := make(chan string, 1)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := r.URL.Query().Get("code"); code != "" {
			codes <- code
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>App</title><link rel=icon href=data:,><p>The app is connected."))
	}))
	defer app.Close()
	redirect := app.URL + "/callback"
	issuer := startIssuer(t, base, redirect)
	p := startProgramAt(t, address, "--public-url", base, "--oidc-issuer", issuer, "--oidc-apps", "any", "--oidc-scope",
		"registry.read", "--sign-in-client-id", "dashboard", "--sign-in-client-secret", "test-client-secret",
		"--sign-in-name", "Example Accounts")
	if printedLink.MatchString(p.Output()) {
		t.Error("sign-in link was printed although an issuer is configured")
	}

	b := newTab(t, newChromium(t, ""), false)
	b.open(base + "/usage")
	b.press("Sign in with Example Accounts")
	b.signInAtIssuer("walker")
	b.errors.take() // from the issuer's pages, which load external fonts
	if at := b.at(); at != base+"/usage" {
		t.Fatalf("sign-in redirects to %s\n%s", at, b.dump())
	}
	b.shows("walker@example.com", "0 of 200")
	b.open(base + "/usage")
	b.checkErrors("the sign-in")

	token := b.connectApp(issuer, base+"/mcp", redirect, codes)
	if status, body := p.call("GET", "/colas?per_page=5", token); status != http.StatusOK {
		t.Fatalf("call with the app's token: status %d, want 200: %v", status, body)
	}
	b.open(base + "/usage")
	b.shows("5 of 10,000")
	b.open(base + "/apps")
	b.shows("app", "Revoke")
	b.click("a[href$='/revoke']")
	b.click("main form .button")
	if status, body := p.call("GET", "/colas?per_page=5", token); status != http.StatusUnauthorized {
		t.Errorf("call with a revoked app's token: %d %v, want 401", status, body)
	}
	b.shows("revoked")

	b.signOut(base, issuer)
}

// signOut signs out of the dashboard and the issuer, and checks that the issuer then asks for
// credentials again.
func (b *tab) signOut(base, issuer string) {
	b.t.Helper()
	b.press("Sign out")
	b.do(visible("button[name=logout]"))
	if at := b.at(); !strings.HasPrefix(at, issuer) {
		b.t.Fatalf("signing out redirects to %s", at)
	}
	b.click("button[name=logout]")
	if at := b.at(); !strings.HasPrefix(at, base+"/sign-in") {
		b.t.Errorf("signing out at the issuer redirects to %s", at)
	}
	b.open(base + "/usage")
	if at := b.at(); !strings.HasPrefix(at, base+"/sign-in") {
		b.t.Errorf("signed out, /usage redirects to %s", at)
	}
	b.press("Sign in with Example Accounts")
	b.do(visible("[name=login]")) // the issuer asks for credentials again
}

// signInAtIssuer signs a user in on the issuer's pages and consents to every request.
func (b *tab) signInAtIssuer(user string) {
	b.t.Helper()
	b.do(visible("[name=login]")) // the dashboard redirects there
	b.fill("[name=login]", user)
	b.fill("[name=password]", "any")
	b.click("[type=submit]")
	b.click("[type=submit]")
}

// connectApp obtains an access token for the resource with the authorization code flow and PKCE, in
// the tab's browser and for its signed-in user.
func (b *tab) connectApp(issuer, resource, redirect string, codes <-chan string) string {
	b.t.Helper()
	flow := oauth2.Config{
		ClientID: "app", RedirectURL: redirect, Scopes: []string{"openid", "registry.read"},
		Endpoint: oauth2.Endpoint{
			AuthURL:   issuer + "/auth",
			TokenURL:  issuer + "/token",
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	verifier := oauth2.GenerateVerifier()
	b.open(flow.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("resource", resource)))
	if !strings.HasPrefix(b.at(), redirect) {
		b.click("[type=submit]") // consent page
	}
	token, err := flow.Exchange(b.t.Context(), <-codes, oauth2.VerifierOption(verifier),
		oauth2.SetAuthURLParam("resource", resource))
	if err != nil {
		b.t.Fatal(err)
	}
	return token.AccessToken
}
