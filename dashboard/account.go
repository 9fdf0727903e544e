package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// userAgentToken is a browser or operating system and the substring of User-Agent that identifies
// it.
type userAgentToken struct{ substr, name string }

// browserTokens returns browsers in order of precedence: a browser's User-Agent may also contain
// the substrings of browsers further down the list.
func browserTokens() []userAgentToken {
	return []userAgentToken{
		{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"OPR/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"},
		{"FxiOS/", "Firefox"}, {"Firefox/", "Firefox"}, {"CriOS/", "Chrome"},
		{"HeadlessChrome/", "Headless Chrome"},
		{"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Version/", "Safari"},
	}
}

func systemTokens() []userAgentToken {
	return []userAgentToken{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"},
		{"CrOS", "ChromeOS"},
		{"Macintosh", "Mac"}, {"Linux", "Linux"},
	}
}

// browserName describes the browser in a User-Agent header, which clients can set to anything.
func browserName(agent string) string {
	browser, system := firstMatch(agent, browserTokens()), firstMatch(agent, systemTokens())
	switch {
	case browser != "" && system != "":
		return browser + " on " + system
	case browser != "":
		return browser
	case strings.TrimSpace(stripHidden(agent)) != "":
		return stripHidden(agent)
	}
	return "Unknown browser"
}

func firstMatch(agent string, tokens []userAgentToken) string {
	for _, t := range tokens {
		if strings.Contains(agent, t.substr) {
			return t.name
		}
	}
	return ""
}

const (
	appsPerPage    = 25
	signInsPerPage = 25
)

// signInRow is a sign-in with the name of its browser.
type signInRow struct{ registry.SignIn }

// BrowserName returns the display name of the browser.
func (s signInRow) BrowserName() string { return browserName(s.Browser) }

// By returns the sign-in method.
func (s signInRow) By() string {
	if s.Via == "" {
		return "Sign-in link"
	}
	return stripHidden(s.Via)
}

// identityRow is an identity as shown on pages.
type identityRow struct{ registry.Identity }

// Provider returns the host of the issuer, and User the user ID there, without hidden characters.
func (i identityRow) Provider() string { return stripHidden(hostOf(i.Issuer)) }
func (i identityRow) User() string     { return stripHidden(i.Subject) }

// hostOf returns the host of a URL, or the text if it has none.
func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}

// accountPage shows the account, its identities and its active sign-ins.
type accountPage struct {
	Identities []identityRow
	ByEmail    bool // the account holder can sign in with an emailed link, and gets email
	Removable  bool // removing any one identity leaves another way to sign in

	SignIns []signInRow
	Others  int // sign-ins other than the current one
	Pager   pager
}

func (req *request) accountPage() error {
	signIns, state, err := req.svc.SignIns(req.ctx(), req.caller)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	identities, err := req.identities()
	if err != nil {
		return err
	}
	rows := make([]signInRow, len(signIns))
	p := accountPage{Identities: identities, Removable: req.account.Email != "" || len(identities) > 1}
	p.ByEmail = req.account.Email != "" && req.opts.SignInByEmail
	for i, s := range signIns {
		rows[i] = signInRow{s}
		if !s.Current {
			p.Others++
		}
	}
	p.SignIns, p.Pager = paginate(req, rows, signInsPerPage)
	return req.show(http.StatusOK, "account", page{Title: "Profile", Data: p})
}

func (req *request) identities() ([]identityRow, error) {
	identities, state, err := req.svc.Identities(req.ctx(), req.caller)
	req.recordQuota(state)
	rows := make([]identityRow, len(identities))
	for i, id := range identities {
		rows[i] = identityRow{id}
	}
	return rows, err
}

// confirmRemoveIdentity shows the consequences of removing the identity in the query.
func (req *request) confirmRemoveIdentity() error {
	query := req.http.URL.Query()
	identities, err := req.identities()
	if err != nil {
		return err
	}
	wanted := registry.Identity{Issuer: query.Get("issuer"), Subject: query.Get("subject")}
	for _, id := range identities {
		if id.Identity == wanted {
			return req.show(http.StatusOK, "identity_remove", page{Title: "Remove sign-in method", Data: id})
		}
	}
	return cola.Errorf(cola.CodeNotFound, "Your account doesn’t have this sign-in method.")
}

func (req *request) removeIdentity() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	id := registry.Identity{Issuer: form.Get("issuer"), Subject: form.Get("subject")}
	state, err := req.svc.RemoveIdentity(req.ctx(), req.caller, id)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(accountPath, "Sign-in method removed.")
}

// setQuotaEmails turns email about quotas on or off.
func (req *request) setQuotaEmails() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	on := form.Get("on") == "true"
	state, err := req.svc.SetQuotaEmails(req.ctx(), req.caller, on)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	notice := "Quota emails turned off."
	if on {
		notice = "Quota emails turned on."
	}
	return req.redirect(accountPath, notice)
}

func (req *request) endSignIn() error {
	id := req.id()
	if req.caller.Credential.ID == id {
		return req.signOut()
	}
	state, err := req.svc.EndSignIn(req.ctx(), req.caller, id)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(accountPath, "Session ended.")
}

func (req *request) endOtherSignIns() error {
	ended, state, err := req.svc.EndOtherSignIns(req.ctx(), req.caller)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(accountPath, plural(ended, "other session", "other sessions")+" signed out.")
}

// exportWriteTimeout is the time that a client has to receive each part of an export.
const exportWriteTimeout = 30 * time.Second

// download is a response with a file. It sets the headers with the first part, so that an earlier
// error can still be shown as a page.
type download struct {
	http.ResponseWriter
	name, kind string
	control    *http.ResponseController
	started    bool
}

// Write implements io.Writer. It extends the write deadline: a download may take longer than a
// page.
func (d *download) Write(p []byte) (int, error) {
	if !d.started {
		d.started = true
		d.Header().Set("Content-Type", d.kind)
		d.Header().Set("Content-Disposition", `attachment; filename="`+d.name+`"`)
	}
	_ = d.control.SetWriteDeadline(time.Now().Add(exportWriteTimeout)) // fails in tests without a connection
	return d.ResponseWriter.Write(p)
}

// exportAccount sends all of the account's data as a file.
func (req *request) exportAccount() error {
	d := &download{
		ResponseWriter: req.w, control: http.NewResponseController(req.w), kind: "application/json",
		name: "account-" + req.now().UTC().Format(time.DateOnly) + ".json",
	}
	state, err := req.svc.ExportAccount(req.ctx(), req.caller, d)
	if err != nil && d.started {
		web.EventOf(req.ctx()).Fault = err
		panic(http.ErrAbortHandler) // so that the browser doesn't treat the file as complete
	}
	if !d.started {
		req.recordQuota(state)
	}
	return err
}
