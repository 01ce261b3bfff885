# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The commands of this project; `make` lists them.

# What `make demo` runs on; each can be given on the command line: make demo CONFIG=tiny
CONFIG  ?= lab
WORK    ?= work/demo
# Ten timed boots of each kernel are enough for a demonstration; alone, the verb does thirty.
OPTIONS ?= --wall-boots 10
# What `make demo-swap` runs on: `tiny` is built faster, but there the cache alone is 4 % of the code.
# Two seconds of each workload are enough for a demonstration; alone, the verb does seven.
SWAP_CONFIG  ?= lab
SWAP_OPTIONS ?= --seconds 2 --sweep
# What `make demo-tune` tunes, and how.
TUNE_PROGRAM ?= tinyxml2
TUNE_OPTIONS ?= --budget 60 --rounds 8
# What `make bench-tune` compares searches on, and how. All programs, ten seeds and 300 sets of flags take days.
BENCH_TUNE   ?= tinyxml2 lmdb --seeds 3 --budgets 20,40 --searches incumbent,paper-ga,random,tpe
# How `make bench-tune-kernel` searches: the paper's population of 10 for 5 generations, at most 22 sets, beside ours.
TUNE_KERNEL  ?= --budget 22 --beside paper-ga
# A file of trials, as trimtab tune trials exports them: what is in it, `make bench-tune-kernel` need not try again.
# bench/tune-kernel-trials.jsonl has some with the versions of Debian 12.
TRIALS       ?=
# Crates that changed since this commit are those that `make test-changed` tests.
BASE    ?= HEAD~1
# Targets that `make test` runs behind the tests of which no kernel is built, beside the others.
BEHIND  ?=
# How long `make fuzz` runs each target.
SECONDS ?= 60
# How many inputs `make fuzz-inputs` makes for each reader, and which.
INPUTS  ?= 10000
SEED    ?= 1
# Where `make install` installs; DESTDIR stands before it in a package that is being made.
PREFIX  ?= /usr/local

CARGO   ?= cargo
# `release` compiles soon, and is what demonstrations run; `dist` is optimised in all of its parts.
PROFILE  = release
TRIMTAB  = target/$(PROFILE)/trimtab
BUILD    = $(CARGO) build --profile $(PROFILE) --package trimtab
install bench-probe bench-tune bench-tune-kernel bench-jar bench-layout bench-programs: PROFILE = dist

# Tests that need a built kernel share one, built on first use and kept for the next run.
export TRIMTAB_TEST_WORK ?= $(CURDIR)/work/test

# Packages install while cargo builds: two cores have room for both. On a machine that does not
# even have a C compiler the build has to wait for it.
AFTER_SETUP = $(if $(shell command -v cc),,setup-$(1))
SIDE_BY_SIDE = $(MAKE) --no-print-directory --jobs=2

.PHONY: help demo demo-rent demo-smp demo-swap demo-tune demo-jar bench-tune bench-tune-kernel bench-jar test test-changed nightly weekly install deb lint fuzz fuzz-inputs bench bench-layout bench-tracer bench-probe bench-programs clean
.PHONY: setup-demo setup-swap setup-test build-demo build-test

help:
	@echo "make demo            fit a kernel to its boot: build, trace, lay out, relink, compare"
	@echo "make demo-swap       run a kernel with its cold code swapped out, and say what it saves and costs"
	@echo "make demo-tune       find the compiler flags that make a program fast"
	@echo "make demo-smp        run threads on CPUs that the kernel does not know, and count what that costs"
	@echo "make demo-rent       lend memory of idle devices to the page cache, and take it back: what it gives and costs"
	@echo "make demo-jar        translate C programs to jars, SQLite among them, and run them"
	@echo "make test            all tests, with a small kernel built and booted"
	@echo "make test-changed    the tests of crates that changed since BASE=HEAD~1"
	@echo "make nightly         what make test has no time for: other kernels, swapping end to end, long fuzzing"
	@echo "make weekly          what a night has no time for: stress, many boots, all options, longer fuzzing"
	@echo "make install         install command, manual pages and completions; PREFIX=/usr/local"
	@echo "make deb             the same as a Debian package, in work/"
	@echo "make lint            formatting and clippy"
	@echo "make fuzz SECONDS=20 fuzz the readers of foreign files"
	@echo "make fuzz-inputs     mutated files, through each reader, within limits of memory and time"
	@echo "make bench           benchmarks"
	@echo "make bench-tracer    how much slower a program starts while it is traced"
	@echo "make bench-probe     what instrumented programs cost, beside other tools"
	@echo "make bench-layout    kernels and programs beside what other tools make of them, in one table"
	@echo "make bench-jar       programs in C: native, as jars, in an emulator, and in Chicory, Endive and GraalWasm"
	@echo "make bench-tune      searches for compiler flags beside each other, with Optuna's"
	@echo "make bench-tune-kernel  compiler flags for a kernel, beside the genetic algorithm of the paper; hours"
	@echo "make bench-programs  fit real programs, and measure BOLT and lld's own order beside them"
	@echo "make clean           remove what was built; keeps work/, where the results are"

demo:
	@$(SIDE_BY_SIDE) setup-demo build-demo
	@mkdir -p -m 755 $(WORK)
	$(TRIMTAB) fit kernel --config $(CONFIG) --work $(WORK) \
		--json $(WORK)/fit.json --html $(WORK)/fit.html $(OPTIONS)

