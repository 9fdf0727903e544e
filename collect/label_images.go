package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"log/slog"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
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

// Save stores the files of a label's images, reads their barcodes and QR codes, and writes sizes,
// URLs and codes to the label. contents has the bytes of each of label.Images, or nil if it could
// not be fetched. Save returns how many are not usable images; those images stay as they are.
//
// Saving the same images again changes nothing. Each step is durable before the next one, so a crash
// leaves at most files without a label, which the next Save completes.
func (l *LabelImages) Save(ctx context.Context, label *cola.Cola, contents [][]byte) (broken int, err error) {
	files, broken, err := l.store(ctx, label, contents)
	if err != nil || len(files) == 0 {
		return broken, err
	}
	// An import may have changed the label since its images were fetched.
	current, err := l.Store.Cola(ctx, label.TTBID)
	if err != nil {
		return broken, fmt.Errorf("read label %s: %w", label.TTBID, err)
	}
	patch, ok := imagesPatch(&current, files)
	if !ok {
		return broken, nil
	}
	if _, err := l.Store.UpsertColas(ctx, []cola.Patch[cola.Cola]{patch}, store.Commit); err != nil {
		return broken, fmt.Errorf("save images of label %s: %w", label.TTBID, err)
	}
	return broken, nil
}

// imageKey identifies an image of a label. Forms have no image IDs, so images are numbered; the file
// name shows whether the number still means the same image.
type imageKey struct {
	id       string
	fileName cola.Text
}

// savedImage is a stored image file and its codes.
type savedImage struct {
	store.ImageContent
	codes []barcode.Code
	read  bool // whether the image could be decoded to read codes
}

// store stores files and reads their codes.
func (l *LabelImages) store(
	ctx context.Context, label *cola.Cola, contents [][]byte,
) (files map[imageKey]savedImage, broken int, err error) {
	if len(contents) != len(label.Images) {
		return nil, 0, fmt.Errorf("label %s has %d images, but %d were fetched", label.TTBID, len(label.Images),
			len(contents))
	}
	files = map[imageKey]savedImage{}
	for i, content := range contents {
		if content == nil {
			continue
		}
		image := &label.Images[i]
		file, err := l.Files.Put(ctx, content)
		if errors.As(err, new(*images.FormatError)) {
			l.Logger.Warn("an image is unusable", "image", image.TTBImageID, "file_name", image.FileName, "error", err)
			broken++
			continue
		}
		if err == nil {
			err = l.Store.SaveImageFile(ctx, store.ImageFile{
				TTBImageID: image.TTBImageID, ImageContent: file, FetchedAt: l.Now().UTC(),
			})
		}
		if err != nil {
			return nil, broken, fmt.Errorf("store image %s: %w", image.TTBImageID, err)
		}
		saved := savedImage{ImageContent: file}
		if saved.codes, saved.read, err = l.readCodes(ctx, image, content); err != nil {
			return nil, broken, err
		}
		files[imageKey{image.TTBImageID, image.FileName}] = saved
	}
	return files, broken, nil
}

// readCodes returns the codes in an image, and whether it could be decoded.
func (l *LabelImages) readCodes(ctx context.Context, img *cola.Image, content []byte) (codes []barcode.Code, read bool, err error) {
	err = l.Files.Decode(ctx, content, func(m image.Image) error {
		codes = barcode.Read(m)
		return nil
	})
	if errors.As(err, new(*images.FormatError)) {
		l.Logger.Warn("an image can't be searched for barcodes", "image", img.TTBImageID, "file_name", img.FileName, "error", err)
		return nil, false, nil
	}
	return codes, err == nil, err
}

// patchFields are the fields that imagesPatch sets.
var patchFields = []int{
	cola.FieldIndex[cola.Cola]("images"), cola.FieldIndex[cola.Cola]("barcodes"),
	cola.FieldIndex[cola.Cola]("barcode_value"), cola.FieldIndex[cola.Cola]("barcode_type"),
	cola.FieldIndex[cola.Cola]("qrcode_url"),
}

// imagesPatch returns a patch that adds files to the images of a label, and replaces the codes of
// images that were read. It returns false if the label has none of these images.
func imagesPatch(label *cola.Cola, files map[imageKey]savedImage) (patch cola.Patch[cola.Cola], ok bool) {
	record := *label
	record.Images = slices.Clone(label.Images)
	codes := map[string][]barcode.Code{}
	var read []cola.Image
	for i := range record.Images {
		image := &record.Images[i]
		file, stored := files[imageKey{image.TTBImageID, image.FileName}]
		if !stored {
			continue
		}
		ok = true
		image.WidthPixels, image.HeightPixels = cola.Some(file.Width), cola.Some(file.Height)
		image.FileSizeMB = cola.Some(float64(file.Bytes) / 1e6)
		image.ExtensionType = cola.Text(images.Extension(file.ImageContent))
		image.ImageURL = cola.Text("/images/" + image.TTBImageID)
		if file.read {
			codes[image.TTBImageID] = file.codes
			read = append(read, *image)
		}
	}
	setCodes(&record, read, codes)
	patch.Record = record
	for _, field := range patchFields {
		patch.Fields = patch.Fields.With(field)
	}
	return patch, ok
}

// setCodes replaces the codes of the images that were read. The main barcode is the first again,
// unless another source stated it.
func setCodes(label *cola.Cola, read []cola.Image, codes map[string][]barcode.Code) {
	found, qrcodeURL := barcode.Describe(read, codes)
	for i := range label.Images {
		for _, image := range read {
			if image.TTBImageID == label.Images[i].TTBImageID {
				label.Images[i].BarcodeCount, label.Images[i].QRCodeCount = image.BarcodeCount, image.QRCodeCount
			}
		}
	}
	if qrcodeURL != "" {
		label.QRCodeURL = qrcodeURL
	}
	if len(label.Barcodes) > 0 && label.Barcodes[0].BarcodeValue == string(label.BarcodeValue) {
		label.BarcodeValue, label.BarcodeType = "", ""
	}
	kept := slices.DeleteFunc(slices.Clone(label.Barcodes), func(b cola.Barcode) bool {
		_, replaced := codes[string(b.TTBImageID)]
		return replaced
	})
	label.Barcodes = append(kept, found...)
	slices.SortStableFunc(label.Barcodes, func(a, b cola.Barcode) int {
		return cmp.Compare(rank(a.BarcodeType), rank(b.BarcodeType))
	})
	if label.BarcodeValue == "" && len(label.Barcodes) > 0 {
		label.BarcodeValue, label.BarcodeType = cola.Text(label.Barcodes[0].BarcodeValue), label.Barcodes[0].BarcodeType
	}
}

// rank orders barcodes: those that identify a product come first.
func rank(symbology cola.Text) int {
	if barcode.Type(symbology).Retail() {
		return 0
	}
	return 1
}
