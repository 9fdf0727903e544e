package ttbsite

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// realPages contains the paths of a real label's pages.
type realPages struct{ form, detail string }

// realLabels returns the labels with pages in a folder of real data. It spreads their completion
// dates over the given days.
func realLabels(folder string, days []cola.Date) (labels []*Label, err error) {
	rows, err := readExport(filepath.Join(folder, "ttb", "cola_export.csv"))
	if err != nil {
		return nil, fmt.Errorf("real labels: %w", err)
	}
	forms, err := filepath.Glob(filepath.Join(folder, "ttb", "pages", "*", "printable.html"))
	if err != nil {
		return nil, err
	}
	for i, form := range forms {
		id, ok := cola.ParseTTBID(filepath.Base(filepath.Dir(form)))
		row := rows[id.String()]
		if !ok || row == nil {
			return nil, fmt.Errorf("real labels: %s is not in the export", form)
		}
		kind, _ := vocabulary.ProductTypeOfClass(row[8])
		l := &Label{
			ID: id, Completed: days[i*len(days)/len(forms)],
			Permit: row[1], Serial: row[2], Fanciful: row[4], Brand: row[5],
			Origin: vocabulary.Origin{ID: row[6], Name: row[7]},
			Class:  vocabulary.Class{ID: row[8], Name: row[9], ProductType: kind},
			real:   &realPages{form: form, detail: filepath.Join(filepath.Dir(form), "detail.html")},
		}
		if l.Images, err = realImages(form); err != nil {
			return nil, fmt.Errorf("real labels: %w", err)
		}
		labels = append(labels, l)
	}
	return labels, nil
}

// readExport returns the rows of an export, by TTB ID.
func readExport(path string) (map[string][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	rows := map[string][]string{}
	for _, row := range list {
		rows[row[0]] = row
	}
	return rows, nil
}

var imageName = regexp.MustCompile(`publicViewAttachment\.do\?filename=(.*?)&filetype=l"`)

// realImages returns the images that a form lists, with their files. The file names on disk lack
// special characters.
func realImages(form string) (images []LabelImage, err error) {
	text, err := os.ReadFile(form)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(form), "images", "*"))
	if err != nil {
		return nil, err
	}
	for _, m := range imageName.FindAllStringSubmatch(string(text), -1) {
		at := slices.IndexFunc(files, func(file string) bool { return stem(filepath.Base(file)) == stem(m[1]) })
		if at < 0 {
			return nil, fmt.Errorf("%s: no file for image %q", form, m[1])
		}
		images = append(images, LabelImage{FileName: m[1], file: files[at]})
	}
	return images, nil
}

// stem returns the letters and digits of a file name, in lower case and without the extension.
func stem(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(strings.TrimSuffix(name, filepath.Ext(name))))
}
