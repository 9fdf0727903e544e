package ingest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/ingest/ttbpage"
)

// adviceResults says what to import instead of result pages.
const adviceResults = "search results don't include label details; import the CSV export of the search instead"

// adviceSession is the advice for pages from an expired session.
const adviceSession = "the session had expired; download the page again in a new session"

// pageProblems are the reasons why pages without a label are rejected.
var pageProblems = map[ttbpage.Kind]string{
	ttbpage.Results:      "result page: " + adviceResults,
	ttbpage.SearchForm:   "search page: " + adviceSession,
	ttbpage.SessionEnded: "session page: " + adviceSession,
	ttbpage.NoPage:       "error page: the page does not exist, or the site had an error; download the label's printable form, or its detail page if this was the form",
	ttbpage.Blocked:      "block page: the site's firewall rejected the request; download the page again, more slowly",
	ttbpage.Captcha:      "CAPTCHA page: the site asked for a CAPTCHA; download the page again, more slowly",
	ttbpage.SiteError:    "error page: the site had an error; download the page again",
	ttbpage.Unknown:      "unknown web page; expected a detail page or a printable form from TTB's Public COLA Registry",
}

// problemCutOff is the reason why an incomplete page is rejected. The page's last value
// may also be truncated, and would then replace a complete value.
const problemCutOff = "the page is incomplete: it has no </html>; download it again"

// pageDecoder decodes pages of TTB's registry. A page sets the fields that it shows; it never
// clears a field.
func pageDecoder() decodeFunc[cola.Cola] {
	r := newRecordReader()
	return func(raw []byte, patch *cola.Patch[cola.Cola], notes notes) string {
		r.begin(notes)
		page, err := ttbpage.Parse(raw)
		if err != nil {
			return err.Error()
		}
		if problem := pageProblems[page.Kind]; problem != "" {
			return problem
		}
		if !bytes.Contains(bytes.ToLower(raw), []byte("</html")) {
			return problemCutOff
		}
		stated, err := page.Label()
		if err != nil {
			return err.Error()
		}
		label := r.pageLabel(&stated)
		finishCola(r, &label, statedFields(&label), patch)
		return r.problems.String()
	}
}

// statedFields returns the fields that have a value.
func statedFields(label *cola.Cola) (stated cola.Fields) {
	value := reflect.ValueOf(label).Elem()
	for i, f := range cola.FieldsOf[cola.Cola]() {
		if !value.FieldByIndex(f.Index).IsZero() {
			stated = stated.With(i)
		}
	}
	return stated
}

// pageLabel converts the values of a page to a label. Some values are free text from applicants: if
// one can't be parsed, it is left out with a warning. Any other value that can't be parsed is a
// problem.
func (r *recordReader) pageLabel(l *ttbpage.Label) (c cola.Cola) {
	for _, f := range []struct {
		name, text string
		to         any
	}{
		{"TTB ID", l.TTBID, &c.TTBID},
		{"brand name", l.BrandName, &c.BrandName},
		{"fanciful name", l.FancifulName, &c.ProductName},
		{"type of product", l.ProductType, &c.ProductType},
		{"source of product", l.Source, &c.DomesticOrImported},
		{"class code", l.ClassCode, &c.ClassID},
		{"class description", l.ClassName, &c.ClassName},
		{"origin code", l.OriginCode, &c.OriginID},
		{"origin", l.OriginName, &c.OriginName},
		{"permit number", l.PermitNumber, &c.PermitNumber},
		{"status", l.Status, &c.ApplicationStatus},
		{"type of application", l.ApplicationType, &c.ApplicationType},
		{"date of application", l.Application, &c.ApplicationDate},
		{"approval date", l.Approval, &c.ApprovalDate},
		{"expiration date", l.Expiration, &c.ExpirationDate},
		{"state of sale", l.ForSaleIn, &c.ForExemptionState},
		{"bottle capacity", l.BottleCapacity, &c.ForDistinctiveCapacity},
		{"applicant", l.Applicant, &c.AddressRecipient},
		{"state", l.State, &c.AddressState},
		{"ZIP code", l.ZIP, &c.AddressZipCode},
		{"trade name", l.TradeName, &c.TradeName},
		{"serial number", l.SerialNumber, &c.SerialNumber},
		{"formula", l.Formula, &c.Formula},
		{"appellation", l.Appellation, &c.WineAppellation},
	} {
		if isBlankAnswer(f.text) {
			continue
		}
		if err := setText(f.to, f.text, textForm{}); err != nil {
			r.problems.add(f.name, err)
		}
	}
	c.Qualifications = cola.Text(strings.Join(l.Qualifications, "\n"))
	if !isBlankAnswer(l.Varietals) {
		c.GrapeVarietals = splitList(l.Varietals, "")
	}
	r.freeTextValues(l, &c)
	if l.HasImages { // a printable form
		c.IsDistinctiveContainer = cola.Some(l.DistinctiveChecked)
		c.IsResubmission = cola.Some(l.ResubmissionChecked)
	}
	c.Images = r.pageImages(l.Images, c.TTBID)
	return c
}

