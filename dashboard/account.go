package dashboard

import (
	"net/http"
	"strings"

	"github.com/colaregistry/colaregistry/registry"
)

// userAgentToken is a browser or operating system and the substring of User-Agent that identifies
// it.
type userAgentToken struct{ substr, name string }

// browserTokens returns browsers in order of precedence: the User-Agent of one may also contain the
// substrings of those further down the list.
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

// accountPage shows the account and its active sign-ins.
type accountPage struct {
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
	rows := make([]signInRow, len(signIns))
	p := accountPage{}
	for i, s := range signIns {
		rows[i] = signInRow{s}
		if !s.Current {
			p.Others++
		}
	}
	p.SignIns, p.Pager = paginate(req, rows, signInsPerPage)
	return req.show(http.StatusOK, "account", page{Title: "Profile", Data: p})
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
