package dashboard

import (
	"net/http"
	"slices"
	"strings"
)

// route is a page, or what a form of a page is sent to.
type route struct {
	method, pattern string
	serve           func(*visit) error
	open            bool // to anybody; others lead to the sign-in
}

// The areas of the dashboard, which are also the paths that they begin with.
const (
	homePath         = "/"
	signInPath       = "/sign-in"
	signOutPath      = "/sign-out"
	keysPath         = "/keys"
	usagePath        = "/usage"
	plansPath        = "/plans"
	appsPath         = "/apps"
	accountPath      = "/account"
	searchesPath     = "/saved-searches"
	destinationsPath = "/destinations"
	deliveriesPath   = "/deliveries"
	explorePath      = "/explore"
	connectPath      = "/connect"
	assetsPath       = "/assets/"
)

// areas lists the paths that Handles answers for, besides the root.
func areas() []string {
	return []string{
		signInPath, signOutPath, keysPath, usagePath, plansPath, appsPath, accountPath, searchesPath, destinationsPath, deliveriesPath,
		explorePath, connectPath, strings.TrimRight(assetsPath, "/"),
	}
}

// Handles reports whether a path is one that the edge answers at.
func Handles(path string) bool {
	return path == homePath || slices.ContainsFunc(areas(), func(area string) bool {
		return path == area || strings.HasPrefix(path, area+"/")
	})
}

func get(pattern string, serve func(*visit) error) route {
	return route{method: http.MethodGet, pattern: pattern, serve: serve}
}

func post(pattern string, serve func(*visit) error) route {
	return route{method: http.MethodPost, pattern: pattern, serve: serve}
}

// forAll makes routes open to anybody.
func forAll(routes ...route) []route {
	for i := range routes {
		routes[i].open = true
	}
	return routes
}

// Pages returns the patterns of all pages: of what is asked for by GET.
func Pages() (patterns []string) {
	for _, r := range routes() {
		if r.method == http.MethodGet {
			patterns = append(patterns, r.pattern)
		}
	}
	return patterns
}

// routes is every page of the dashboard.
func routes() []route {
	return slices.Concat(
		[]route{get(homePath, (*visit).home)},
		signInRoutes(),
		keyRoutes(),
		usageRoutes(),
		accessRoutes(),
		searchRoutes(),
		destinationRoutes(),
		exploreRoutes(),
		connectRoutes(),
	)
}

// patternsOf returns the patterns of the routes, each once.
func patternsOf(table []route) []string {
	patterns := []string{assetsPath + "{version}/{name}"}
	for _, r := range table {
		patterns = append(patterns, r.pattern)
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}
