package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/colaregistry/colaregistry/cola"
)

// SignInIssuer is an issuer that account holders may sign in with.
type SignInIssuer struct {
	URL          string // exactly as in its tokens; https, or http on this machine
	ClientID     string // this service's ID at the issuer
	ClientSecret string // empty for a public client
	Name         string // display name; default: the URL's host
}

// IssuerChoice is an issuer on the sign-in page. Key is the argument to Begin.
type IssuerChoice struct{ Key, Name string }

// signInIssuer is a sign-in issuer together with its cached keys and endpoints.
type signInIssuer struct {
	SignInIssuer
	key          string
	links        LinkPolicy
	callback     string       // redirect URL
	client       *http.Client // fetches documents
	secretClient *http.Client // sends secrets; follows no redirects
	keys         *issuer
	now          cola.Clock
	log          *slog.Logger
	throttledLog *rateLimitedLog
	limit        *codeExchanges
	discovered   cachedDocument[*endpoints]
}

// endpoints is the part of an issuer's discovery document that is used to sign in.
type endpoints struct {
	oauth       oauth2.Config
	userInfo    string // may be empty
	signOut     string // its end_session_endpoint; may be empty
	sendsIssuer bool   // its redirects include iss (RFC 9207)
}

func newSignInIssuers(o BrowserOptions, callback string) (all []*signInIssuer, err error) {
	client := issuerClient(o.Client)
	secretClient := *client
	secretClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	metrics := newTokenMetrics(nil) // the metrics cover access tokens only
	for n, i := range o.Issuers {
		if err := checkIssuer(i.URL); err != nil {
			return nil, err
		}
		switch {
		case !isName(i.ClientID):
			return nil, fmt.Errorf("the issuer %s needs a client ID of 1 to %d bytes", strconv.Quote(i.URL), maxName)
		case slices.ContainsFunc(all, func(other *signInIssuer) bool { return other.URL == i.URL }):
			return nil, fmt.Errorf("duplicate sign-in issuer %s", strconv.Quote(i.URL))
		}
		if u, err := url.Parse(i.URL); i.Name == "" && err == nil {
			i.Name = u.Host
		}
		in := &signInIssuer{
			SignInIssuer: i, key: strconv.Itoa(n), links: o.LinkEmail.of(i.URL), callback: callback,
			client: client, secretClient: &secretClient, now: o.Now, log: o.Logger,
			throttledLog: newRateLimitedLog(o.Logger, o.Now), limit: newCodeExchanges(o.Now),
			keys: newIssuer(i.URL, client, o.Now, o.Logger, metrics),
		}
		in.discovered = cachedDocument[*endpoints]{name: "endpoints", issuer: i.URL, load: in.discover, now: o.Now, log: o.Logger}
		all = append(all, in)
	}
	return all, nil
}

// Issuers returns the issuers that account holders may sign in with.
func (b *Browsers) Issuers() []IssuerChoice {
	all := make([]IssuerChoice, len(b.issuers))
	for n, i := range b.issuers {
		all[n] = IssuerChoice{i.key, i.Name}
	}
	return all
}

