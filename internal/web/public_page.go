package web

import "html/template"

// PublicPage is a page for signed-out visitors. The site renders it with the same header and footer
// as its own pages.
type PublicPage struct {
	Title       string
	Description string // for link previews; may be empty
	Path        string
	Redirect    string // URL to redirect to immediately; may be empty
	Content     template.HTML
}
