package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

func signInRoutes() []route {
	return publicRoutes(
		get(signInPath, (*request).signIn),
		post(signInPath, (*request).beginSignIn),
		get(signInPath+"/callback", (*request).finishSignIn),
		get(signInPath+"/link/{token}", (*request).signInLink),
		post(signInPath+"/link/{token}", (*request).useSignInLink),
		post(signOutPath, (*request).signOut),
	)
}

// signInPage offers the ways to sign in.
type signInPage struct {
	Issuers  []auth.IssuerChoice
	ReturnTo string
}

func (req *request) signIn() error {
	to := safeReturnPath(req.query().Get("return"))
	if req.signedIn {
		return req.redirect(to, "")
	}
	if to != homePath {
		req.setReturnCookie(to, int(auth.AttemptFor.Seconds())) // for sign-in links, which open from another site
	}
	return req.show(http.StatusOK, "sign_in", page{Title: "Sign in", Data: signInPage{req.browsers.Issuers(), to}})
}

func (req *request) beginSignIn() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	redirect, err := req.browsers.Begin(req.ctx(), form.Get("issuer"), form.Get("return"))
	if err != nil {
		return err
	}
	return req.redirectExternal(redirect, "On to the sign-in")
}

// redirectExternal answers a form with a page that redirects to another site. The content security
// policy would block an HTTP redirect (see contentSecurityPolicy).
func (req *request) redirectExternal(to, title string) error {
	return req.show(http.StatusOK, "redirect", page{Title: title, Away: to})
}

func (req *request) finishSignIn() error {
	returnTo, err := req.browsers.Finish(req.ctx(), req.query(), req.http.UserAgent())
	if err != nil {
		req.signedIn = false
		return err
	}
	return req.redirect(returnTo, "")
}

// linkPage asks for confirmation before signing in by a link: opening the link must do nothing,
// because mail scanners and previews open links too.
type linkPage struct {
	Email  string
	Action string
	Other  string // email address that is signed in now, if it is another one
}

func (req *request) signInLink() error {
	email, err := req.browsers.LinkAccount(req.ctx(), req.path("token"))
	if err != nil {
		return err
	}
	p := linkPage{Email: email, Action: signInPath + "/link/" + url.PathEscape(req.path("token"))}
	if req.signedIn && req.account.Email != email {
		p.Other = req.account.Email
	}
	return req.show(http.StatusOK, "sign_in_link", page{Title: "Sign in", Data: p})
}

func (req *request) useSignInLink() error {
	if err := req.browsers.UseLink(req.ctx(), req.path("token"), req.http.UserAgent()); err != nil {
		return err
	}
	to := homePath
	if kept, err := req.http.Cookie(req.returnCookie()); err == nil {
		if to, err = url.QueryUnescape(kept.Value); err != nil {
			to = homePath
		}
		req.setReturnCookie("", -1)
	}
	return req.redirect(safeReturnPath(to), "")
}

// safeReturnPath returns the page to show after sign-in. It ignores addresses that are not pages of
// the dashboard.
func safeReturnPath(address string) string {
	to := auth.LocalPage(address)
	u, err := url.Parse(to)
	if err != nil {
		return homePath
	}
	if area := areaOf(u.Path); area == signOutPath || area == signInPath || !Handles(area) {
		return homePath
	}
	return to
}

// returnCookie returns the name of the cookie that stores the page requested before sign-in.
func (req *request) returnCookie() string {
	if req.https() {
		return "__Host-colaregistry-return"
	}
	return "colaregistry-return"
}

func (req *request) setReturnCookie(to string, seconds int) {
	http.SetCookie(req.w, &http.Cookie{
		Name: req.returnCookie(), Value: url.QueryEscape(to), Path: "/", MaxAge: seconds, HttpOnly: true,
		Secure: req.https(), SameSite: http.SameSiteLaxMode,
	})
}

func (req *request) signOut() error {
	_, known := req.browsers.Caller(req.ctx())
	redirect, err := req.browsers.SignOut(req.ctx())
	req.w.Header().Set("Clear-Site-Data", `"cache"`) // charged pages are cached for the back button: see allowBackCache
	if err != nil && cola.CodeOf(err) != cola.CodeUnauthorized {
		return err
	}
	if redirect != "" {
		req.signedIn = false
		return req.redirectExternal(redirect, "On to sign out at the issuer")
	}
	if !known {
		return req.redirect(signInPath, "") // a notice is stored in the database, and anyone could cause it
	}
	return req.redirect(signInPath, "You are signed out.")
}

// userAgentToken is a substring of the User-Agent of a browser or an operating system.
type userAgentToken struct{ holds, name string }

// browserTokens are in order of precedence: browsers also claim to be those further down the list.
func browserTokens() []userAgentToken {
	return []userAgentToken{
		{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"OPR/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"},
		{"FxiOS/", "Firefox"}, {"Firefox/", "Firefox"}, {"CriOS/", "Chrome"},
		{"HeadlessChrome/", "Chrome without a window"},
		{"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Version/", "Safari"},
	}
}

func systemTokens() []userAgentToken {
	return []userAgentToken{
		{"iPhone", "an iPhone"}, {"iPad", "an iPad"}, {"Android", "Android"}, {"Windows", "Windows"},
		{"CrOS", "ChromeOS"},
		{"Macintosh", "a Mac"}, {"Linux", "Linux"},
	}
}

// browserName describes the browser of a User-Agent, which clients can set freely.
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
	return "A browser that does not say what it is"
}

func firstMatch(agent string, signs []userAgentToken) string {
	for _, s := range signs {
		if strings.Contains(agent, s.holds) {
			return s.name
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

// BrowserName names the browser.
func (s signInRow) BrowserName() string { return browserName(s.Browser) }

// By returns the sign-in method.
func (s signInRow) By() string {
	if s.Via == "" {
		return "a link"
	}
	return stripHidden(s.Via)
}

// accountPage shows the account and its active sign-ins.
type accountPage struct {
	SignIns []signInRow
	Others  int // sign-ins but this one
	Pager   pager
}

func (req *request) accountPage() error {
	signIns, state, err := req.svc.SignIns(req.ctx(), req.caller)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	rows := make([]signInRow, len(signIns))
	p := accountPage{}
	for i, s := range signIns {
		rows[i] = signInRow{s}
		if !s.Current {
			p.Others++
		}
	}
	p.SignIns, p.Pager = paginate(req, rows, signInsPerPage)
	return req.show(http.StatusOK, "account", page{Title: "Account and sign-ins", Data: p})
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
	return req.redirect(accountPath, "That browser is signed out.")
}

func (req *request) endOtherSignIns() error {
	ended, state, err := req.svc.EndOtherSignIns(req.ctx(), req.caller)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(accountPath, fmt.Sprintf("%s signed out. This one stays signed in.",
		plural(ended, "other browser is", "other browsers are")))
}
