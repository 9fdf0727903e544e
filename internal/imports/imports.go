// Package imports enforces the rules for imports between packages. It contains only tests.
package imports
