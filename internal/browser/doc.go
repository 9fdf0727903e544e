// Package browser tests the dashboard in a real Chromium. It checks every page for accessibility,
// script errors and appearance. It also walks through the whole program, including sign-in at a
// real issuer. It contains only tests.
package browser
