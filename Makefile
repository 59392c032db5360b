# make            build ./tracerag
# make demo       the main job on fixtures/tablecat: record, tree, size of the prompt
# make test       all tests
SHELL       := bash
GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK ?= golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZTIME    ?= 10s
ROUNDS      ?= 5
SOAK        ?= 100
REAL        ?= all
STD         ?=

.PHONY: build install demo test check race vuln fuzz e2e soak bench eval microbench tables recorder clean

build:
	$(GO) build -o tracerag ./cmd/tracerag

install:
	$(GO) install ./cmd/tracerag

# The target program of the examples.
app: $(wildcard fixtures/tablecat/*.go fixtures/tablecat/internal/*/*.go) fixtures/tablecat/go.mod
	cd fixtures/tablecat && $(GO) build -o ../../app .

demo: build app
	./tracerag run --baseline=--version -- ./app --csv fixtures/tablecat/data.csv
	./tracerag tree --depth 6
	./tracerag prompt "which function draws the border of the table?" > prompt.md

# tests of this module, of the two that hold the target programs, and of the
# rules and the detector of secrets against gitleaks; on a busy machine those of
# cmd/tracerag take longer than the 10 minutes that go test allows
test:
	$(GO) test -timeout 25m ./...
	cd redact/gitleaks && $(GO) test ./...
	cd fixtures/tablecat && $(GO) test ./...
	cd fixtures/programs && $(GO) vet ./...

# what a reviewer checks first: format, vet, staticcheck, the other platforms
check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	GOARCH=arm64 $(GO) build ./...
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows $(GO) build ./...

race:
	$(GO) test -race -short ./...

# Exit status 3 says that vulnerable code is called; any other failure, that the
# database of vulnerabilities could not be reached.
vuln:
	@$(GO) run $(GOVULNCHECK) ./... ; code=$$?; \
	case $$code in 0) ;; 3) exit 3 ;; *) echo "govulncheck did not run to its end (see above): nothing was checked" ;; esac

# every fuzz target, for a moment each
fuzz:
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; \
	done

# all programs of fixtures/real, not only the small ones: installing them takes minutes
e2e:
	TRACERAG_REAL=all $(GO) test -count=1 -timeout 30m -run TestReal -v ./cmd/tracerag
	TRACERAG_REAL=all $(GO) test -count=1 -timeout 30m -run 'TestCovered|TestCallers' -v ./bench
	TRACERAG_REAL=all $(GO) test -count=1 -timeout 30m -v ./fixtures/experiments

# Real programs, recorded $(SOAK) times each, must do what they do alone; twice as
# often must a program that counts its calls have them all in its trace; and five times
# as often random programs, with tables that are full, do what they do alone.
# STD=1 adds the tests of Go's own packages, and programs built in every way that the
# toolchain knows, with a table of what came of each: an hour. STD=small takes a few.
# make soak SOAK=3 REAL=small takes half a minute. (Without a package's name go test
# leaves the terminal to the test, which shows there how far it is.)
soak:
	cd bench && TRACERAG_REAL=$(REAL) TRACERAG_SOAK=$(SOAK) $(GO) test -count=1 -timeout 0 -run TestSoak -v
	cd bench && TRACERAG_SOAK=$$((2 * $(SOAK))) $(GO) test -count=1 -timeout 0 -run TestCounters
	cd trace/probe && TRACERAG_SOAK=$$((5 * $(SOAK))) $(GO) test -count=1 -timeout 0 -run TestRandomFull
	$(if $(STD),cd bench && TRACERAG_STD=$(STD) $(GO) test -count=1 -timeout 0 -run 'TestStd|TestMatrix' -v)

# What calls and whole runs cost, in tables with the bars (see go doc ./bench).
# The first run installs programs, which takes minutes; the others take about ten.
# make bench BENCH=Call takes one table, ROUNDS=10 measures for longer.
BENCH ?= .
bench:
	@set -o pipefail; $(GO) test -run '^$$' -bench '$(BENCH)' -benchtime=1x -timeout 0 ./bench -rounds $(ROUNDS) | $(GO) run ./bench/table

# How well package rank finds the functions that bug fixes changed, on a corpus of
# them and git clones of their repositories (see go doc ./bench/eval).
# EVAL=-refit also chooses the weights anew for each repository on the others.
eval:
	@test -n "$(CORPUS)" -a -n "$(CLONES)" || { echo 'make eval CORPUS=DIR CLONES=DIR: the corpus, and the clones of its repositories as OWNER/NAME' >&2; exit 2; }
	@$(GO) run ./bench/eval -corpus $(CORPUS) -clones $(CLONES) $(EVAL)

# the benchmarks of each package
microbench:
	$(GO) test -run '^$$' -bench . -benchmem $$($(GO) list ./... | grep -v /bench$$)

# tables 8 and 9 of the paper, for its four prompts on fixtures/tablecat
tables: build app
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && export TRACERAG_DIR=$$dir && \
	run="./tracerag run --quiet --baseline=--version -- ./app" && \
	$$run --csv fixtures/tablecat/data.csv >/dev/null && \
	$$run --md fixtures/tablecat/doc.md >/dev/null && \
	$$run "Done :sparkle:" --emoji >/dev/null && \
	./tracerag sizes --source-dir fixtures/tablecat @-2 @prev @-2,@prev @last

# The fast recorder's machine code from its source. A test compares the two.
recorder:
	$(GO) run ./trace/probe/machine/gen trace/probe/machine/recorder.bin

clean:
	rm -f tracerag app prompt.md
