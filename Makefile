# make help lists the targets, with the text after ## of each.
SHELL       := bash
GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOIMPORTS   ?= golang.org/x/tools/cmd/goimports@v0.52.0
GOVULNCHECK ?= golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZTIME    ?= 10s
ROUNDS      ?= 5
SOAK        ?= 100
REAL        ?= all
STD         ?=

.DEFAULT_GOAL := build
.PHONY: help build install demo test check race vuln fuzz e2e soak bench eval questions microbench tables recorder clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./tracerag (the default)
	$(GO) build -o tracerag ./cmd/tracerag

install: ## install tracerag into $GOBIN
	$(GO) install ./cmd/tracerag

# The target program of the examples.
app: $(wildcard fixtures/tablecat/*.go fixtures/tablecat/internal/*/*.go) fixtures/tablecat/go.mod
	cd fixtures/tablecat && $(GO) build -o ../../app .

demo: build app ## record fixtures/tablecat, print its tree, write prompt.md
	./tracerag run --baseline=--version -- ./app --csv fixtures/tablecat/data.csv
	./tracerag tree --depth 6
	./tracerag prompt "which function draws the border of the table?" > prompt.md

# Tests this module, the two modules of target programs, and the module that compares
# the detection of secrets with gitleaks. On a busy machine the tests of cmd/tracerag
# take longer than go test's 10 minutes.
test: ## run all tests
	$(GO) test -timeout 25m ./...
	cd redact/gitleaks && $(GO) test ./...
	cd fixtures/tablecat && $(GO) test ./...
	cd fixtures/programs && $(GO) vet ./...

check: ## check format, vet, staticcheck and the builds for other platforms
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	@unordered=$$($(GO) run $(GOIMPORTS) -l -local tracerag $$(git ls-files '*.go' ':!*/testdata/*')); test -z "$$unordered" || { echo "imports not in order (goimports -local tracerag): $$unordered"; exit 1; }
	$(GO) mod tidy -diff
	cd redact/gitleaks && $(GO) mod tidy -diff
	cd fixtures/programs && $(GO) mod tidy -diff
	cd fixtures/tablecat && $(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	GOARCH=arm64 $(GO) build ./...
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows $(GO) build ./...
	GOOS=windows GOARCH=arm64 $(GO) vet ./trace/rebuild ./trace/breakpoint
	for system in linux/arm64 darwin/arm64 darwin/amd64 windows/amd64; do GOOS=$${system%/*} GOARCH=$${system#*/} $(GO) vet ./trace/rebuild ./trace/target ./record || exit 1; done

race: ## run the short tests with the race detector
	$(GO) test -race -short ./...

# Exit status 3 says that vulnerable code is called; any other failure, that the
# database of vulnerabilities could not be reached.
vuln: ## look for known vulnerabilities in dependencies
	@$(GO) run $(GOVULNCHECK) ./... ; code=$$?; \
	case $$code in 0) ;; 3) exit 3 ;; *) echo "govulncheck did not run to its end (see above): nothing was checked" ;; esac

fuzz: ## run every fuzz target for FUZZTIME (10s)
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; \
	done

# Installing the programs of fixtures/real takes minutes.
e2e: ## record all real programs, not only the small ones
	TRACERAG_REAL=all $(GO) test -count=1 -timeout 30m -run TestReal -v ./cmd/tracerag
	TRACERAG_REAL=all $(GO) test -count=1 -timeout 30m -run 'TestCovered|TestCallers' -v ./bench
	TRACERAG_REAL=all $(GO) test -count=1 -timeout 30m -v ./fixtures/experiments

