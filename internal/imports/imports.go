// Package imports holds the program to its shape: which package may import which. It has no code of its own, only the test.
package imports
