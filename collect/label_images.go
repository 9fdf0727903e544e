package collect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/colaregistry/colaregistry/cola"
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

// Save stores the files of a label's images, and writes their sizes and addresses to the label. There
// is one content for each of label.Images, nil if it could not be fetched. It returns the number of
// contents that are not usable images; those images stay as they are.
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

// imageKey identifies an image of a label. Forms have no IDs of images, so they are numbered; the
// file name tells whether the number still means the same image.
type imageKey struct {
	id       string
	fileName cola.Text
}

// store stores files, and returns what is known of them.
func (l *LabelImages) store(
	ctx context.Context, label *cola.Cola, contents [][]byte,
) (files map[imageKey]store.ImageContent, broken int, err error) {
	if len(contents) != len(label.Images) {
		return nil, 0, fmt.Errorf("label %s has %d images, but %d were fetched", label.TTBID, len(label.Images),
			len(contents))
	}
	files = map[imageKey]store.ImageContent{}
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
		files[imageKey{image.TTBImageID, image.FileName}] = file
	}
	return files, broken, nil
}

var imagesField = cola.FieldIndex[cola.Cola]("images")

// imagesPatch returns a patch that adds files to the images of a label. It returns false if the label
// has none of these images.
func imagesPatch(label *cola.Cola, files map[imageKey]store.ImageContent) (patch cola.Patch[cola.Cola], ok bool) {
	patch.Record.TTBID = label.TTBID
	patch.Fields = patch.Fields.With(imagesField)
	for _, image := range label.Images {
		if file, stored := files[imageKey{image.TTBImageID, image.FileName}]; stored {
			ok = true
			image.WidthPixels, image.HeightPixels = cola.Some(file.Width), cola.Some(file.Height)
			image.FileSizeMB = cola.Some(float64(file.Bytes) / 1e6)
			image.ExtensionType = cola.Text(images.Extension(file))
			image.ImageURL = cola.Text("/images/" + image.TTBImageID)
		}
		patch.Record.Images = append(patch.Record.Images, image)
	}
	return patch, ok
}
