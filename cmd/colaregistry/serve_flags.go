package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/alerts/mail"
	"github.com/colaregistry/colaregistry/alerts/webhook"
	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/store"
)

// networkFlags configure connections and client addresses.
type networkFlags struct {
	TrustedProxies []string `group:"Network flags:" name:"trusted-proxy" placeholder:"CIDR" help:"Address or network of a trusted reverse proxy, such as 10.0.0.5. Its X-Forwarded-For identifies the client; otherwise the peer address does. Repeatable."`
	MaxConnections int      `group:"Network flags:" name:"max-connections" default:"10000" placeholder:"N" help:"Maximum open connections (default: ${default}; fewer if the limit on open files is lower). At the limit, idle connections are closed and new ones wait."`
}

// reservedFiles is how many file descriptors are reserved for the database, the index and the log.
const reservedFiles = 256

func (f *networkFlags) check() error {
	if _, err := f.proxies(); err != nil {
		return err
	}
	if f.MaxConnections < 1 {
		return usageErrorf("--max-connections must be at least 1")
	}
	return nil
}

// proxies returns the networks of trusted proxies. A single address is a network of one.
func (f *networkFlags) proxies() (web.Proxies, error) {
	var networks web.Proxies
	for _, value := range f.TrustedProxies {
		network, err := netip.ParsePrefix(value)
		if address, addrErr := netip.ParseAddr(value); addrErr == nil {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, usageErrorf("--trusted-proxy: %q is not an IP address or a network such as 10.0.0.0/8", value)
		}
		if network.Bits() == 0 {
			return nil, usageErrorf("--trusted-proxy: %s includes every address, so any client could spoof its IP; "+
				"list only your proxies' networks", value)
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

// connections returns the maximum number of open connections.
func (f *networkFlags) connections(env *environment) int {
	files, ok := fileLimit()
	if !ok || uint64(f.MaxConnections)+reservedFiles <= files {
		return f.MaxConnections
	}
	limit := max(1, int(files)-reservedFiles)
	env.log.Warn("the limit on open files allows fewer connections than --max-connections; raise it (ulimit -n)",
		"connections", limit, "files", files)
	return limit
}

// isHTTPS reports whether users reach the server over https. Only then are cookies Secure.
func isHTTPS(publicURL string) bool { return strings.HasPrefix(publicURL, "https://") }

// warnPlainCookies warns if cookies will lack Secure although other machines can reach the server.
func warnPlainCookies(log *slog.Logger, publicURL string, listening net.Addr) {
	if !isHTTPS(publicURL) && !isLoopback(listening) {
		log.Warn("cookies lack the Secure attribute because --public-url is not https; "+
			"if a proxy terminates TLS, set --public-url to the https address that users see", "public_url", publicURL)
	}
}

// strictTransport adds HSTS for a year to every response if the public URL is https. Otherwise it
// warns once if a proxy reports an https request.
func strictTransport(publicURL string, log *slog.Logger, next http.Handler) http.Handler {
	if isHTTPS(publicURL) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
			next.ServeHTTP(w, r)
		})
	}
	var warn sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
			warn.Do(func() {
				log.Warn("cookies lack the Secure attribute because --public-url is not https, "+
					"but a request arrived over https (X-Forwarded-Proto); set --public-url to the https address that users see",
					"public_url", publicURL)
			})
		}
		next.ServeHTTP(w, r)
	})
}

// dashboardFlags configure the dashboard: sign-in, the billing page, the request log and operators.
type dashboardFlags struct {
	SignInIssuers     []string     `group:"Dashboard flags:" name:"sign-in-issuer" placeholder:"URL" help:"OpenID Connect issuer for dashboard sign-in (repeatable; default: --oidc-issuer). Without either, account holders sign in with a link (see account link)."`
	SignInClients     []string     `group:"Dashboard flags:" name:"sign-in-client-id" placeholder:"ID" help:"Client ID of the dashboard, as registered with the issuer. Give one per issuer, in the same order."`
	SignInSecrets     []string     `group:"Dashboard flags:" name:"sign-in-client-secret" placeholder:"SECRET" help:"Client secret of the dashboard, as registered with the issuer. Give one per issuer, in the same order; omit it for public clients. Prefer --sign-in-client-secret-file, because other users of the machine can see command lines."`
	SignInSecretFiles []secretFile `group:"Dashboard flags:" name:"sign-in-client-secret-file" placeholder:"PATH" help:"File with a client secret. Give one per issuer, in the same order."`
	SignInNames       []string     `group:"Dashboard flags:" name:"sign-in-name" placeholder:"NAME" help:"Name of the issuer on its sign-in button, \"Sign in with NAME\" (default: the issuer's host). Give one per issuer, in the same order."`
	BillingURL        string       `group:"Dashboard flags:" name:"billing-url" placeholder:"URL" help:"Page where account holders change their plan, linked from the plans page."`
	SignUp            string       `group:"Dashboard flags:" name:"sign-up" default:"off" enum:"off,invite,open" placeholder:"off|invite|open" help:"Who can sign in with an emailed link (requires --smtp). off: existing accounts only. invite: existing accounts only, and the sign-in page says that accounts are by invitation only (see account create). open: anyone; a new email address gets a free account (default: ${default})."`
	RequestLogDays    int          `group:"Dashboard flags:" name:"request-log-days" default:"7" placeholder:"DAYS" help:"Number of days for which account holders can see their requests, up to 90 (default: ${default}). 0 disables the request log and deletes recorded requests at startup."`
	Operators         []string     `group:"Dashboard flags:" name:"operator" placeholder:"EMAIL" help:"Email address of an account holder who may view and resume data collection in the dashboard (repeatable). The address must be verified at sign-in."`
}

