.DEFAULT_GOAL := help
.PHONY: help venv demo dev test soak storm mutants check fix bench lock clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.fresh

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP) ## Make .venv from requirements.lock; nothing to do while that is fresh

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tocsin needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: venv ## Start everything on a local Kafka with sample jobs; DEMO_SECONDS=30 ends by itself
	@$(BIN)/tocsin demo

dev: venv ## The same without sample jobs, on fixed ports, its data kept in .tocsin/
	@$(BIN)/tocsin dev

test: venv ## Run all tests, or some: make test ARGS="tests/broker -k restart"
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile $(ARGS)

soak: venv ## Simulate clusters that are mistreated until one ends badly; SEED=n replays one
	@PYTHONHASHSEED=0 $(BIN)/python -m tests.simulation

storm: venv ## Kill, freeze, starve schedulers and their broker for a day; STORM_SECONDS=n, SEED=n
	@STORM_SECONDS=$${STORM_SECONDS:-86400} STORM_BURST=$${STORM_BURST:-200000} $(BIN)/python -m pytest -q -s -o faulthandler_timeout=0 tests/faults/test_storm.py

mutants: venv ## Break the protocol rule by rule; the suite has to notice each; ONLY=name,name
	@$(BIN)/python -m tests.mutants

check: venv ## Lint, format, types and import contracts; changes nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: venv ## Let ruff mend what it can and format all code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: venv ## Measure; one benchmark or some: ONLY=name,name make bench
	@$(BIN)/python -m tests.bench

lock: ## Pin all dependencies anew in requirements.lock (needs uv)
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --group dev --all-extras pyproject.toml -o requirements.lock

clean: ## Remove .venv, caches and builds; the data in .tocsin/ stays
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.tocsin/*' -prune -exec rm -rf {} +
