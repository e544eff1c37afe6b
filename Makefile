# The words of this project; .ci/run uses the same. `make help` lists them.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# Any Python from 3.11; only used to make the virtual environment.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
# Optimising across crates takes memory: two compilers at once at most.
export CARGO_BUILD_JOBS ?= 2
export VIRTUAL_ENV := $(CURDIR)/.venv
BIN := .venv/bin
PY := $(BIN)/python

# What the extension module is made of.
RUST := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml -o -name '*.toml' | sort)

# Where tests are built, and the package with the extension that has their profile; the one in use stays as it is.
BUILT := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/debug
TESTED := $(CURDIR)/target/tested

# Where `make test` notes what each test took, and the seconds of the processor above which it fails.
TIMES := $(CURDIR)/target/times
TEST_SECONDS ?= 1200

# How long `make evidence` combines policies at random.
PAIRWISE_SECONDS ?= 7200

# How long it puts numbers at their limits.
LIMITS_SECONDS ?= 3600

# The first seed of random lives; they are others each time.
FIRST ?= $(shell date +%s)

# How many operations faults are apart on devices with map units below the page, where lives are long.
UNITS_STRIDE ?= 37

# How many lives `make torture` tries; 4 take about half an hour on two cores.
LIVES ?= 4

# How often `make torture` cuts the power in the record of each file system on each class of drives, after how many of its flushes, and
# how often under each live load.
CUTS ?= 10000
FLUSHES ?= 1000
LIVE ?= 12

# How often it cuts the power of small drives of real bytes, at every operation of the flash, with each sector looked at.
SECTOR_CUTS ?= 1000000

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: setup
setup: .venv/.built ## the virtual environment .venv, with all tools and ftlab itself

