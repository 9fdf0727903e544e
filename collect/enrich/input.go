package enrich

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
)

// Input is the data about a label that the model receives.
type Input struct {
	Text      string // JSON object
	Image     []byte // nil without an image
	ImageType string // such as image/jpeg
}

// labelText is the Text of an input. It contains no names or addresses of people.
type labelText struct {
	Brand         string        `json:"brand_name"`
	Product       cola.Text     `json:"fanciful_name"`
	Type          string        `json:"product_type"`
	Class         cola.Text     `json:"class_type"`
	Category      cola.Text     `json:"class_category"`
	Origin        cola.Text     `json:"origin"`
	Grapes        []string      `json:"grape_varietals"`
	Vintage       cola.Opt[int] `json:"vintage"`
	Appellation   cola.Text     `json:"appellation"`
	ABV           any           `json:"alcohol_by_volume_percent"`
	Contents      string        `json:"net_contents"`
	Qualification cola.Text     `json:"qualifications"`
}

func textOf(c *cola.Cola) (string, error) {
	contents := ""
	if c.Volume.OK {
		contents = strings.TrimSpace(fmt.Sprintf("%g %s", c.Volume.V, c.VolumeUnit))
	}
	b, err := json.Marshal(labelText{
		Brand: c.BrandName, Product: c.ProductName, Type: string(c.ProductType), Class: c.ClassName,
		Category: cola.Text(vocabulary.CategoryOfClass(string(c.ClassID), string(c.ClassName))), Origin: c.OriginName,
		Grapes: c.GrapeVarietals, Vintage: c.WineVintageYear, Appellation: c.WineAppellation, ABV: c.ABV,
		Contents: contents, Qualification: c.Qualifications,
	})
	return string(b), err
}

// imageWidth is the width of images for the model, in pixels.
const imageWidth = 1280

// input returns the input for a label, and a hash of it. If known reports that the result for the
// hash is known, the input may lack the image.
func (e *enricher) input(
	ctx context.Context, c *cola.Cola, known func(hash []byte) bool,
) (in Input, hash []byte, err error) {
	if in.Text, err = textOf(c); err != nil {
		return in, nil, err
	}
	sum := sha256.New()
	sum.Write([]byte(in.Text))
	textOnly := sum.Sum(nil)
	id := mainImage(c)
	if id == "" || e.o.Images == nil {
		return in, textOnly, nil
	}
	file, err := e.st.ImageFile(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return in, textOnly, nil
	}
	if err != nil {
		return in, nil, fmt.Errorf("read file of image %s: %w", id, err)
	}
	sum.Write(file.Hash[:])
	hash = sum.Sum(nil)
	if known(hash) {
		return in, hash, nil
	}
	added, err := e.addImage(ctx, &in, file)
	if err == nil && !added {
		hash = textOnly
	}
	return in, hash, err
}

// mainImage returns the ID of the front image, or else of the first image, or "" if there is none.
func mainImage(c *cola.Cola) string {
	if len(c.Images) == 0 {
		return ""
	}
	front := slices.IndexFunc(c.Images, func(m cola.Image) bool { return m.ContainerPosition == "front" })
	return c.Images[max(front, 0)].TTBImageID
}

// addImage adds the content of an image to an input, unless it is missing, damaged or unsupported.
func (e *enricher) addImage(ctx context.Context, in *Input, file store.ImageFile) (added bool, err error) {
	content, err := e.o.Images.Read(ctx, file.ImageContent, images.VariantOf(file.ImageContent, imageWidth))
	switch {
	case err == nil:
		e.unread = 0
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.As(err, new(*images.DamagedError)), errors.As(err, new(*images.FormatError)):
		e.o.Logger.Warn("an image is unusable; the model gets only the text", "image", file.TTBImageID, "error", err)
		return false, nil
	default: // the store is unavailable, or the file can't be read
		err = fmt.Errorf("read image %s: %w", file.TTBImageID, err)
		if e.unread++; e.unread < maxBusy {
			err = &postponedError{err}
		}
		return false, err
	}
	kind := http.DetectContentType(content)
	if !strings.HasPrefix(kind, "image/") {
		return false, nil
	}
	in.Image, in.ImageType = content, kind
	return true, nil
}
