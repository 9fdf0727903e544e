package attack

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// TestConditionalRequests requests records with If-None-Match to learn for free whether they exist.
// Only the entity tag that the account received with the record may get a free 304.
func TestConditionalRequests(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		reader, other := s.account("reader@example.com", cola.TierPro), s.account("other@example.com", cola.TierPro)
		list := s.rest(reader.Key.Reveal(), http.MethodGet, "/colas?per_page=1", nil).JSON(t)
		row := list["data"].([]any)[0].(map[string]any)
		for _, path := range []string{
			"/colas/" + row["ttb_id"].(string),
			"/permittees/" + url.PathEscape(row["permit_number"].(string)),
		} {
			read := s.rest(reader.Key.Reveal(), http.MethodGet, path, nil)
			tag := read.Header.Get("Etag")
			if read.Status != http.StatusOK || tag == "" {
				t.Fatalf("%s: status %d, ETag %q; want 200 with an ETag", path, read.Status, tag)
			}
			var body struct{ Data json.RawMessage }
			if err := json.Unmarshal(read.Body, &body); err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(body.Data)
			computed := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
			for _, forged := range []string{
				"*", "*, *", `"x", *`, "W/*", tag, computed, "W/" + computed,
				strings.ToLower(tag),
			} {
				before := s.used(other)
				got := s.send(http.DefaultClient, http.MethodGet, "/api/v1"+path,
					http.Header{"X-Api-Key": {other.Key.Reveal()}, "If-None-Match": {forged}}, nil)
				if used := s.used(other).DetailViews - before.DetailViews; got.Status != http.StatusOK || used != 1 {
					t.Errorf("%s, If-None-Match: %s: status %d, %d detail views; want 200 and 1", path, forged, got.Status, used)
				}
			}
			before := s.used(reader)
			second := s.send(http.DefaultClient, http.MethodGet, "/api/v1"+path,
				http.Header{"X-Api-Key": {reader.Key.Reveal()}, "If-None-Match": {tag}}, nil)
			if after := s.used(reader); second.Status != http.StatusNotModified || after != before {
				t.Errorf("%s with its own tag: status %d, used %+v, then %+v; want 304 without a charge",
					path, second.Status, before, after)
			}
		}
	})
}
