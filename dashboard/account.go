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
	return forAll(
		get(signInPath, (*visit).signIn),
		post(signInPath, (*visit).beginSignIn),
		get(signInPath+"/callback", (*visit).finishSignIn),
		get(signInPath+"/link/{token}", (*visit).signInLink),
		post(signInPath+"/link/{token}", (*visit).useSignInLink),
		post(signOutPath, (*visit).signOut),
	)
}

// signInPage offers the ways to sign in.
type signInPage struct {
	Issuers  []auth.IssuerChoice
	ReturnTo string
}

func (v *visit) signIn() error {
	to := returnPage(v.query().Get("return"))
	if v.signedIn {
		return v.leadTo(to, "")
	}
	if to != homePath {
		v.setReturn(to, int(auth.AttemptFor.Seconds())) // for who signs in with a link, which comes from elsewhere
	}
	return v.show(http.StatusOK, "signin", page{Title: "Sign in", Data: signInPage{v.browsers.Issuers(), to}})
}

func (v *visit) beginSignIn() error {
	form, err := v.form()
	if err != nil {
		return err
	}
	redirect, err := v.browsers.Begin(v.ctx(), form.Get("issuer"), form.Get("return"))
	if err != nil {
		return err
	}
	return v.leadAway(redirect, "On to the sign-in")
}

// leadAway answers a form with a page that leads to another site. A redirect would be held to where forms may lead (see policy).
func (v *visit) leadAway(to, title string) error {
	return v.show(http.StatusOK, "away", page{Title: title, Away: to})
}

func (v *visit) finishSignIn() error {
	returnTo, err := v.browsers.Finish(v.ctx(), v.query(), v.r.UserAgent())
	if err != nil {
		v.signedIn = false
		return err
	}
	return v.leadTo(returnTo, "")
}

// linkPage asks whether to sign in by a link. Opening a link does nothing, since mail scanners and previews open links too.
type linkPage struct {
	Email  string
	Action string
	Other  string // email address that is signed in now, if it is another one
}

func (v *visit) signInLink() error {
	email, err := v.browsers.LinkAccount(v.ctx(), v.path("token"))
	if err != nil {
		return err
	}
	p := linkPage{Email: email, Action: signInPath + "/link/" + url.PathEscape(v.path("token"))}
	if v.signedIn && v.account.Email != email {
		p.Other = v.account.Email
	}
	return v.show(http.StatusOK, "link", page{Title: "Sign in", Data: p})
}

func (v *visit) useSignInLink() error {
	if err := v.browsers.UseLink(v.ctx(), v.path("token"), v.r.UserAgent()); err != nil {
		return err
	}
	to := homePath
	if kept, err := v.r.Cookie(v.returnCookie()); err == nil {
		if to, err = url.QueryUnescape(kept.Value); err != nil {
			to = homePath
		}
		v.setReturn("", -1)
	}
	return v.leadTo(returnPage(to), "")
}

// returnPage returns the page that a sign-in leads to, for an address that a browser brought: one here that is looked at.
func returnPage(address string) string {
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

// returnCookie names the cookie that keeps which page somebody wanted who was led to the sign-in.
func (v *visit) returnCookie() string {
	if v.https() {
		return "__Host-colaregistry-return"
	}
	return "colaregistry-return"
}

func (v *visit) setReturn(to string, seconds int) {
	http.SetCookie(v.w, &http.Cookie{
		Name: v.returnCookie(), Value: url.QueryEscape(to), Path: "/", MaxAge: seconds, HttpOnly: true, Secure: v.https(), SameSite: http.SameSiteLaxMode,
	})
}

func (v *visit) signOut() error {
	_, known := v.browsers.Caller(v.ctx())
	redirect, err := v.browsers.SignOut(v.ctx())
	v.w.Header().Set("Clear-Site-Data", `"cache"`) // pages that were charged are kept for going back: see keepForBack
	if err != nil && cola.CodeOf(err) != cola.CodeUnauthorized {
		return err
	}
	if redirect != "" {
		v.signedIn = false
		return v.leadAway(redirect, "On to sign out at the issuer")
	}
	if !known {
		return v.leadTo(signInPath, "") // a notice would be kept in the database, for anybody who asks
	}
	return v.leadTo(signInPath, "You are signed out.")
}

// sign is what the User-Agent of a kind of browser, or of a system, holds.
type sign struct{ holds, name string }

// browserSigns are in the order in which they tell: browsers also claim to be those that follow.
func browserSigns() []sign {
	return []sign{
		{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"},
		{"FxiOS/", "Firefox"}, {"Firefox/", "Firefox"}, {"CriOS/", "Chrome"}, {"HeadlessChrome/", "Chrome without a window"},
		{"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Version/", "Safari"},
	}
}

func systemSigns() []sign {
	return []sign{
		{"iPhone", "an iPhone"}, {"iPad", "an iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"CrOS", "ChromeOS"},
		{"Macintosh", "a Mac"}, {"Linux", "Linux"},
	}
}

// browserWords tells in words which browser a User-Agent is of, as far as that can be told: anybody can send any.
func browserWords(agent string) string {
	browser, system := firstSign(agent, browserSigns()), firstSign(agent, systemSigns())
	switch {
	case browser != "" && system != "":
		return browser + " on " + system
	case browser != "":
		return browser
	case strings.TrimSpace(legible(agent)) != "":
		return legible(agent)
	}
	return "A browser that does not say what it is"
}

func firstSign(agent string, signs []sign) string {
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

// signInRow is a sign-in, with its browser in words.
type signInRow struct{ registry.SignIn }

// BrowserWords names the browser.
func (s signInRow) BrowserWords() string { return browserWords(s.Browser) }

// By tells how it was signed in.
func (s signInRow) By() string {
	if s.Via == "" {
		return "a link"
	}
	return legible(s.Via)
}

// accountPage tells of the account and where it is signed in.
type accountPage struct {
	SignIns []signInRow
	Others  int // sign-ins but this one
	Pager   pager
}

func (v *visit) accountPage() error {
	signIns, state, err := v.svc.SignIns(v.ctx(), v.caller)
	v.asked(state)
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
	p.SignIns, p.Pager = paged(v, rows, signInsPerPage)
	return v.show(http.StatusOK, "account", page{Title: "Account and sign-ins", Data: p})
}

func (v *visit) endSignIn() error {
	id := v.id()
	if v.caller.Credential.ID == id {
		return v.signOut()
	}
	state, err := v.svc.EndSignIn(v.ctx(), v.caller, id)
	v.asked(state)
	if err != nil {
		return err
	}
	return v.leadTo(accountPath, "That browser is signed out.")
}

func (v *visit) endOtherSignIns() error {
	ended, state, err := v.svc.EndOtherSignIns(v.ctx(), v.caller)
	v.asked(state)
	if err != nil {
		return err
	}
	return v.leadTo(accountPath, fmt.Sprintf("%s signed out. This one stays signed in.", plural(ended, "other browser is", "other browsers are")))
}