// maxRequestLogDays is the maximum value of --request-log-days.
const maxRequestLogDays = 90

func (f *dashboardFlags) checkRequestLog() error {
	if f.RequestLogDays < 0 || f.RequestLogDays > maxRequestLogDays {
		return usageErrorf("--request-log-days must be from 0 to %d", maxRequestLogDays)
	}
	return nil
}

// checkOperators validates the addresses of operators.
func (f *dashboardFlags) checkOperators() error {
	for _, email := range f.Operators {
		if err := flagError("--operator", cola.CheckEmail(email)); err != nil {
			return err
		}
	}
	return nil
}

// signInIssuers combines the flags of each issuer. tokenIssuers are the default.
func (f *dashboardFlags) signInIssuers(tokenIssuers []string) ([]auth.SignInIssuer, error) {
	urls := f.SignInIssuers
	if len(urls) == 0 && len(f.SignInClients) > 0 {
		urls = tokenIssuers
	}
	if len(f.SignInClients) != len(urls) {
		return nil, usageErrorf("--sign-in-client-id: %d given for %d sign-in issuers; "+
			"give one per issuer, in the same order", len(f.SignInClients), len(urls))
	}
	optional := map[string][]string{"--sign-in-client-secret": f.SignInSecrets, "--sign-in-name": f.SignInNames}
	for flag, values := range optional {
		if len(values) != 0 && len(values) != len(urls) {
			return nil, usageErrorf("%s: %d given for %d sign-in issuers; "+
				"give one per issuer, in the same order, or omit the flag", flag, len(values), len(urls))
		}
	}
	list := make([]auth.SignInIssuer, len(urls))
	for i, u := range urls {
		list[i] = auth.SignInIssuer{URL: u, ClientID: f.SignInClients[i]}
		if len(f.SignInSecrets) > 0 {
			list[i].ClientSecret = f.SignInSecrets[i]
		}
		if len(f.SignInNames) > 0 {
			list[i].Name = f.SignInNames[i]
		}
	}
	return list, nil
}

// siteFlags name the service.
type siteFlags struct {
	SiteName string `name:"site-name" default:"Label approval registry" placeholder:"NAME" help:"Name of the service on pages and in emails, feeds, API descriptions and assistants (default: ${default})."`
}

// checkSiteName validates the name, which becomes part of email headers.
func (f *siteFlags) checkSiteName() error { return checkName("--site-name", f.SiteName) }

// companyFlags name the operator of the service.
type companyFlags struct {
	Company string `name:"company" placeholder:"NAME" help:"Company or person that runs the service, shown in the footer of pages and emails."`
}

// checkCompany validates the name, which becomes part of emails.
func (f *companyFlags) checkCompany() error {
	if f.Company == "" {
		return nil
	}
	return checkName("--company", f.Company)
}

const maxName = 60 // maximum length of a site name or company name, in characters

// checkName validates a flag value that is a name.
func checkName(flag, name string) error {
	invisible := func(r rune) bool { return !unicode.IsPrint(r) }
	if name != strings.TrimSpace(name) || name == "" || strings.ContainsFunc(name, invisible) || utf8.RuneCountInString(name) > maxName {
		return usageErrorf("%s: %q must be one line of at most %d visible characters", flag, name, maxName)
	}
	return nil
}

// discoveryFlags configure the public pages about the service.
type discoveryFlags struct {
	Contact         string `group:"Discovery flags:" name:"contact" placeholder:"EMAIL|URL" help:"Your email address or web page, linked in the footer and wherever a page says to ask the operator (default: none)."`
	TermsURL        string `group:"Discovery flags:" name:"terms-url" placeholder:"URL" help:"Your terms of service, linked from every page."`
	PrivacyURL      string `group:"Discovery flags:" name:"privacy-url" placeholder:"URL" help:"Your privacy policy, linked from every page (default: the server's own page, /privacy)."`
	SourceURL       string `group:"Discovery flags:" name:"source-url" placeholder:"URL" help:"Repository with the source code of the service, linked from every page and from the installation guide (default: none)."`
	OpenAIChallenge string `group:"Discovery flags:" name:"openai-apps-challenge" placeholder:"TOKEN" help:"Token that OpenAI uses to verify the server's domain, served at /.well-known/openai-apps-challenge."`
	RegistryAuth    string `group:"Discovery flags:" name:"mcp-registry-auth" placeholder:"TEXT" help:"Public key record that the MCP Registry uses to verify the server's domain, such as 'v=MCPv1; k=ed25519; p=…', served at /.well-known/mcp-registry-auth."`
}

