// Package s3test runs an S3 server for tests.
package s3test

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Location starts an S3 server that runs until the test ends, sets the credentials in the
// environment, and returns the URL of an empty bucket. Keys of objects stored through the URL start
// with prefix.
func Location(t *testing.T, prefix string) string {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("labels"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	parameters := url.Values{"endpoint": {server.URL}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	if prefix != "" {
		parameters.Set("prefix", prefix)
	}
	return "s3://labels?" + parameters.Encode()
}
