# Run `make help` for what there is. Everything works offline once the modules
# are in the module cache.

GO          ?= go
FUZZTIME    ?= 20s
STATICCHECK ?= $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help
.PHONY: help build test race lint fuzz generate

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## compile every package
	$(GO) build ./...

test: ## run all tests
	$(GO) test -tags invariants ./...

race: ## run all tests under the race detector
	$(GO) test -tags invariants -race ./...

lint: ## gofmt, go vet and staticcheck, with and without the e2e tag
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags e2e ./...
	$(STATICCHECK) ./...
	$(STATICCHECK) -tags e2e ./...

# By default go may spend a minute on making one interesting input smaller,
# which would be all of FUZZTIME.
fuzz: ## run every fuzz test for FUZZTIME (20s) each
	@list=$$($(GO) test -list '^Fuzz' ./...) || { echo "$$list"; exit 1; }; \
	echo "$$list" | awk '/^Fuzz/ { f[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print f[i], $$2; n = 0 }' | \
	while read -r name package; do \
		echo "$$package $$name"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$$package" </dev/null || exit 1; \
	done

generate: ## write the record codecs anew from their field tables
	$(GO) generate ./...