# Real programs run $(SOAK) times each, and must do what they do alone. A program that
# counts its calls runs twice as often, and must find them all in its trace. Random
# programs run five times as often with full tables, and must do what they do alone.
# REBUILD=1 adds programs, whole test suites and the toolchain's own test programs with the recorder in them.
# STD=1 adds the tests of Go's own packages, and programs built in every way that the
# toolchain offers, with a table of the results: an hour or more. STD=small takes a few.
# A process that indexes is killed twice as often, one that repairs $(SOAK) times. With CLONES=DIR, git clones as OWNER/NAME,
# 200 commits of esbuild are replayed (TRACERAG_REPLAY=OWNER/NAME: of another one).
# make soak SOAK=3 REAL=small takes half a minute. (go test without a package name
# leaves the terminal to the test, which shows its progress there.)
soak: ## record programs SOAK times (100) and compare them with runs alone; STD=1: an hour or more
	cd bench && TRACERAG_REAL=$(REAL) TRACERAG_SOAK=$(SOAK) $(GO) test -count=1 -timeout 0 -run 'TestSoak$$' -v
	$(if $(REBUILD),cd bench && TRACERAG_REAL=$(REAL) TRACERAG_STD=$(STD) TRACERAG_SOAK=$(SOAK) $(GO) test -count=1 -timeout 0 -run 'TestSoakRebuild|TestSoakSuites|TestSoakToolchain' -v)
	cd bench && TRACERAG_SOAK=$$((2 * $(SOAK))) $(GO) test -count=1 -timeout 0 -run TestCounters
	cd trace/probe && TRACERAG_SOAK=$$((5 * $(SOAK))) $(GO) test -count=1 -timeout 0 -run TestRandomFull
	cd knowledge/index && TRACERAG_SOAK=$$((2 * $(SOAK))) TRACERAG_CLONES=$(CLONES) $(GO) test -count=1 -timeout 0 -run 'TestKilled|TestReplayClones' -v
	cd cmd/tracerag && TRACERAG_SOAK=$(SOAK) $(GO) test -count=1 -timeout 0 -run TestFixKilled -v
	$(if $(STD),cd bench && TRACERAG_STD=$(STD) $(GO) test -count=1 -timeout 0 -run 'TestStd|TestMatrix' -v)

# What calls and whole runs cost, in tables with the bars (see go doc ./bench).
# The first run installs programs, which takes minutes; the others take about ten.
# make bench BENCH=Call takes one table, ROUNDS=10 measures for longer.
BENCH ?= .
bench: ## measure what calls and runs cost; BENCH=Call takes one table
	@set -o pipefail; $(GO) test -run '^$$' -bench '$(BENCH)' -benchtime=1x -timeout 0 ./bench -rounds $(ROUNDS) | $(GO) run ./bench/table

# How well package rank finds the functions that bug fixes changed, on a corpus of
# them and git clones of their repositories (see go doc ./bench/ranking).
# EVAL=-refit also chooses the weights anew for each repository on the others.
# EVAL=fix measures how changes are judged instead (see go doc ./bench/trials): hours. It downloads
# what the repositories depend on. TRIALS='-only cobra -cheats=false' measures less.
eval: ## measure ranking and locating on real bug fixes; needs CORPUS and CLONES
	@test -n "$(CORPUS)" -a -n "$(CLONES)" || { echo 'make eval CORPUS=DIR CLONES=DIR: the corpus, and the clones of its repositories as OWNER/NAME' >&2; exit 2; }
ifeq ($(EVAL),fix)
	@$(GO) run ./bench/trials -corpus $(CORPUS) -clones $(CLONES) $(TRIALS)
else
	@$(GO) run ./bench/ranking -corpus $(CORPUS) -clones $(CLONES) $(EVAL)
	@$(GO) run ./bench/locating -corpus $(CORPUS) -clones $(CLONES) $(LOCATE)
endif

# The same on questions of users about programs of the module proxy, which it installs and
# records. EVAL=-cases prints the ranks of each, EVAL=-refit chooses weights on one half.
questions: ## measure the ranking on questions about programs; installs ten
	@$(GO) run ./bench/ranking -questions bench/ranking/questions.yaml $(EVAL)

microbench: ## run the benchmarks of each package
	$(GO) test -run '^$$' -bench . -benchmem $$($(GO) list ./... | grep -v /bench$$)

# The paper's four prompts are made on fixtures/tablecat.
tables: build app ## print the paper's tables 8 and 9
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && export TRACERAG_DIR=$$dir && \
	run="./tracerag run --quiet --baseline=--version -- ./app" && \
	$$run --csv fixtures/tablecat/data.csv >/dev/null && \
	$$run --md fixtures/tablecat/doc.md >/dev/null && \
	$$run "Done :sparkle:" --emoji >/dev/null && \
	./tracerag sizes --source-dir fixtures/tablecat @-2 @prev @-2,@prev @last

# The fast recorder's machine code from its source. A test compares the two.
recorder: ## write the probe's machine code, recorder.bin, from its assembly
	$(GO) run ./trace/probe/payload/gen trace/probe/payload/recorder.bin

clean: ## remove what build and demo made
	rm -f tracerag app prompt.md
