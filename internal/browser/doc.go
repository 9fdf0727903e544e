// Package browser has the dashboard used in a real Chromium: every page is looked at for what people with other eyes and hands than ours need, for
// scripts that are not ours and for its looks; and the whole program is walked through, sign-in at a real issuer included. It holds tests only.
package browser
