# Run `make help` for the list of targets.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
REDOCLY     := @redocly/cli@2.77.0
SPECTRAL    := @stoplight/spectral-cli@6.16.3

# SQLite is C translated to Go, with its own memory. The race detector and checkptr don't understand that memory and make the
# tests several times slower, so they skip the translated packages. GORACE=atexit_sleep_ms avoids a one-second pause whenever a
# process exits.
TRANSLATED := modernc.org/sqlite/lib modernc.org/libc
# The barcode reader and image decoders use a single goroutine, and are slow with the race detector.
SERIAL     := github.com/colaregistry/colaregistry/collect/barcode github.com/makiuchi-d/gozxing/... image/... golang.org/x/image/...
RACE       := -race -gcflags='modernc.org/...=-d=checkptr=0' $(foreach p,$(TRANSLATED),-gcflags='$(p)=-d=checkptr=0 -race=false') \
              $(foreach p,$(SERIAL),-gcflags='$(p)=-race=false')

# The tests of these packages run without the race detector: they start the program many times, and with it each start takes
# seconds, or they test the barcode reader. Tests skip vet, which lint runs.
UNRACED    := ./cmd/colaregistry ./collect/barcode ./internal/attack ./internal/browser ./internal/clients ./internal/conformance
# With the race detector, these packages skip their slow tests, most of which compare results over many labels in one goroutine.
SHORT      := ./internal/cluster ./mcp ./search ./store/images

.DEFAULT_GOAL := help
.PHONY: help test unraced race lint openapi-lint vuln vuln-strict fuzz bench perf perf-http cluster-test collect-test conformance clients lighthouse eval-tools screenshots generate run tools

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

tools: ## install missing tools for the tests (Debian, Ubuntu)
	@./scripts/install-tools

test: lint unraced race ## run lint and all tests, most of them with the race detector

unraced: tools ## run tests of the whole program and slow tests, without the race detector
	go test -vet=off -timeout 40m $(UNRACED) $(SHORT)

race: tools ## run tests with the race detector, except slow ones (PKG=./auth for one package)
	GORACE=atexit_sleep_ms=20 go test $(RACE) -short -vet=off -timeout 40m $(or $(PKG),$$(go list ./... | grep -vxF "$$(go list $(UNRACED))"))
ifndef PKG
	GORACE=atexit_sleep_ms=20 go test $(RACE) -vet=off -timeout 40m -run '^TestConcurrent$$' ./cmd/colaregistry
endif

lint: tools ## check formatting, vet, staticcheck, go.mod, OpenAPI and vulnerabilities
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "run gofmt -w on:" $$unformatted; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...
	go mod tidy -diff
	@$(MAKE) --no-print-directory openapi-lint vuln

openapi-lint: tools ## lint the committed OpenAPI document; warnings are errors
	npx --yes $(REDOCLY) lint --extends recommended-strict httpapi/openapi.json
	npx --yes $(SPECTRAL) lint --fail-severity hint httpapi/openapi.json

vuln: ## scan for known vulnerabilities (COLAREGISTRY_VULNDB=file:///mirror)
	@./scripts/vulnerabilities $(GOVULNCHECK)

vuln-strict: ## like vuln, but fail if the scan can't run; required for a release
	@./scripts/vulnerabilities --strict $(GOVULNCHECK)

cluster-test: tools ## check that charges are exact while three processes and PostgreSQL fail (CLUSTER_TEST=flags)
	go run ./internal/cluster $(CLUSTER_TEST)

collect-test: ## fetch 5,000 labels from a local copy of TTB's site while requests fail and processes are killed
	go test ./cmd/colaregistry -run TestFetchKilled -count=1 -v -timeout 30m -args -whole-site

conformance: tools ## run the MCP conformance suite, inspector and official clients (CONFORMANCE=flags)
	go run ./internal/conformance $(CONFORMANCE)

clients: tools ## test generated REST clients, MCP clients and Chromium (CLIENTS=TestClients/browser)
	go test ./internal/clients -count=1 -v -timeout 15m -run '$(or $(CLIENTS),TestClients)' -args -online

lighthouse: tools ## audit public pages with Lighthouse: scores, requests, bytes (6 minutes)
	go test ./internal/browser -run TestLighthouse -count=1 -v -timeout 20m -args -lighthouse

eval-tools: ## answer 40 requests with the MCP tools: by plan, or by a model if one is configured (EVAL=flags)
	go run ./internal/evaltools $(EVAL)

screenshots: tools ## update dashboard screenshots in docs/ and tests; write all pages to a folder (SCREENSHOTS=dist/screenshots)
	@mkdir -p $(abspath $(or $(SCREENSHOTS),dist/screenshots))
	COLAREGISTRY_SCREENSHOTS=$(abspath $(or $(SCREENSHOTS),dist/screenshots)) go test ./internal/browser -run TestPages -count=1 -timeout 20m -args -update

fuzz: ## run every fuzz target (FUZZTIME=10s each)
	@./scripts/fuzz

bench: ## run all benchmarks, with an index of 200,000 labels
	go test -run '^$$' -bench . -benchmem ./...

perf: ## measure the numbers in docs/PERFORMANCE.md with 3,000,000 labels (15 minutes, 6 GB of disk)
	@./scripts/perf

perf-http: ## measure charged searches over HTTP beside a bare handler (PERF_HTTP="-duration 5s")
	go run ./internal/perf/httpbench $(PERF_HTTP)

generate: ## update generated files: OpenAPI document, tool schemas and tools.md
	go test ./httpapi ./mcp -run Golden -update

run: ## run the server on 127.0.0.1:8080 with demo data in ./data
	go run ./cmd/colaregistry serve
