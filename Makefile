# The one vocabulary: `make help`. `make demo` and `make test` need Rust, Python >= 3.10 with venv,
# make and a C compiler, and do the rest themselves, inside this folder.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

PYTHON ?= python3
CARGO ?= cargo
BIN := .venv/bin
DEMO := $(BIN)/ssdlab compare examples/demo.toml --out runs/demo --force \
    --vary gc.victim=greedy,cost-benefit,fifo --seeds 3

RUST_FILES := $(shell find crates -name '*.rs' -not -path '*/target/*')
# What the extension is made of: all that cargo compiles or includes.
RUST_INPUTS := $(shell find crates $(wildcard presets) -type f -not -path '*/target/*') \
    Cargo.toml Cargo.lock rust-toolchain.toml

# The commit goes into every report; without git, or outside a checkout, it is left out.
export SSDLAB_COMMIT := $(if $(wildcard .git),$(shell git describe --always --dirty --exclude '*' \
    --abbrev=12 2>/dev/null))

export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/.venv
export PYTHONUTF8 := 1
# The tests start Python hundreds of times. Without bytecode, each start would compile the package.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all check fmt lint golden bench docs papers policies scale site dist build lock clean
.PHONY: mutants mutants-sample mutants-python mutants-python-sample mutants-some seeded-bugs
.PHONY: lint-rust lint-python rust-tests python-tests docs-check tools-present

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed 's/:.*## /\t/' | expand -t 24

demo: build ## build, run a real trace under several policies, write the report to runs/demo
	$(DEMO)

# Each lane may use all processors. Without this, cargo would be limited to the two jobs of make.
NO_JOBSERVER := env -u MAKEFLAGS -u MFLAGS
CHECKS := lint rust-tests python-tests docs-check

# Rust runs in one lane and Python in the other, because pip, the last crate of a build and mypy use one processor.
test: ## every check but the slow ones
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line LANES=yes $(CHECKS)
	@echo "make test: all passed"

ifdef LANES
rust-tests: | lint-rust
docs-check: | lint-python
python-tests: | docs-check
endif

# Slow tests measure, so everything runs one after the other.
test-all: PYTEST_ARGS := -m ""
test-all: $(CHECKS) ## every check, slow ones too
	$(CARGO) test --workspace --exclude ssd-py --locked --quiet -- --ignored
	@$(MAKE) --no-print-directory seeded-bugs

check: lint docs-check ## the quick ones: format, lints, types, tidiness, generated docs
	$(BIN)/pytest -q tests/py/test_tidy.py

fmt: .venv/checks.stamp ## format all sources
	@rustfmt --edition 2024 $(RUST_FILES)
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lint: lint-rust lint-python ## format checks, clippy, ruff, mypy, stubtest

golden: build .venv/checks.stamp ## accept the golden runs as they are now; read the diff before you commit
	UPDATE_GOLDEN=1 $(BIN)/pytest tests/py/test_golden.py tests/py/test_judged.py
	git --no-pager diff --stat -- tests

BASE ?= main
CARGO_MUTANTS := target/cargo-mutants/bin/cargo-mutants
MUTANTS := $(BIN)/python tools/mutants.py --tool $(CARGO_MUTANTS)
PYTHON_MUTANTS := $(BIN)/python tools/python_mutants.py
# Run both commands even if the first finds survivors; an interrupt ends both.
BOTH = code=0; $(1) || code=$$?; [ $$code = 130 ] || $(2) || code=$$?; exit $$code

mutants: build .venv/mutants.stamp $(CARGO_MUTANTS) ## mutants of the lines changed since BASE (main)
	$(call BOTH,nice -n 15 $(PYTHON_MUTANTS) changed $(BASE),nice -n 15 $(MUTANTS) changed $(BASE))

mutants-sample: build .venv/mutants.stamp $(CARGO_MUTANTS) ## the same for a fixed random sample; hours, and it resumes
	$(call BOTH,nice -n 15 $(PYTHON_MUTANTS) sample,nice -n 15 $(MUTANTS) sample)

