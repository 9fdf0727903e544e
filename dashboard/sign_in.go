package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

func signInRoutes() []route {
	return publicRoutes(
		get(signInPath, (*request).signIn),
		post(signInPath, (*request).beginSignIn),
		get(signInPath+"/callback", (*request).finishSignIn),
		get(signInPath+"/status", (*request).signInStatus),
		get(signInPath+"/email", (*request).reopenSignIn),
		post(signInPath+"/email", (*request).requestSignInLink),
		get(signInPath+"/link/{token}", (*request).signInLink),
		post(signInPath+"/link/{token}", (*request).useSignInLink),
		post(signOutPath, (*request).signOut),
	)
}

// signInPage offers the ways to sign in.
type signInPage struct {
	Issuers    []auth.IssuerChoice
	ReturnTo   string
	ByEmail    bool
	SignUp     bool // an emailed link creates an account
	InviteOnly bool
	Reason     string // why the visitor was sent here; may be empty

	Email    string   // as entered
	Problems []string // problems with Email
}

func (req *request) signIn() error {
	to := safeReturnPath(req.query().Get("return"))
	if req.signedIn {
		return req.redirect(to, "")
	}
	req.takeReturnCookie()
	if to != homePath {
		req.setReturnCookie(to, int(auth.LinkLifetime.Seconds())) // sign-in links in emails don't contain the path
	}
	return req.showSignIn(http.StatusOK, signInPage{ReturnTo: to})
}

func (req *request) showSignIn(status int, p signInPage) error {
	p.Reason = signInReason(p.ReturnTo)
	p.Issuers = req.browsers.Issuers()
	p.ByEmail, p.SignUp, p.InviteOnly = req.opts.SignInByEmail, req.opts.SignUp, req.opts.InviteOnly
	return req.show(status, "sign_in", page{
		Title: "Sign in", Data: p,
		Description: "Sign in to search labels, manage API keys and alerts, and see your usage.",
	})
}

// signInReason says why the page that the visitor requested needs an account. It returns "" if the
// visitor came from a public page.
func signInReason(to string) string {
	path, _, _ := strings.Cut(to, "?")
	switch areaOf(path) {
	case homePath, docsArea, plansPath:
		return ""
	case keysPath:
		return "To create or manage API keys, sign in first."
	}
	return "To open this page, sign in first."
}

// signInStatus reports whether the browser is signed in, for scripts on public pages, which are
// cached for everyone. Other sites can't read it: see rejectEmbedded.
func (req *request) signInStatus() error {
	web.Write(req.w, http.StatusOK, "application/json", fmt.Appendf(nil, `{"signed_in":%t}`, req.signedIn))
	return nil
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
	return req.redirectExternal(redirect, "Redirecting you to sign in")
}

// reopenSignIn redirects a browser that reopens the email form's URL to the sign-in page.
func (req *request) reopenSignIn() error { return req.redirect(signInPath, "") }

// linkSentPage says that a link is being sent if the address can sign in.
type linkSentPage struct {
	Email   string
	SignUp  bool
	Minutes int
}

// requestSignInLink requests an emailed sign-in link. The response must not depend on whether the
// address has an account, so it doesn't wait for the link to be sent.
func (req *request) requestSignInLink() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	email := strings.TrimSpace(form.Get("email"))
	err = req.browsers.RequestLink(req.ctx(), email)
	if problems, _, ok := correctable(err); ok {
		return req.showSignIn(statusOf(err),
			signInPage{ReturnTo: safeReturnPath(form.Get("return")), Email: stripHidden(email), Problems: problems["email"]})
	}
	if err != nil {
		return err
	}
	sent := linkSentPage{Email: email, SignUp: req.opts.SignUp, Minutes: int(auth.LinkLifetime.Minutes())}
	return req.show(http.StatusOK, "sign_in_sent", page{Title: "Check your email", Data: sent})
}

// redirectExternal responds to a form with a page that redirects to another site. The content
// security policy would block an HTTP redirect (see contentSecurityPolicy).
func (req *request) redirectExternal(to, title string) error {
	return req.show(http.StatusOK, "redirect", page{Title: title, Redirect: to})
}

func (req *request) finishSignIn() error {
	returnTo, err := req.browsers.Finish(req.ctx(), req.query(), req.http.UserAgent())
	if err != nil {
		req.signedIn = false
		return err
	}
	req.takeReturnCookie() // a link in an email must not return to the page of another sign-in
	return req.redirect(returnTo, "")
}

// linkPage asks for confirmation before signing in with a sign-in link. Opening the link must have
// no effect, because email scanners and link previews also open links.
type linkPage struct {
	Email  string
	New    bool // signing in creates the account
	Action string
	Other  string // the signed-in email address, if different
}

func (req *request) signInLink() error {
	target, err := req.browsers.LinkAccount(req.ctx(), req.path("token"))
	if err != nil {
		return req.linkError(err)
	}
	p := linkPage{Email: target.Email, New: target.New, Action: signInPath + "/link/" + url.PathEscape(req.path("token"))}
	if req.signedIn && req.account.Email != target.Email {
		p.Other = req.account.Email
	}
	title := "Sign in"
	if p.New {
		title = "Create your account"
	}
	return req.show(http.StatusOK, "sign_in_link", page{Title: title, Data: p})
}

func (req *request) useSignInLink() error {
	created, err := req.browsers.UseLink(req.ctx(), req.path("token"), req.http.UserAgent())
	if err != nil {
		return req.linkError(err)
	}
	notice := ""
	if created {
		notice = "Your account is ready. You’re on the free plan."
	}
	return req.redirect(safeReturnPath(req.takeReturnCookie()), notice)
}

// linkError redirects a signed-in user with an invalid sign-in link to the overview.
func (req *request) linkError(err error) error {
	if req.signedIn && cola.CodeOf(err) == cola.CodeUnauthorized {
		return req.redirect(homePath, "This sign-in link is incomplete, expired or already used. You’re still signed in as "+
			req.account.Email+".")
	}
	return err
}

const docsArea = "/docs" // served by package site

// safeReturnPath returns the page to show after sign-in: the given URL if it is a page of the
// dashboard or the documentation, or else the overview.
func safeReturnPath(address string) string {
	to := auth.LocalPage(address)
	u, err := url.Parse(to)
	if err != nil {
		return homePath
	}
	if area := areaOf(u.Path); area == signOutPath || area == signInPath || !Handles(area) && area != docsArea {
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

// takeReturnCookie returns the requested page and deletes the cookie. It returns "" if there is
// none.
func (req *request) takeReturnCookie() string {
	cookie, err := req.http.Cookie(req.returnCookie())
	if err != nil {
		return ""
	}
	req.setReturnCookie("", -1)
	to, err := url.QueryUnescape(cookie.Value)
	if err != nil {
		return ""
	}
	return to
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
		return req.redirectExternal(redirect, "Signing you out")
	}
	if !known {
		return req.redirect(signInPath, "") // a notice is stored in the database, and anyone could trigger one
	}
	return req.redirect(signInPath, "You’re signed out.")
}
