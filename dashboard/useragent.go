package dashboard

import "strings"

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