mutants-python: build .venv/mutants.stamp ## `mutants`, of Python and the pages only
	nice -n 15 $(PYTHON_MUTANTS) changed $(BASE)

mutants-python-sample: build .venv/mutants.stamp ## `mutants-sample`, of these only
	nice -n 15 $(PYTHON_MUTANTS) sample

# Five minutes for the crates and five for Python, after their builds.
mutants-some: build .venv/mutants.stamp $(CARGO_MUTANTS) ## some of `mutants`, drawn by a seed, in about ten minutes
	$(call BOTH,$(MUTANTS) changed $(BASE) --budget 300,$(PYTHON_MUTANTS) changed $(BASE) --budget 300)

seeded-bugs: build .venv/checks.stamp ## is every seeded bug caught? TENTH=today: a tenth of them
	$(BIN)/python tools/seeded_bugs.py $(if $(TENTH),--tenth $(TENTH))

bench: build ## print ratios to the recorded commit, measure speed and append it to bench/history.jsonl
	$(NO_JOBSERVER) PIP_QUIET=1 $(BIN)/maturin develop --release
	$(BIN)/ssdlab bench --against recorded
	$(BIN)/ssdlab bench

docs: build .venv/checks.stamp ## write the generated pages of docs/
	$(BIN)/python tools/docs.py
	$(BIN)/python tools/policy_pages.py --pages

papers: build ## make the papers' evaluations and write docs/papers; an hour
	for paper in invalidation-rate noc-copyback adaptive-channel deferred-gc-raid; do \
	    $(BIN)/ssdlab reproduce $$paper --readings --out runs/reproduce-$$paper && \
	    cp runs/reproduce-$$paper/reproduction.md docs/papers/$$paper.md && \
	    cp runs/reproduce-$$paper/results.json docs/papers/$$paper.json && \
	    cp -r runs/reproduce-$$paper/pictures docs/papers/ || exit; done
	$(BIN)/ssdlab reproduce remapcom --out runs/reproduce-remapcom
	cp runs/reproduce-remapcom/reproduction.md docs/papers/remapcom.md
	cp runs/reproduce-remapcom/results.json docs/papers/remapcom.json
	$(BIN)/ssdlab reproduce combined --out runs/combined
	cp runs/combined/reproduction.md docs/papers/combined.md
	cp -r runs/combined/pictures docs/papers/
	$(BIN)/ssdlab reproduce raid-beyond --out runs/raid-beyond
	cp runs/raid-beyond/reproduction.md docs/papers/raid-beyond.md
	$(BIN)/ssdlab reproduce suspension --out runs/suspension
	cp runs/suspension/reproduction.md docs/papers/suspension.md
	$(BIN)/ssdlab reproduce maps --out runs/maps
	cp runs/maps/reproduction.md docs/papers/maps.md
	cp runs/maps/maps.csv runs/maps/maps-marks.csv docs/papers/
	cp -r runs/maps/pictures docs/papers/
	$(BIN)/ssdlab reproduce separations --out runs/separations
	cp runs/separations/reproduction.md docs/separation.md
	cp -r runs/separations/pictures docs/
	$(BIN)/ssdlab drives compare --out runs/drives
	cp runs/drives/reproduction.md docs/drives.md
	cp runs/drives/drive_errors.json python/ssdlab/config/drive_errors.json
	cp -r runs/drives/pictures docs/

scale: build ## run drives at full size beside the predictions of try, and write docs/scale.md; hours, and it resumes
	$(BIN)/ssdlab drives scale $(addprefix --measured ,$(wildcard docs/scale.csv)) --out runs/scale
	cp runs/scale/reproduction.md docs/scale.md
	cp runs/scale/scale.csv docs/scale.csv

policies: build ## measure every policy on one grid and write docs/policies; ten minutes
	$(BIN)/python tools/policy_pages.py

site: docs .venv/checks.stamp ## build the documentation into the folder site
	$(BIN)/sphinx-build -W --keep-going --quiet --fresh-env --write-all -d target/doctrees -c docs . site
	@echo "site/index.html"

