// Package imports tests which packages may import each other. It contains only tests.
package imports
