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

// labelText is the Text of an input. It has no names or addresses of people.
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

// input returns the input for a label without its image's content, the image's file if there is
// one, and a hash of both.
func (e *enricher) input(
	ctx context.Context, c *cola.Cola,
) (in Input, file *store.ImageContent, hash []byte, err error) {
	if in.Text, err = textOf(c); err != nil {
		return in, nil, nil, err
	}
	sum := sha256.New()
	sum.Write([]byte(in.Text))
	if id := mainImage(c); id != "" && e.o.Images != nil {
		stored, err := e.st.ImageFile(ctx, id)
		switch {
		case err == nil:
			file = &stored.ImageContent
			sum.Write(file.Hash[:])
		case !errors.Is(err, store.ErrNotFound):
			return in, nil, nil, fmt.Errorf("read file of image %s: %w", id, err)
		}
	}
	return in, file, sum.Sum(nil), nil
}

// mainImage returns the ID of the front image, or else of the first one; empty if there is none.
func mainImage(c *cola.Cola) string {
	if len(c.Images) == 0 {
		return ""
	}
	front := slices.IndexFunc(c.Images, func(m cola.Image) bool { return m.ContainerPosition == "front" })
	return c.Images[max(front, 0)].TTBImageID
}

// addImage adds the content of an image to an input. An image that can't be read or shown is left
// out.
func (e *enricher) addImage(ctx context.Context, in *Input, file *store.ImageContent) error {
	content, err := e.o.Images.Read(ctx, *file, images.VariantOf(*file, imageWidth))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		e.o.Logger.Warn("an image can't be read; the model gets only the text", "error", err)
		return nil
	}
	if kind := http.DetectContentType(content); strings.HasPrefix(kind, "image/") {
		in.Image, in.ImageType = content, kind
	}
	return nil
}