demo-swap:
	@$(SIDE_BY_SIDE) setup-swap build-demo
	@mkdir -p -m 755 $(WORK)
	$(TRIMTAB) swap run --config $(SWAP_CONFIG) --work $(WORK) \
		--json $(WORK)/swap.json --html $(WORK)/swap.html $(SWAP_OPTIONS)

demo-tune:
	@./setup --for tune
	$(BUILD)
	@mkdir -p $(WORK)
	$(TRIMTAB) tune program $(TUNE_PROGRAM) --work $(WORK) \
		--json $(WORK)/tune.json --html $(WORK)/tune.html $(TUNE_OPTIONS)

demo-smp:
	@$(SIDE_BY_SIDE) setup-demo build-demo
	@mkdir -p -m 755 $(WORK)
	$(TRIMTAB) smp bench-appkernel --work $(WORK) --json $(WORK)/smp.json --html $(WORK)/smp.html

demo-rent:
	@$(SIDE_BY_SIDE) setup-demo build-demo
	@mkdir -p -m 755 $(WORK)
	$(TRIMTAB) rent run --work $(WORK) --json $(WORK)/rent.json --html $(WORK)/rent.html

demo-jar:
	@./setup --for jar
	$(BUILD)
	@mkdir -p -m 755 $(WORK)
	mipsel-linux-gnu-gcc -O2 -static jar/bench/life.c -o $(WORK)/life
	$(TRIMTAB) jar $(WORK)/life -o $(WORK)/life.jar --json $(WORK)/jar.json
	java -jar $(WORK)/life.jar 10
	@tree=$$($(CARGO) run --quiet --release --package trimtab-lab --example debian_source sqlite3 $(WORK)/source) && \
		TRIMTAB=$(CURDIR)/$(TRIMTAB) jar/examples/sqlite/make-sqlite $$tree $(WORK)/sqlite
	java -jar $(WORK)/sqlite/sqlite3.jar -batch -init /dev/null :memory: "select sqlite_version(), group_concat(value) from json_each('[6,7]')"
	java -cp $(WORK)/sqlite/library.jar:$(WORK)/sqlite Query \
		"with recursive c(x) as (select 1 union all select x+1 from c where x<5) select x, round(cbrt(x), 4) from c"

test:
	@$(SIDE_BY_SIDE) setup-test build-test
	@CARGO="$(CARGO)" .ci/test $(BEHIND)

test-changed:
	@crates=$$(.ci/changed $(BASE)); \
	if [ -z "$$crates" ]; then echo "no crate changed since $(BASE)"; exit; fi; \
	$(CARGO) test --no-fail-fast $$(printf -- '--package %s ' $$crates)

nightly:
	@.ci/nightly

weekly:
	@.ci/nightly --weekly

install:
	$(BUILD)
	install -D --strip $(TRIMTAB) $(DESTDIR)$(PREFIX)/bin/trimtab
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	$(TRIMTAB) man-pages $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(TRIMTAB) completions bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/trimtab
	$(TRIMTAB) completions zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_trimtab
	$(TRIMTAB) completions fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/trimtab.fish

deb:
	@rm -rf work/deb
	@$(MAKE) --no-print-directory install DESTDIR=$(CURDIR)/work/deb PREFIX=/usr
	@packaging/deb work/deb work

lint:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

fuzz:
	@fuzz/run $(SECONDS)

fuzz-inputs:
	@fuzz/mutate all $(INPUTS) --seed $(SEED)

bench:
	$(CARGO) bench --workspace

bench-tracer:
	$(CARGO) bench --package trimtab-native --bench native

bench-probe:
	@./setup --for bench
	@mkdir -p -m 755 $(WORK)
	$(BUILD)
	$(TRIMTAB) probe bench --work $(WORK) --json $(WORK)/probe.json --html $(WORK)/probe.html

bench-tune:
	@./setup --for tune
	$(BUILD)
	@mkdir -p $(WORK)
	$(TRIMTAB) tune bench $(BENCH_TUNE) --work $(WORK) \
		--json $(WORK)/tune-bench.json --html $(WORK)/tune-bench.html

bench-tune-kernel:
	@./setup --for demo
	$(BUILD)
	@mkdir -p -m 755 $(WORK)
	@$(if $(TRIALS),$(TRIMTAB) tune trials --work $(WORK) --import $(TRIALS))
	$(TRIMTAB) tune kernel $(TUNE_KERNEL) --work $(WORK) \
		--json $(WORK)/tune-kernel.json --html $(WORK)/tune-kernel.html

bench-jar:
	@./setup --for jar
	$(BUILD)
	@mkdir -p -m 755 $(WORK)
	@bench/jar --trimtab $(TRIMTAB) --work $(WORK) --json $(WORK)/bench-jar.json

bench-layout: build-demo
	@./setup --for layout
	@TRIMTAB=$(CURDIR)/$(TRIMTAB) bench/layout --json work/bench-layout.json

bench-programs: build-demo
	@./setup --for layout
	@TRIMTAB=$(CURDIR)/$(TRIMTAB) bench/programs

clean:
	$(CARGO) clean
	rm -rf fuzz/target

setup-demo:
	@./setup --for demo

setup-swap:
	@./setup --for swap

setup-test:
	@./setup --for test

build-demo: $(call AFTER_SETUP,demo)
	@$(BUILD)

# First what takes a second: fuzz targets are a workspace of their own, so a dependency that changed is in two lock files.
build-test: $(call AFTER_SETUP,test)
	@$(CARGO) fetch --quiet --locked --manifest-path fuzz/Cargo.toml
	@$(CARGO) test --workspace --locked --no-run --quiet
