// Package imports tests which package may import which. It contains only the test.
package imports
