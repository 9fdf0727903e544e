package ttbsite

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

//go:embed pages/*.html
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"attachment": attachment,
}).ParseFS(files, "pages/*.html"))

// attachment returns the src attribute of an image. Like the real site, it escapes neither spaces
// nor ampersands.
func attachment(fileName string) template.HTMLAttr {
	fileName = strings.ReplaceAll(fileName, `"`, "")
	return template.HTMLAttr(`src="` + Path + `publicViewAttachment.do?filename=` + fileName + `&filetype=l"`)
}

// render returns a response with the named page, or with status 500 if its template fails.
func render(name string, data any) response {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name+".html", data); err != nil {
		return htmlPage(http.StatusInternalServerError, fmt.Sprint(err))
	}
	return htmlPage(http.StatusOK, b.String())
}