// checkLinks validates the contact and the addresses that become links.
func (f *discoveryFlags) checkLinks() error {
	for flag, address := range map[string]string{"--terms-url": f.TermsURL, "--privacy-url": f.PrivacyURL, "--source-url": f.SourceURL} {
		if _, err := checkedURL(flag, address); err != nil {
			return err
		}
	}
	if f.Contact != "" && !isContact(f.Contact) {
		return usageErrorf("--contact: %q is neither an email address nor an http or https URL", f.Contact)
	}
	return nil
}

func (f *discoveryFlags) discovery() httpapi.Discovery {
	return httpapi.Discovery{OpenAIChallenge: f.OpenAIChallenge, RegistryAuth: f.RegistryAuth}
}

// deliveryFlags configure how alerts are sent.
type deliveryFlags struct {
	SMTP            string     `group:"Alert flags:" name:"smtp" placeholder:"URL" help:"Mail server, such as smtp://user:password@mail.example.com:587 (STARTTLS) or smtps://…:465 (default: send no email)."`
	SMTPFile        secretFile `group:"Alert flags:" name:"smtp-file" placeholder:"PATH" help:"File with the mail server URL, to keep its password off the command line."`
	MailFrom        string     `group:"Alert flags:" name:"mail-from" placeholder:"ADDRESS" help:"From address of emails, such as 'Label alerts <alerts@example.com>'; required with --smtp. If you pass only an address, the site name is the display name."`
	WebhooksPrivate bool       `group:"Alert flags:" name:"webhook-allow-private" help:"Allow webhooks to private addresses and over plain http. Use it only for testing, or if you trust every account holder."`
}

// check validates the flags without opening the database or connecting to the mail server.
func (f *deliveryFlags) check() error {
	if (f.SMTP == "") != (f.MailFrom == "") {
		return usageErrorf("--smtp (or --smtp-file) and --mail-from must be set together")
	}
	_, err := f.mailer(nil, "http://localhost", "", web.DefaultSiteName, "", slog.New(slog.DiscardHandler))
	return err
}

// mailer returns the email sender, or nil without a mail server. With a nil vault, it only checks
// the flags; the sender can't send.
func (f *deliveryFlags) mailer(
	v *vault.Vault, publicURL, upgradeURL, siteName, company string, log *slog.Logger,
) (*mail.Sender, error) {
	if f.SMTP == "" {
		return nil, nil
	}
	return mail.New(mail.Options{
		LinkToken: v.Link, Server: f.SMTP, From: f.MailFrom, PublicURL: publicURL, Upgrade: upgradeURL,
		SiteName: siteName, Operator: company, Logger: log,
	})
}

// senders returns the sender for each kind of destination. mailer may be nil.
func (f *deliveryFlags) senders(v *vault.Vault, publicURL string, mailer *mail.Sender) map[string]alerts.Sender {
	senders := map[string]alerts.Sender{
		cola.KindWebhook: webhook.New(webhook.Options{
			Vault: v, PublicURL: publicURL, AllowPrivate: f.WebhooksPrivate, Version: version(),
		}),
	}
	if mailer != nil {
		senders[cola.KindEmail] = mailer
	}
	return senders
}

// accountSender returns the function that sends email about accounts.
func accountSender(mailer *mail.Sender) func(context.Context, store.AccountEmail) (final bool, err error) {
	return func(ctx context.Context, e store.AccountEmail) (final bool, err error) {
		if result := mailer.SendAccountEmail(ctx, e); result.Fault != "" {
			return result.Final, errors.New(result.Fault)
		}
		return false, nil
	}
}

// linkSender returns the function that sends sign-in links, or nil without email.
func linkSender(mailer *mail.Sender) auth.LinkSender {
	if mailer == nil {
		return nil
	}
	return func(ctx context.Context, m auth.LinkMail) error {
		result := mailer.SendSignInLink(ctx, mail.SignInLink(m))
		switch {
		case result.Final:
			return fmt.Errorf("%s: %w", result.Fault, auth.ErrUndeliverable)
		case result.Fault != "":
			return errors.New(result.Fault)
		}
		return nil
	}
}

// summarizeDeliveries summarizes a round of deliveries. It returns "" if there were none.
func summarizeDeliveries(r alerts.DeliveryReport) string {
	var parts []string
	add := func(n int, outcome string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", amount(n, "message", "messages"), outcome))
		}
	}
	add(r.Delivered, "delivered")
	add(r.Retried, "to be retried")
	add(r.Failed, "failed")
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "."
}
