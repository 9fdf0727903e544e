# Targets for people and for CI; `make help` lists them.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
REDOCLY     := @redocly/cli@2.77.0
SPECTRAL    := @stoplight/spectral-cli@6.16.3

# SQLite is C translated to Go, in memory that is not Go's. The race detector and checkptr know nothing of that memory, and looking took most of
# the time of all tests; so they look at everything but the translation. A process with the detector also waits for a second when it ends, unless told.
TRANSLATED := modernc.org/sqlite/lib modernc.org/libc
RACE       := -race -gcflags='modernc.org/...=-d=checkptr=0' $(foreach p,$(TRANSLATED),-gcflags='$(p)=-d=checkptr=0 -race=false')

.DEFAULT_GOAL := help
.PHONY: help test race lint openapi-lint vuln vuln-strict fuzz bench perf cluster-test conformance clients screenshots generate run tools

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

tools: ## install what the tests need and this machine lacks (Debian, Ubuntu)
	@./scripts/install-tools

test: lint race ## everything CI runs: lint, then every test with the race detector

race: tools ## every test with the race detector, or those of some packages (PKG=./auth)
	GORACE=atexit_sleep_ms=20 go test $(RACE) -timeout 40m $(or $(PKG),./...)

lint: tools ## formatting, vet, staticcheck, module file, OpenAPI, known vulnerabilities
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "run gofmt -w on:" $$unformatted; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...
	go mod tidy -diff
	@$(MAKE) --no-print-directory openapi-lint vuln

openapi-lint: tools ## lint the committed OpenAPI document; a warning fails it
	npx --yes $(REDOCLY) lint --extends recommended-strict httpapi/openapi.json
	npx --yes $(SPECTRAL) lint --fail-severity hint httpapi/openapi.json

vuln: ## scan for known vulnerabilities; warn if the database is unreachable (COLAREGISTRY_VULNDB=file:///mirror)
	@./scripts/vulnerabilities $(GOVULNCHECK)

vuln-strict: ## the same, but fail if the database is unreachable: required for a release
	@./scripts/vulnerabilities --strict $(GOVULNCHECK)

cluster-test: tools ## three processes on PostgreSQL with a standby, under load, killed, cut off and failed over: answered against charged (CLUSTER_TEST=flags)
	go run ./internal/cluster $(CLUSTER_TEST)

conformance: tools ## the conformance suite of MCP, the inspector and official clients with a real OAuth issuer against the real program (CONFORMANCE=flags)
	go run ./internal/conformance $(CONFORMANCE)

clients: tools ## generated REST clients, MCP clients and a page in Chromium, all by others, against the real program (CLIENTS=TestClients/browser)
	go test ./internal/clients -count=1 -v -timeout 15m -run '$(or $(CLIENTS),TestClients)' -args -online

screenshots: tools ## write the pictures of the dashboard anew: those in docs/, those that tests compare with, and every page into SCREENSHOTS=folder
	@mkdir -p $(abspath $(or $(SCREENSHOTS),dist/screenshots))
	COLAREGISTRY_SCREENSHOTS=$(abspath $(or $(SCREENSHOTS),dist/screenshots)) go test ./internal/browser -run TestPages -count=1 -timeout 20m -args -update

fuzz: ## every fuzz target for a while each (FUZZTIME=10s)
	@./scripts/fuzz

bench: ## all benchmarks, the index at 200,000 labels
	go test -run '^$$' -bench . -benchmem ./...

perf: ## the figures of docs/PERFORMANCE.md: 3,000,000 labels through the real program (a quarter of an hour, 6 GB of disk)
	@./scripts/perf

generate: ## write the committed generated files anew
	go test ./httpapi ./mcp -run Golden -update

run: ## serve on 127.0.0.1:8080 with demonstration data under ./data
	go run ./cmd/colaregistry serve