// Check fetches the endpoints of every issuer now, and returns an error that lists the unusable
// issuers. The service can start without them: they are contacted again at the next sign-in.
func (b *Browsers) Check(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, len(b.issuers))
	for n, i := range b.issuers {
		all.Go(func() {
			if _, err := i.discovered.refresh(ctx); err != nil {
				errs[n] = fmt.Errorf("issuer %s: %w", i.URL, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// endpoints returns the issuer's endpoints, or an unavailable error.
func (i *signInIssuer) endpoints(ctx context.Context) (*endpoints, error) {
	doc, err := i.discovered.get(ctx)
	switch {
	case err == nil:
		return doc.value, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("get issuer endpoints: %w", ctx.Err())
	}
	return nil, i.unavailable()
}

// unavailable returns the error for a sign-in that fails because of the issuer. The log has the
// reason.
func (i *signInIssuer) unavailable() error {
	return &cola.Error{
		Code: cola.CodeUnavailable,
		Message: fmt.Sprintf("The sign-in service %s is unavailable right now. Try again in a minute. If this keeps "+
			"happening, contact the operator.", i.Name),
		RetryAfter: retryInterval,
	}
}

// busy returns the error for a sign-in that must wait for other sign-ins.
func (i *signInIssuer) busy() error {
	return &cola.Error{
		Code: cola.CodeUnavailable,
		Message: fmt.Sprintf("Too many people are signing in with %s right now. Reload this page in a few seconds.",
			i.Name),
		RetryAfter: slotTimeout,
	}
}

// discover fetches the endpoints. It rejects endpoints that secrets must not be sent to.
func (i *signInIssuer) discover(ctx context.Context) (*endpoints, error) {
	var document struct {
		Authorization string   `json:"authorization_endpoint"`
		Token         string   `json:"token_endpoint"`
		UserInfo      string   `json:"userinfo_endpoint"`
		EndSession    string   `json:"end_session_endpoint"`
		AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
		Scopes        []string `json:"scopes_supported"`
		SendsIssuer   bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := discover(ctx, i.client, i.URL, &document); err != nil {
		return nil, err
	}
	for _, e := range []struct {
		name, address string
		optional      bool
	}{
		{"authorization_endpoint", document.Authorization, false}, {"token_endpoint", document.Token, false},
		{"userinfo_endpoint", document.UserInfo, true}, {"end_session_endpoint", document.EndSession, true},
	} {
		if err := i.checkEndpoint(e.address); err != nil && (e.address != "" || !e.optional) {
			return nil, fmt.Errorf("discover: the %s %s %w", e.name, cola.Quoted(e.address), err)
		}
	}
	style, err := i.authStyle(document.AuthMethods)
	if err != nil {
		return nil, fmt.Errorf("discover: %w", err)
	}
	return &endpoints{
		oauth: oauth2.Config{
			ClientID: i.ClientID, ClientSecret: i.ClientSecret, RedirectURL: i.callback, Scopes: scopesToRequest(document.Scopes),
			Endpoint: oauth2.Endpoint{AuthURL: document.Authorization, TokenURL: document.Token, AuthStyle: style},
		},
		userInfo: document.UserInfo, signOut: document.EndSession, sendsIssuer: document.SendsIssuer,
	}, nil
}

// maxEndpoint is the maximum length of an endpoint's address in bytes.
const maxEndpoint = 1_000

// checkEndpoint rejects an address that browsers or secrets must not be sent to. Only an issuer on
// this machine may use plain http.
func (i *signInIssuer) checkEndpoint(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxEndpoint || u.Fragment != "" || u.User != nil:
		return errors.New("is not a valid endpoint URL")
	case !isTrustedURL(u), u.Scheme == "http" && strings.HasPrefix(i.URL, "https:"):
		return errors.New("is not an https URL")
	case strings.ContainsFunc(u.Host, func(r rune) bool { // the host goes into a Content-Security-Policy
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_:[]", r)
	}):
		return errors.New("has an invalid host")
	}
	return nil
}

// authStyle returns how this service authenticates to the issuer.
func (i *signInIssuer) authStyle(methods []string) (oauth2.AuthStyle, error) {
	switch {
	case i.ClientSecret == "":
		return oauth2.AuthStyleInParams, nil // sends the client ID only
	case len(methods) == 0 || slices.Contains(methods, "client_secret_basic"): // the default
		return oauth2.AuthStyleInHeader, nil
	case slices.Contains(methods, "client_secret_post"):
		return oauth2.AuthStyleInParams, nil
	}
	return 0, errors.New("unsupported client authentication (token_endpoint_auth_methods_supported has neither " +
		"client_secret_basic nor client_secret_post)")
}

// scopesToRequest returns the scopes to request. Some issuers reject unsupported scopes.
func scopesToRequest(supported []string) []string {
	if len(supported) > 0 && !slices.Contains(supported, "email") {
		return []string{oidc.ScopeOpenID}
	}
	return []string{oidc.ScopeOpenID, "email"}
}