MACHINES ?= x86_64 aarch64
dist: build .venv/checks.stamp ## build wheels and sources into dist, and check them as a new user would
	$(BIN)/python tools/dist.py $(MACHINES)

build: .venv/extension.stamp .venv/lab.stamp ## build and install ssdlab and its lab into .venv

lock: .venv/checks.stamp ## resolve the Python packages anew into the lock files
	$(BIN)/python tools/lock.py

clean: ## remove everything that make has built
	rm -rf .venv target site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The parts of `lint` and `test`.

# rustfmt follows no `mod` line that a macro writes, hence the list of files.
lint-rust: .venv/python.stamp
	@rustfmt --check --edition 2024 $(RUST_FILES)
	$(NO_JOBSERVER) $(CARGO) clippy --workspace --all-targets --locked --quiet -- -D warnings

lint-python: build .venv/checks.stamp
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy --no-error-summary
	MYPYPATH=python $(BIN)/python -m mypy.stubtest ssdlab._core

# ssd-py is an extension module: its symbols come from Python, so python-tests test it. Cargo runs one test binary
# after the other. The other lane uses the processor that the last test of a binary leaves idle, so cargo-nextest
# would gain nothing.
rust-tests: .venv/python.stamp
	$(NO_JOBSERVER) $(CARGO) test --workspace --exclude ssd-py --locked --quiet

# Tests wait for commands more than they compute. Slow ones measure: they run one by one.
PYTEST_ARGS ?= -m "not slow" --numprocesses auto --maxprocesses 4 --dist worksteal
python-tests: build .venv/checks.stamp
	$(NO_JOBSERVER) $(BIN)/pytest -q $(PYTEST_ARGS)

docs-check: build .venv/checks.stamp
	$(BIN)/python tools/docs.py --check
	$(BIN)/python tools/policy_pages.py --check
	$(BIN)/python tools/order.py

# Set-up. A stamp is as new as the files it was made from.

# Says in one line what the machine lacks.
tools-present:
	@need() { command -v "$$1" >/dev/null || { echo "make: $$1 not found: $$2" >&2; exit 2; }; }; \
	need $(CARGO) "install Rust (https://rustup.rs)"; \
	need cc "install a C compiler, such as gcc"; \
	need $(PYTHON) "install Python 3.10 or newer, or say 'make PYTHON=...'"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "make: $(PYTHON) is" \
	    "$$($(PYTHON) -V): 3.10 or newer is needed; say 'make PYTHON=python3.12' to choose one" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "make: $(PYTHON) cannot make a" \
	    "virtual environment: install its venv module (Debian, Ubuntu: apt install python3-venv)" >&2; exit 2; }

.venv/python.stamp:
	@$(MAKE) --no-print-directory tools-present
	$(PYTHON) -m venv --clear .venv
	@touch $@

.venv/runtime.stamp: requirements.lock .venv/python.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@touch $@

.venv/checks.stamp: requirements-dev.lock .venv/runtime.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@

.venv/mutants.stamp: tools/mutation/requirements.txt .venv/checks.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@

# It only lists mutants, which takes a second; without optimisation it is built in half the time.
$(CARGO_MUTANTS): tools/mutation/listing.py
	CARGO_PROFILE_DEV_DEBUG=0 $(CARGO) install --quiet --locked --debug --root target/cargo-mutants cargo-mutants \
	    --version $$(sed -n 's/^VERSION = "\(.*\)"/\1/p' $<)
	@touch $@

.venv/extension.stamp: pyproject.toml $(RUST_INPUTS) .venv/runtime.stamp
	$(NO_JOBSERVER) PIP_QUIET=1 $(BIN)/maturin develop --profile local
	@touch $@

# Editable, without its dependencies: ssdlab has the same ones.
.venv/lab.stamp: lab/pyproject.toml lab/ssdlab_lab/__init__.py .venv/runtime.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable lab
	@touch $@
