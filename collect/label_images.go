package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/collect/barcode"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
)

// LabelImages stores fetched images of labels.
type LabelImages struct {
	Store  LabelImageStore
	Files  *images.Store
	Now    func() time.Time
	Logger *slog.Logger
}

// LabelImageStore is the part of a store that LabelImages uses.
type LabelImageStore interface {
	store.ImageFiles
	Cola(ctx context.Context, id cola.TTBID) (cola.Cola, error)
	UpsertColas(ctx context.Context, patches []cola.Patch[cola.Cola], mode store.Mode) ([]store.Outcome, error)
}

// CheckWritable implements Images.
func (l *LabelImages) CheckWritable(ctx context.Context) error { return l.Files.CheckWritable(ctx) }

// HasImage implements Images. It reads the file, which costs little compared with the request that
// it may save.
func (l *LabelImages) HasImage(ctx context.Context, image *cola.Image) (bool, error) {
	switch image.ImageURL {
	case "":
		return false, nil
	case fileURL(image):
	default: // on another host
		return true, nil
	}
	file, err := l.Store.ImageFile(ctx, image.TTBImageID)
	if err == nil {
		err = l.Files.Check(ctx, file.ImageContent)
	}
	switch {
	case errors.Is(err, store.ErrNotFound), errors.As(err, new(*images.DamagedError)):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("check image %s: %w", image.TTBImageID, err)
	}
	return true, nil
}

