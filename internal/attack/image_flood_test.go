package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// TestImageFlood requests hundreds of distinct label images at once, without credentials. The
// server must reject those that it can't render in time, and keep answering metered requests.
// Canceled requests must free their slots.
func TestImageFlood(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		a := s.account("holder@example.com", cola.TierPro)
		images := s.images(a.Key.Reveal(), 400)
		ctx, endFlood := context.WithCancel(t.Context())
		defer endFlood()
		rejected := make(chan string, len(images)) // Retry-After headers of rejected requests
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		var flood sync.WaitGroup
		for _, path := range images {
			flood.Go(func() {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path+"?format=png", nil)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := client.Do(req)
				if err != nil {
					return // the flood has ended
				}
				defer resp.Body.Close()
				io.Copy(io.Discard, resp.Body)
				if resp.StatusCode == http.StatusServiceUnavailable {
					rejected <- resp.Header.Get("Retry-After")
				}
			})
		}
		select {
		case after := <-rejected:
			if after == "" {
				t.Error("rejected request without Retry-After")
			}
		case <-time.After(20 * time.Second):
			t.Error("no request was rejected")
		}
		if found := s.rest(a.Key.Reveal(), http.MethodGet, "/colas?per_page=1", nil); found.Status != http.StatusOK {
			t.Errorf("search during the flood: status %d, want 200: %s", found.Status, found.Body)
		}
		endFlood()
		flood.Wait()
		for try := 0; ; try++ {
			image := s.send(http.DefaultClient, http.MethodGet, images[len(images)-1]+"?format=png", nil, nil)
			if image.Status == http.StatusOK {
				break
			}
			if try == 100 {
				t.Fatalf("image after the flood: status %d, want 200: %s", image.Status, image.Body)
			}
			time.Sleep(50 * time.Millisecond) // until the server notices the canceled requests
		}
	})
}

// TestMissingImageFlood requests one image of a nonexistent label, with more concurrent requests
// than may wait for the database. Cached and uncached images must still be served.
func TestMissingImageFlood(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		images := s.images(s.account("missing@example.com", cola.TierPro).Key.Reveal(), 40)
		if first := s.send(http.DefaultClient, http.MethodGet, images[0], nil, nil); first.Status != http.StatusOK {
			t.Fatalf("before the flood: status %d, want 200: %s", first.Status, first.Body)
		}
		const flooders = 400
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: flooders}}
		defer client.CloseIdleConnections()
		var flood sync.WaitGroup
		end := make(chan struct{})
		for range flooders {
			flood.Go(func() {
				for {
					select {
					case <-end:
						return
					default:
					}
					if missing := s.send(client, http.MethodGet, "/images/99999999999999-1", nil, nil); missing.Status != http.StatusNotFound {
						t.Errorf("missing image: status %d, want 404: %s", missing.Status, missing.Body)
						return
					}
				}
			})
		}
		for _, path := range images {
			for _, one := range []string{images[0], path} {
				if got := s.send(http.DefaultClient, http.MethodGet, one, nil, nil); got.Status != http.StatusOK {
					t.Errorf("%s during the flood: status %d, want 200: %s", one, got.Status, got.Body)
				}
			}
		}
		close(end)
		flood.Wait()
	})
}

// images returns the paths of n distinct label images.
func (s *site) images(key string, n int) (paths []string) {
	s.t.Helper()
	for page := 1; len(paths) < n; page++ {
		var found struct {
			Data []struct {
				ID     string `json:"ttb_id"`
				Images int    `json:"image_count"`
			}
		}
		list := s.rest(key, http.MethodGet, fmt.Sprintf("/colas?approval_date_from=2005-01-01&per_page=100&page=%d",
			page), nil)
		if err := json.Unmarshal(list.Body, &found); err != nil || len(found.Data) == 0 {
			s.t.Fatalf("page %d of the labels: %v in %s", page, err, list.Body)
		}
		for _, label := range found.Data {
			if label.Images > 0 {
				paths = append(paths, "/images/"+label.ID+"-1")
			}
		}
	}
	return paths[:n]
}
