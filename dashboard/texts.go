package dashboard

import (
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/web"
)

// legible returns a text of others without what nobody sees, such as characters that turn the direction of writing, and what is not UTF-8.
func legible(text string) string {
	return strings.Map(func(r rune) rune {
		if vocabulary.IsInvisible(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// statusOf returns the status of an error that a caller may see.
func statusOf(err error) int { return web.StatusOf(cola.CodeOf(err)) }
