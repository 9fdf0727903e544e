// Package collect obtains labels from TTB's Public COLA Registry.
package collect
