// Package attack runs attacks against the real server on both databases. Each test is an attack
// that once succeeded or a class of attacks that must stay impossible. docs/SECURITY.md lists them
// with the expected outcomes.
package attack
