package registry

import (
	"context"
	"errors"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// LabelOfImage returns the ID of the label that an image belongs to, without reading the database.
// It fails with CodeNotFound if imageID names no label or, once the index is built, a label that is
// not in the index.
func (s *Service) LabelOfImage(imageID string) (cola.TTBID, error) {
	number, _, _ := strings.Cut(imageID, "-")
	id, ok := cola.ParseTTBID(number)
	if ok && s.ready.Load() {
		_, ok = s.index.View().Label(id)
	}
	if !ok {
		return 0, imageNotFound(imageID)
	}
	return id, nil
}

func imageNotFound(id string) error {
	return cola.Errorf(cola.CodeNotFound, "No image has the ID %s.", cola.Quoted(id))
}

// DrawableImage returns an image that this server draws at /images/{imageID}, and its label; only
// demo labels have such images. It needs no caller, so an ID that LabelOfImage rejects
// costs no read of the database.
func (s *Service) DrawableImage(ctx context.Context, imageID string) (cola.Cola, cola.Image, error) {
	id, err := s.LabelOfImage(imageID)
	if err != nil {
		return cola.Cola{}, cola.Image{}, err
	}
	label, err := s.label(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return cola.Cola{}, cola.Image{}, imageNotFound(imageID)
	}
	if err != nil {
		return cola.Cola{}, cola.Image{}, storeError(err, "read COLA "+id.String()+" of an image")
	}
	for _, image := range label.Images {
		if image.TTBImageID == imageID && strings.HasPrefix(string(image.ImageURL), imagesPath) {
			return label, image, nil
		}
	}
	return cola.Cola{}, cola.Image{}, imageNotFound(imageID)
}
