# `make` lists what there is; `make demo` is the place to start.

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.set-up
# The packages of examples/pipelines (100 MB): without them the tests of two examples are skipped.
PIPELINES := $(VENV)/.pipelines
# `make … PYTHON=python3.13 VENV=.venv-3.13`: another interpreter, in an environment of its own.
# Test processes: each starts a JVM of its own (about 1 GB and some seconds), so more than the cores never pays.
JOBS   ?= 2
# The seed of random examples; without one each run draws its own and prints it.
SEED   ?=
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(SEED:%=--hypothesis-seed=%)
# Packages that need no JVM to be tested: `make fast` covers 91 % of their lines.
NO_JVM := api compile config errors physical plan private engines.reference types viz worker

.DEFAULT_GOAL := help
.PHONY: help demo test check fast thorough recovery bench bench-results bench-closures wheel lint types layers format set-up clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) ## set up, then count the words of a text: the main job
	@$(BIN)/python examples/word_count.py

test: $(STAMP) ## set up, then run the tests, in two processes (JOBS=0: in one)
	@$(PYTEST) -q -m "not thorough"

check: $(PIPELINES) lint types layers test ## lint, types, layers, tests: what .ci/run runs

fast: $(STAMP) ## the quick tests that need no JVM; they find no Java
	@JAVA_HOME=/nonexistent $(PYTEST) -q -m "not jvm and not thorough and not slow" $(NO_JVM:%=--cov=morisot.%) --cov-report= --cov-fail-under=90

recovery: $(STAMP) ## kill programs at random moments, KILLS times (default 20), and record what became of them
	@$(BIN)/python -m tests.recovery.kill --kills $(or $(KILLS),20)

thorough: $(PIPELINES) ## all tests, the long ones too
	@HYPOTHESIS_PROFILE=thorough $(PYTEST) -q --cov=morisot --cov-report= --cov-fail-under=90

bench: $(STAMP) ## the benchmarks, as tables of ratios
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.loops

VERSION ?= $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/morisot/__init__.py)

bench-results: $(STAMP) ## the benchmarks in smaller sizes, kept in benchmarks/results; for an idle machine
	@$(BIN)/python -m benchmarks --scale 0.2 --runs 5 --json benchmarks/results/$(VERSION)/bench.json
	@$(BIN)/python -m benchmarks.loops --scale 0.1 --json benchmarks/results/$(VERSION)/loops.json

bench-closures: $(STAMP) ## a corpus of closures: forms, answers and cost of each
	@$(BIN)/python -m benchmarks.closures

wheel: $(STAMP) ## build dist/*.whl, install it in a fresh environment elsewhere, and run programs there
	@$(BIN)/python -m tests.house.wheel

lint: $(STAMP) ## ruff: rules and format; spelling; phrases that the project does not use
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/codespell
	@$(BIN)/python -m tests.house.wording

types: $(STAMP) ## mypy, strict
	@$(BIN)/mypy --no-error-summary

layers: $(STAMP) ## import-linter: who may import whom; cycles, crowded packages, repeated names
	@$(BIN)/lint-imports --config pyproject.toml > $(VENV)/layers.log 2>&1 || { cat $(VENV)/layers.log; exit 1; }
	@$(BIN)/python -m tests.house.structure

format: $(STAMP) ## let ruff format and repair
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

set-up: $(STAMP) ## make .venv with everything pinned by constraints.txt; PYTHON names the interpreter

$(STAMP): pyproject.toml constraints.txt setup/set-up.sh
	@setup/set-up.sh $(VENV)
	@touch $@

$(PIPELINES): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[pipelines]"
	@touch $@

clean: ## remove .venv, caches and build products
	@rm -rf $(VENV) build dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