// LostImages implements Images. It compares the records with a list of all files. For a bucket,
// that takes one request per thousand files, rather than one per image. The list may omit files
// that other processes store while it is being made, so LostImages ignores records made after it
// started.
func (l *LabelImages) LostImages(ctx context.Context) (labels []cola.TTBID, err error) {
	started := l.Now()
	names, err := l.Files.Names(ctx)
	if err != nil {
		return nil, err
	}
	total, lost := 0, 0
	err = l.Store.FetchedImages(ctx, func(i store.FetchedImage) error {
		total++
		if i.Hash != [32]byte{} && names.Has(i.Hash) {
			return nil
		}
		if newer, err := l.fetchedSince(ctx, i, started); newer || err != nil {
			return err
		}
		lost++
		if len(labels) == 0 || labels[len(labels)-1] != i.TTBID {
			labels = append(labels, i.TTBID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if lost > 0 {
		l.Logger.Warn("image files are missing; fetching them again. If there are many, check --image-store",
			"lost", lost, "of", total, "labels", len(labels), "files", names.Len())
	}
	return labels, nil
}

// fetchedSince reports whether an image was fetched at or after a time.
func (l *LabelImages) fetchedSince(ctx context.Context, i store.FetchedImage, since time.Time) (bool, error) {
	if i.Hash == [32]byte{} {
		return false, nil
	}
	label, err := l.Store.Cola(ctx, i.TTBID)
	for n := 0; err == nil && n < len(label.Images); n++ {
		var file store.ImageFile
		file, err = l.Store.ImageFile(ctx, label.Images[n].TTBImageID)
		if err == nil && file.Hash == i.Hash && !file.FetchedAt.Before(since) {
			return true, nil
		}
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, fmt.Errorf("check lost image of label %s: %w", i.TTBID, err)
	}
	return false, nil
}

// fileURL returns the URL of an image whose file is stored.
func fileURL(image *cola.Image) cola.Text { return cola.Text("/images/" + image.TTBImageID) }

// SaveImage stores the file of a label image, reads its barcodes and QR codes, and writes the size,
// URL and codes to the label. usable is false if the content is not a usable image; the label
// is then unchanged.
//
// Saving the same image again changes nothing. Each step is durable before the next one starts, so
// a crash leaves at most a file that no label refers to; saving the image again adds it to the
// label.
func (l *LabelImages) SaveImage(
	ctx context.Context, id cola.TTBID, image *cola.Image, content []byte,
) (usable bool, err error) {
	file, err := l.Files.Put(ctx, content)
	if errors.As(err, new(*images.FormatError)) {
		l.Logger.Warn("an image is unusable", "image", image.TTBImageID, "file_name", image.FileName, "error", err)
		return false, nil
	}
	if err == nil {
		err = l.Store.SaveImageFile(ctx, store.ImageFile{
			TTBImageID: image.TTBImageID, ImageContent: file, FetchedAt: l.Now().UTC(),
		})
	}
	if err != nil {
		return false, fmt.Errorf("store image %s: %w", image.TTBImageID, err)
	}
	codes, read, err := l.readCodes(ctx, image, content)
	if err != nil {
		return false, err
	}
	label, err := l.Store.Cola(ctx, id)
	if err != nil {
		return false, fmt.Errorf("read label %s: %w", id, err)
	}
	// An import may have changed the label since the image was fetched. Forms have no image IDs, so
	// images are numbered; the file name shows whether the number still refers to the same image.
	at := slices.IndexFunc(label.Images, func(m cola.Image) bool {
		return m.TTBImageID == image.TTBImageID && m.FileName == image.FileName
	})
	if at < 0 {
		return true, nil
	}
	label.Images = slices.Clone(label.Images)
	setFile(&label.Images[at], file)
	if read {
		setCodes(&label, at, codes)
	}
	patch := cola.Patch[cola.Cola]{Record: label}
	for _, field := range patchFields {
		patch.Fields = patch.Fields.With(field)
	}
	if _, err := l.Store.UpsertColas(ctx, []cola.Patch[cola.Cola]{patch}, store.Commit); err != nil {
		return false, fmt.Errorf("save image %s: %w", image.TTBImageID, err)
	}
	return true, nil
}

// readCodes returns the codes in an image, and whether it could be read. An image on which the
// reader panics is stored without codes. Otherwise its label would fail in every run.
func (l *LabelImages) readCodes(
	ctx context.Context, img *cola.Image, content []byte,
) (codes []barcode.Code, read bool, err error) {
	err = l.Files.Decode(ctx, content, func(m image.Image) error {
		defer func() {
			if p := recover(); p != nil {
				l.Logger.Error("reading barcodes failed", "image", img.TTBImageID, "panic", p, "stack", string(debug.Stack()))
			}
		}()
		codes = barcode.Read(m)
		read = true
		return nil
	})
	if errors.As(err, new(*images.FormatError)) {
		l.Logger.Warn("an image can't be searched for barcodes", "image", img.TTBImageID, "file_name", img.FileName, "error", err)
		return nil, false, nil
	}
	return codes, read, err
}

// patchFields are the fields that SaveImage sets.
var patchFields = []int{
	cola.FieldIndex[cola.Cola]("images"), cola.FieldIndex[cola.Cola]("barcodes"),
	cola.FieldIndex[cola.Cola]("barcode_value"), cola.FieldIndex[cola.Cola]("barcode_type"),
	cola.FieldIndex[cola.Cola]("qrcode_url"),
}

func setFile(image *cola.Image, file store.ImageContent) {
	image.WidthPixels, image.HeightPixels = cola.Some(file.Width), cola.Some(file.Height)
	image.FileSizeMB = cola.Some(float64(file.Bytes) / 1e6)
	image.ExtensionType = cola.Text(images.Extension(file))
	image.ImageURL = fileURL(image)
}

// setCodes replaces the codes of one of a label's images. It then sets the main barcode to the
// label's first barcode, unless the main barcode came from another source.
func setCodes(label *cola.Cola, at int, codes []barcode.Code) {
	image := &label.Images[at]
	found, qrcodes, address := barcode.Describe(image.TTBImageID, codes)
	label.QRCodeURL = qrcodeURL(label, at, address)
	image.BarcodeCount, image.QRCodeCount = cola.Some(len(found)), cola.Some(qrcodes)

	// A barcode without a size was imported. It may be on this image even if it names another
	// image.
	imported := func(b cola.Barcode) bool { return !b.WidthPixels.OK }
	if len(label.Barcodes) > 0 && !imported(label.Barcodes[0]) &&
		label.Barcodes[0].BarcodeValue == string(label.BarcodeValue) {
		label.BarcodeValue, label.BarcodeType = "", ""
	}
	kept := slices.DeleteFunc(slices.Clone(label.Barcodes), func(b cola.Barcode) bool {
		return b.TTBImageID == cola.Text(image.TTBImageID) || imported(b) &&
			slices.ContainsFunc(found, func(f cola.Barcode) bool { return vocabulary.SameBarcode(f.BarcodeValue, b.BarcodeValue) })
	})
	label.Barcodes = append(kept, found...)
	place := func(b cola.Barcode) int {
		return slices.IndexFunc(label.Images, func(m cola.Image) bool { return cola.Text(m.TTBImageID) == b.TTBImageID })
	}
	slices.SortStableFunc(label.Barcodes, func(a, b cola.Barcode) int {
		return cmp.Or(cmp.Compare(rank(a.BarcodeType), rank(b.BarcodeType)), cmp.Compare(place(a), place(b)))
	})
	if label.BarcodeValue == "" && len(label.Barcodes) > 0 {
		label.BarcodeValue, label.BarcodeType = cola.Text(label.Barcodes[0].BarcodeValue), label.Barcodes[0].BarcodeType
	}
}

// qrcodeURL returns a label's qrcode_url after the image at an index has been read again. address
// is the first URL in that image's QR codes. The first image with QR codes counts as the source of
// the label's current URL.
func qrcodeURL(label *cola.Cola, at int, address cola.Text) cola.Text {
	hasCodes := func(m cola.Image) bool { return m.QRCodeCount.V > 0 }
	source := slices.IndexFunc(label.Images, hasCodes)
	switch {
	case label.QRCodeURL == "" || address != "" && source >= at:
		return address
	case address == "" && source == at && !slices.ContainsFunc(label.Images[at+1:], hasCodes):
		return "" // the URL came from this image
	}
	return label.QRCodeURL // from an earlier image or another source
}

// rank orders barcodes: those that identify a product come first.
func rank(symbology cola.Text) int {
	if barcode.Type(symbology).Retail() {
		return 0
	}
	return 1
}