// isBlankAnswer reports whether an answer says that there is no value.
func isBlankAnswer(text string) bool {
	return slices.Contains([]string{"", "N/A", "NA", "NONE", "N.A."}, strings.ToUpper(text))
}

// freeTextValues sets the values that applicants entered as free text.
func (r *recordReader) freeTextValues(l *ttbpage.Label, c *cola.Cola) {
	noteUnreadable := func(name, text string) {
		r.notes.add(fmt.Sprintf("%s %s can't be read, so it was left out", name, quote(text)))
	}
	if text := l.AlcoholContent; !isBlankAnswer(text) {
		if abv, ok := vocabulary.ParseABV(text); ok && abv <= 100 {
			c.ABV = cola.Some(abv)
		} else {
			noteUnreadable("alcohol content", text)
		}
	}
	if text := strings.Join(l.NetContents, ", "); !isBlankAnswer(text) {
		if v, unit, ok := vocabulary.ParseVolume(text); ok {
			c.Volume, c.VolumeUnit = cola.Some(v), cola.Text(unit)
		} else {
			noteUnreadable("net contents", text)
		}
	}
	if text := l.Vintage; !isBlankAnswer(text) {
		if year, err := strconv.Atoi(text); err == nil && len(text) == 4 {
			c.WineVintageYear = cola.Some(year)
		} else if !slices.Contains([]string{"NV", "N/V"}, strings.ToUpper(text)) {
			noteUnreadable("vintage", text)
		}
	}
	if text := l.ResubmissionOf; !isBlankAnswer(text) {
		if err := setTTBID(&c.ForResubmissionTTBID, text); err != nil || c.ForResubmissionTTBID == c.TTBID {
			c.ForResubmissionTTBID = 0
			noteUnreadable("TTB ID of the earlier application", text)
		}
	}
}

// pageImages returns the images that a form lists, in the form's order. The form has no image IDs,
// so images are numbered. An image's URL is bound to a session, so it isn't kept.
func (r *recordReader) pageImages(listed []ttbpage.Image, id cola.TTBID) (images []cola.Image) {
	for i, stated := range listed {
		image := cola.Image{
			TTBImageID:        formImageID(id, i),
			ImageIndex:        i,
			ContainerPosition: cola.Text(normalizeSpace(stated.Position)),
			FileName:          cola.Text(normalizeSpace(stated.FileName)),
			ExtensionType:     extensionOf(stated.FileName),
		}
		setPosition(&image)
		if image.ContainerPosition != "" && !slices.Contains(cola.ContainerPositions(), string(image.ContainerPosition)) {
			r.notes.add(fmt.Sprintf("unknown image position %s, stored as other", quote(stated.Position)))
			image.ContainerPosition = ""
		}
		if stated.Width > 0 && stated.Height > 0 {
			image.WidthInches, image.HeightInches = cola.Some(stated.Width), cola.Some(stated.Height)
		}
		images = append(images, image)
	}
	return images
}

// formImageID returns the ID of the image at a position on a label's form, counting from 0.
func formImageID(id cola.TTBID, position int) string { return fmt.Sprintf("%s-%d", id, position+1) }

// FormFileNames returns the file names of images on a label's form, by image ID. Records store them
// with white space collapsed, but the site serves a different image of the label unless the name
// matches exactly.
func FormFileNames(id cola.TTBID, form []byte) (map[string]string, error) {
	page, err := ttbpage.Parse(form)
	if err != nil {
		return nil, err
	}
	label, err := page.Label()
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for i, image := range label.Images {
		names[formImageID(id, i)] = image.FileName
	}
	return names, nil
}

