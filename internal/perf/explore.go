package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/internal/perf/measure"
)

// pagesPerQuery is the number of pages opened for each search. The account may open 120 pages per
// minute.
const pagesPerQuery = 10

// exploring measures the dashboard's Explore page, which shows the counts for all filters.
func (b *bench) exploring(ctx context.Context) error {
	s, err := b.serve(ctx)
	if err != nil {
		return err
	}
	client, err := b.signIn(ctx, s)
	if err != nil {
		return err
	}
	fmt.Printf("| /explore, all dates | p50 | max | CPU |\n|---|---|---|---|\n")
	for _, query := range []string{
		"", "q=american", "q=oak", "brand_name=a", "product_type=wine", "abv_min=13&abv_max=14", "sort=brand",
		"q=red&product_type=wine&has_barcode=true",
	} {
		var l measure.Latencies
		before := s.CPU()
		for page := range pagesPerQuery {
			took, err := openPage(ctx, client, fmt.Sprintf("http://%s/explore?date_range=all&page=%d&%s", s.Address, page+1, query))
			if err != nil {
				return err
			}
			l = append(l, took)
			time.Sleep(200 * time.Millisecond) // the dashboard allows five pages a second
		}
		cpu := (s.CPU() - before) / pagesPerQuery
		l.Sort()
		fmt.Printf("| `%s` | %s | %s | %s |\n", query, measure.Milliseconds(l.At(0.5)), measure.Milliseconds(l.At(1)), measure.Milliseconds(cpu))
	}
	fmt.Println()
	return s.Stop()
}

// signIn returns a client that is signed in to the dashboard.
func (b *bench) signIn(ctx context.Context, s *measure.Server) (*http.Client, error) {
	out, err := exec.CommandContext(ctx, b.program, "account", "link", "--account", "perf0@example.com",
		"--data-dir", b.data, "--public-url", "http://"+s.Address).Output()
	if err != nil {
		return nil, fmt.Errorf("account link: %w", err)
	}
	link := ""
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "http://") {
			link = word
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Jar: jar}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, link, nil)
	if err != nil {
		return nil, err
	}
	_, err = fetchPage(client, req)
	return client, err
}

func openPage(ctx context.Context, client *http.Client, url string) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	return fetchPage(client, req)
}

// fetchPage sends a request as a browser does on the dashboard, and returns the time to receive the
// whole page.
func fetchPage(client *http.Client, req *http.Request) (time.Duration, error) {
	req.Header.Set("Accept", "text/html")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	started := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: status %d", req.URL.Path, resp.StatusCode)
	}
	return time.Since(started), nil
}
