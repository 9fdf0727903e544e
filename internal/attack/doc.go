// Package attack runs attacks against the real server over both databases. Each test is an attack that once succeeded, or a
// class of attack that must stay impossible; docs/SECURITY.md lists them with the expected outcome.
package attack