// extensionOf returns the extension of a file name, or "unknown" if it has none.
func extensionOf(fileName string) cola.Text {
	extension := strings.ToLower(strings.TrimPrefix(path.Ext(strings.TrimSpace(fileName)), "."))
	if len(extension) > 5 || strings.Trim(extension, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		extension = ""
	}
	return cola.Text(cmp.Or(extension, "unknown"))
}

var imagesField = cola.FieldIndex[cola.Cola]("images")

// keepImageData keeps stored image data that the form lacks, such as URLs and pixel sizes. Images
// are matched by ID and file name. If no ID matches, but a stored image has a URL, all stored
// images are kept.
func (w *colaWork) keepImageData(ctx context.Context, patches []cola.Patch[cola.Cola]) error {
	for i := range patches {
		patch := &patches[i]
		if !patch.Fields.Has(imagesField) {
			continue
		}
		label, err := w.stored(ctx, patch.Record.TTBID)
		if err != nil {
			return err
		}
		found, replaced := mergeImages(patch.Record.Images, label.Images)
		if !found && slices.ContainsFunc(label.Images, hasURL) {
			patch.Record.Images = nil
			patch.Fields &^= cola.Fields(0).With(imagesField)
		}
		if len(replaced) > 0 {
			dropCodes(patch, &label, replaced)
		}
	}
	return nil
}

func hasURL(m cola.Image) bool { return m.ImageURL != "" }

// mergeImages copies stored data into the images of a form. It reports whether any image ID
// matched, and returns the IDs of images that the form replaces: those with the same ID but a
// different file name. Their stored data doesn't apply to the new images.
func mergeImages(listed, stored []cola.Image) (found bool, replaced []string) {
	for i := range listed {
		m := &listed[i]
		at := slices.IndexFunc(stored, func(s cola.Image) bool { return s.TTBImageID == m.TTBImageID })
		if at < 0 {
			continue
		}
		found = true
		merged := stored[at]
		if m.FileName != "" && merged.FileName != "" && m.FileName != merged.FileName {
			replaced = append(replaced, m.TTBImageID)
			continue
		}
		merged.ImageIndex, merged.ContainerPosition = m.ImageIndex, m.ContainerPosition
		if m.FileName != "" {
			merged.FileName = m.FileName
		}
		if m.WidthInches.OK {
			merged.WidthInches, merged.HeightInches = m.WidthInches, m.HeightInches
		}
		if m.ExtensionType != "unknown" && merged.ImageURL == "" {
			merged.ExtensionType = m.ExtensionType
		}
		*m = merged
	}
	return found, replaced
}

// codeFields are the fields that dropCodes sets.
var codeFields = []int{
	cola.FieldIndex[cola.Cola]("barcodes"), cola.FieldIndex[cola.Cola]("barcode_value"),
	cola.FieldIndex[cola.Cola]("barcode_type"), cola.FieldIndex[cola.Cola]("qrcode_url"),
}

// dropCodes makes a patch remove the codes of replaced images from a label.
func dropCodes(patch *cola.Patch[cola.Cola], label *cola.Cola, replaced []string) {
	record := &patch.Record
	record.BarcodeValue, record.BarcodeType, record.QRCodeURL = label.BarcodeValue, label.BarcodeType, label.QRCodeURL
	record.Barcodes = slices.DeleteFunc(slices.Clone(label.Barcodes), func(b cola.Barcode) bool {
		drop := slices.Contains(replaced, string(b.TTBImageID))
		if drop && b.BarcodeValue == string(record.BarcodeValue) {
			record.BarcodeValue, record.BarcodeType = "", "" // the store falls back to the first remaining barcode
		}
		return drop
	})
	hasQRCodes := func(m cola.Image) bool { return m.QRCodeCount.V > 0 }
	if slices.ContainsFunc(label.Images, hasQRCodes) && !slices.ContainsFunc(record.Images, hasQRCodes) {
		record.QRCodeURL = ""
	}
	for _, field := range codeFields {
		patch.Fields = patch.Fields.With(field)
	}
}
