# Run `make help` for what there is. Everything works offline once the modules
# are in the module cache.

GO          ?= go
FUZZTIME    ?= 20s
KAFKA       ?= 4.4.0
E2E         ?= ./metadatalog ./groups/offsetslog ./internal/dump ./cmd/sidecar ./test/realkafka ./test/jvm ./test/recorddemo ./test/jaeger ./test/e2e
OLDER       ?= 4.0.2,4.1.2,4.2.1,4.3.1
BENCHFLAGS  ?=
IMAGE_DIR   ?= bin/image
STATICCHECK ?= $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
HELM_DOCS   ?= $(GO) run github.com/norwoodj/helm-docs/cmd/helm-docs@v1.14.2

# Without the pages for tracing that gRPC brings, which nobody serves here, the
# sidecar takes 7 MB less memory.
TAGS ?= grpcnotrace
# What runs beside a broker has no client for Kubernetes, either.
BESIDE_TAGS ?= $(TAGS),beside

# The project has no C; without cgo a fresh machine compiles none of others.
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: help build test unit chart test-kube race lint fuzz e2e e2e-older bench generate record-demo image image-test chart-docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## compile every package, bin/kraftside with all commands, and bin/beside/kraftside as it runs beside a broker
	$(GO) build ./...
	$(GO) build -tags $(TAGS) -o bin/kraftside ./cmd/sidecar
	$(GO) build -tags $(BESIDE_TAGS) -o bin/beside/kraftside ./cmd/sidecar

test: unit e2e chart ## run all tests, those on released Kafka and Jaeger included

unit: ## run the tests that need nothing but Go
	$(GO) test -tags detectors ./...

e2e: ## run the tests on released Kafka and Jaeger (KAFKA=4.4.0, E2E=the packages)
	KRAFTSIDE_KAFKA_VERSIONS=$(KAFKA) $(GO) test -tags e2e,detectors -count 1 -timeout 25m -p 1 -parallel 20 $(E2E)

e2e-older: ## run what differs there on the releases before (OLDER)
	$(MAKE) e2e KAFKA=$(OLDER) E2E=./test/e2e

chart: ## test the Helm chart: what it renders and refuses, and its policy, by Kubernetes' own code
	$(GO) test -C test/kube .

test-kube: ## vet and test the chart on a control plane, and the container beside released Kafka (as root; builds Kubernetes once)
	$(GO) vet -C test/kube -tags kube ./...
	$(GO) test -C test/kube -tags kube -count 1 -timeout 40m .

race: ## run all tests under the race detector
	CGO_ENABLED=1 $(GO) test -tags detectors -race ./...

lint: ## gofmt, go vet and staticcheck, with and without the e2e tag
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags e2e ./...
	$(GO) vet -tags beside ./cmd/sidecar
	$(STATICCHECK) ./...
	$(STATICCHECK) -tags e2e ./...

fuzz: ## run every fuzz test for FUZZTIME (20s) each
	GO=$(GO) .ci/fuzz $(FUZZTIME)

bench: ## compare the image with Kafka's own, side by side (BENCHFLAGS)
	$(GO) run ./test/bench/compare $(BENCHFLAGS)

generate: ## write the record codecs anew from their field tables
	$(GO) generate ./...

record-demo: ## record anew what demo plays, from released Kafka (3 minutes)
	$(GO) run ./test/recorddemo -o demo/recording.zip
	$(GO) test ./demo -rewrite

image: ## write the container image as an OCI layout to IMAGE_DIR, without Docker
	$(GO) run -C dist/image . -source ../.. -tags $(BESIDE_TAGS) -o $(abspath $(IMAGE_DIR))

# Without -count go would take its word from before: it does not see that sources
# outside of the test's module have changed.
image-test: ## make the image twice and look into it (1 minute, 4 at first)
	$(GO) test -C dist/image -count 1 ./...

chart-docs: ## write the README of the Helm chart anew
	cd charts/kraftside && $(HELM_DOCS) --sort-values-order file $(HELM_DOCS_FLAGS)
