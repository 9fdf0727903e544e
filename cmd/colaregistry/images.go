package main

import (
	"fmt"
	"path/filepath"

	"github.com/colaregistry/colaregistry/store/images"
)

// imageFlags select the image file store.
type imageFlags struct {
	ImageStore string `group:"Database flags:" placeholder:"LOCATION" help:"Folder or s3://BUCKET URL where label images are stored (default: the folder \"images\" next to the index snapshot). All processes must use the same location."`
}

// checkImages validates the location without opening it.
func (f imageFlags) checkImages() error {
	if f.ImageStore == "" {
		return nil
	}
	return flagError("--image-store", images.CheckLocation(f.ImageStore))
}

// openImages opens the image file store. It creates the folder if it doesn't exist.
func (f imageFlags) openImages(env *environment, database storeFlags, renders int) (*images.Store, error) {
	location := f.ImageStore
	if location == "" {
		location = filepath.Join(filepath.Dir(database.snapshot()), "images")
	}
	st, err := images.Open(env, location, images.Options{Logger: env.log, MaxRenders: renders})
	if err != nil {
		return nil, fmt.Errorf("--image-store: %w", err)
	}
	return st, nil
}