.venv/.locked: requirements.lock
	@[ -n "$(PYTHON)" ] || { echo "error: no Python 3.11 or newer is on the PATH" >&2; exit 2; }
	@command -v cargo >/dev/null || { echo "error: no cargo on the PATH; install a Rust toolchain (https://rustup.rs)" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(MAKE) --no-print-directory system-venv
	@echo "Setting up .venv with the locked packages of requirements.lock."
	@[ -x $(PY) ] || $(PYTHON) -m venv .venv
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock >.venv/uv.lock
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.lock
	@# uv takes a sixth of pip's time, and knows no settings of pip; where these name another index, pip installs the rest.
	@$(BIN)/uv pip install --quiet --system-certs --require-hashes -r requirements.lock || \
		$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

# Debian and Ubuntu pack Python's venv module apart.
.PHONY: system-venv
system-venv:
	@if command -v apt-get >/dev/null; then \
		run=; [ "$$(id -u)" = 0 ] || run=sudo; \
		$$run apt-get update -qq && $$run apt-get install -qq -y python3-venv; \
	else echo "error: $(PYTHON) has no venv module; install it with the system's package manager" >&2; exit 2; fi

# It puts python/ on the path: ftlab, the papers (a distribution of their own) and the evidence.
.venv/.built: .venv/.locked $(RUST)
	@echo "Building the engine; two to three minutes."
	@PIP_QUIET=1 $(BIN)/maturin develop --release >.venv/build.log 2>&1 || { cat .venv/build.log; exit 1; }
	@touch $@

.PHONY: demo
demo: setup ## a mail server's I/O on an aged drive of today under two GC schedules, with a report
	@PATH="$(CURDIR)/$(BIN):$$PATH" demo/run.sh

.PHONY: check
check: rust-lints python-lints ## formatting, lints, types

.PHONY: rust-lints
rust-lints: .venv/.locked
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	@if command -v cargo-deny >/dev/null; then cargo deny --offline --log-level error check bans licenses sources; \
	else echo "Not checked: licences and sources of crates, for want of cargo-deny."; fi

.PHONY: python-lints
python-lints: .venv/.locked
	$(BIN)/ruff format --check --quiet python docs/conf.py
	$(BIN)/ruff check --quiet python docs/conf.py
	$(BIN)/mypy

# The libraries are the plugin of nbdkit and the extension as the tests have them: built beside the tests, they share their crates.
.PHONY: built-tests
built-tests: .venv/.locked
	@echo "Building the tests."
	@cargo test --workspace --quiet --no-run
	@cargo build --workspace --quiet --lib --tests
	@scripts/test-package $(BUILT) $(TESTED)

# The lints and tests of Rust and of Python run side by side, for either of them leaves processors idle at times. What a line
# prints is kept together, so it is shown when the line is done.
.PHONY: test
test: .venv/.locked ## everything that must pass
	@rm -rf $(TIMES) && mkdir -p $(TIMES)
	@cargo fmt --all --check
	@$(BIN)/ruff format --check --quiet python docs/conf.py && $(BIN)/ruff check --quiet python docs/conf.py
	@scripts/block-clients
	@$(MAKE) --no-print-directory built-tests
	@$(PY) scripts/slowest --speed $(TIMES)
	@$(MAKE) --no-print-directory -j2 --output-sync=line tested-rust tested-python
	@$(PY) scripts/slowest $(TIMES) $(TEST_SECONDS)

.PHONY: tested-rust
tested-rust: built-tests
	@echo "The tests of Rust are built; what they print is shown when all have run."
	FTLAB_NBDKIT_PLUGIN=$(BUILT)/libftlab_nbdkit.so TEST_TIMES=$(TIMES)/rust.txt TEST_CPU=$(TIMES)/rust.cpu \
		env -u MAKEFLAGS cargo test --workspace --quiet --config 'target."cfg(all())".runner="$(CURDIR)/scripts/timed-test"'
	@env -u MAKEFLAGS $(MAKE) --no-print-directory rust-lints

.PHONY: tested-python
tested-python: built-tests
	$(BIN)/mypy
	PYTHONPATH=$(TESTED):$(CURDIR)/python $(PY) scripts/timed $(TIMES)/python.cpu \
		$(BIN)/pytest --numprocesses=auto --junitxml=$(TIMES)/python.xml
	PYTHONPATH=$(TESTED):$(CURDIR)/python PATH="$(TESTED)/bin:$(CURDIR)/$(BIN):$$PATH" OUT=out/demo-short \
		demo/run.sh --set workload.requests=5000 --set run.precondition=none

.PHONY: audit
audit: .venv/.locked ## licences, sources and known faults of what both locks hold
	@scripts/audit

.PHONY: bench
bench: ## the benchmark of record, single thread
	cargo run --profile dist --quiet -p ftlab-bench

# Runs what reports in Markdown, and keeps the report as data in docs/evidence.
REPORT := $(PY) -m evidence.report

.PHONY: evidence
evidence: setup ## the engine against theory, formulas, bad input and every pair of choices, at length, as data into docs/evidence
	$(PY) -m evidence.closed_forms --out docs/evidence
	$(PY) -m evidence.map_units --out docs/evidence
	$(PY) -m evidence.battery --out docs/evidence
	$(PY) -m evidence.sampling --traces ../shared/traces/captured --out docs/evidence
	$(REPORT) pairwise=FTLAB_PAIRWISE_REPORT -- \
		env FTLAB_PAIRWISE_SECONDS=$(PAIRWISE_SECONDS) cargo test --quiet -p ftlab-device --test all pairwise:: -- --nocapture
	$(REPORT) limits=FTLAB_LIMITS_REPORT -- \
		env FTLAB_LIMITS_SECONDS=$(LIMITS_SECONDS) cargo test --quiet -p ftlab-device --test all limits:: -- --nocapture
	@echo "Random lives begin with seed $(FIRST); FIRST=$(FIRST) repeats them."
	FTLAB_LONG=1 cargo test --quiet -p ftlab-ftl --test conformance
	FTLAB_LONG=1 FTLAB_FIRST=$(FIRST) cargo test --quiet -p ftlab-device --test all
	FTLAB_LONG=1 $(BIN)/pytest --numprocesses=auto
	$(REPORT) faults=FTLAB_FAULTS_REPORT faults-units=FTLAB_FAULTS_UNITS_REPORT -- \
		env FTLAB_CASES=3200 FTLAB_ROUNDS=2 FTLAB_STRIDE=1 FTLAB_UNITS_STRIDE=$(UNITS_STRIDE) \
		cargo test --quiet -p ftlab-device --test all subsets::
	$(REPORT) gcmix-survival=out/survival/report.md -- \
		$(BIN)/ftlab reproduce gcmix --only survival --scale paper --out out/survival

.PHONY: torture
torture: setup ## power cuts at any instant, about LIVES x 20,000 of them, and every operation of LIVES lives without time
	FTLAB_LIVES=$(LIVES) cargo test --quiet -p ftlab-device --test all -- cuts:: survival:: bad_blocks::
	$(REPORT) sectors=FTLAB_SECTORS_REPORT -- \
		env FTLAB_SECTOR_CUTS=$(SECTOR_CUTS) cargo test --quiet -p ftlab-device --test all at_any_operation -- --nocapture
	FTLAB_DENSE_SEEDS=$(LIVES) cargo test --quiet -p ftlab-device --test all dense_cuts
	scripts/block-clients
	$(PY) -m evidence.torture --cuts $(CUTS) --flushes $(FLUSHES) --live $(LIVE) --out docs/evidence

.PHONY: papers
papers: setup ## counts and claims on the papers' pages, from the data of docs/evidence
	$(PY) -m evidence.papers

.PHONY: nbdkit
nbdkit: ## the plugin of nbdkit in dist, and where nbdkit looks for it if that may be written
	cargo build --release --quiet -p ftlab-nbdkit
	@install -D -m 755 target/release/libftlab_nbdkit.so dist/nbdkit-ftlab-plugin.so
	@to=$$(nbdkit --dump-config 2>/dev/null | sed -n 's/^plugindir=//p'); \
	if [ -n "$$to" ] && [ -w "$$to" ]; then install -m 755 dist/nbdkit-ftlab-plugin.so "$$to" && echo "Installed: nbdkit ftlab --help"; \
	else echo "Not installed for want of a plugin directory that may be written: nbdkit dist/nbdkit-ftlab-plugin.so --help"; fi

.PHONY: docs
docs: setup ## the documentation as HTML in docs/_build
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build

.PHONY: wheel
wheel: papers-wheel ## a wheel for this machine's C library and newer ones, in dist, and that of the papers
	$(BIN)/maturin build --profile dist --out dist

.PHONY: papers-wheel
papers-wheel: .venv/.locked
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist ./python

# Zig links for an old C library on a new machine.
.PHONY: wheel-portable
wheel-portable: papers-wheel ## a wheel for every Linux since 2014 (manylinux2014), in dist, and that of the papers
	.venv/bin/pip install --quiet --no-deps ziglang==0.15.1
	PATH="$(CURDIR)/.venv/bin:$$PATH" $(BIN)/maturin build --profile dist --zig --compatibility manylinux2014 --out dist

.PHONY: wheel-check
wheel-check: ## the wheels of dist in a fresh environment without a Rust toolchain
	scripts/check-wheel "$$(ls -t dist/ftlab-*.whl 2>/dev/null | head -n 1)" "$$(ls -t dist/ftlab_papers-*.whl 2>/dev/null | head -n 1)"

.PHONY: lock
lock: ## requirements.lock from requirements.in (needs uv)
	uv pip compile requirements.in --quiet --generate-hashes --universal --python-version 3.11 --no-header -o requirements.lock

.PHONY: clean
clean: ## what was built, the virtual environment apart
	rm -rf target out docs/_build docs/evidence/*.md docs/evidence/*.png python/ftlab/_core*.so .venv/.built
