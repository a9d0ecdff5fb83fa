# The commands of the README. They make .venv themselves: with uv where it is on the PATH, else with venv and pip.
# Needs only Python 3.11 or newer, and make.
#
#   make run [PORT=8000]                the product with its demo
#   make test [FILE=path[::name]]       everything but the long tests, about 20 minutes on two cores; FILE: one file of them
#   make test-fast                      the pure core and the documents: no server, about half a minute
#   make test-all [SHORT=1]             make test, then the long tests; SHORT=1: only these, in their short form
#   make attacks [SHARE=25]             the attacks on a running installation; SHARE in a hundred, drawn from the commit
#   make adversary [SHARE=25]           a hostile model: 200,000 answers over the engine, 500 over a running installation
#   make mutate [SHARE=25]              changes the pure rules in one place at a time: their tests must notice
#   make lock bom [UPGRADE=1]           pins with hashes (the newest: UPGRADE=1), then the bill of materials and licenses
#   make lint | format | messages | chaos | screenshots | bench [ONLY=group] [QUICK=1] [PEERS=1] | bench-data | clean

SHELL := /bin/sh
# Processes that compute at once. The whole suite has one more: a third of its time is waiting for what it started.
JOBS ?= 2
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV ?= .venv
PY := $(VENV)/bin/python
PINS := $(shell cat requirements.txt requirements/*.txt requirements/locked/*.txt | cksum | tr ' ' '-')
CORE := $(VENV)/installed/core-$(PINS)
TEST := $(VENV)/installed/test-$(PINS)
BOM := .venv-bom/installed/bom-$(PINS)
MUTATE := .venv-mutate/installed/mutate-$(PINS)
LOAD := $(VENV)/installed/load-$(PINS)
PEER := .venv-peers/installed-$(PINS)

# Python keeps what it has compiled: each test that starts a program would compile the whole product again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-fast test-all attacks adversary mutate mutants chaos lint format messages schema screenshots bench bench-data lock bom clean
.DEFAULT_GOAL := run

run: $(CORE)
	@exec $(PY) manage.py up --demo $(if $(PORT),--port $(PORT))

test: $(TEST)
ifdef FILE
	$(PY) -m pytest "$(FILE)"
else
	$(PY) -m pytest -n $(shell expr $(JOBS) + 1) --dist loadfile -m "not long and not attack" --claims
endif

# The files that changed last come first. FAST: generated tests draw fewer examples than in `make test`.
test-fast: $(TEST)
	FAST=1 $(PY) -m pytest -q -n $(JOBS) --nf -p no:django -m "not long and not slow" tests/core tests/docs

test-all: $(if $(SHORT),,test attacks adversary mutate) $(TEST)
	FULL=$(if $(SHORT),,1) $(PY) -m pytest -m "long$(if $(SHORT),, or more)"

attacks: $(TEST)
	ATTACKS_SHARE=$(or $(SHARE),100) $(PY) -m pytest tests/attacks

adversary: $(TEST)
	ADVERSARY_SHARE=$(or $(SHARE),100) $(PY) -m pytest -n $(JOBS) tests/adversary -m "not long"

mutate:
	@$(MAKE) --no-print-directory VENV=.venv-mutate mutants

# In a .venv of its own: mutmut brings setproctitle, with which Celery hides the command line of a worker, by which the
# tests of crashes find it.
mutants: $(MUTATE)
	$(PY) -m tests.mutation --jobs $(JOBS) --share $(or $(SHARE),100) --seed "$$(git rev-parse HEAD)"

chaos: $(TEST)
	FULL=1 $(PY) -m pytest -rP tests/chaos tests/storm

lint: $(TEST)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m tests.formatting --check
	$(PY) -m mypy agentstate audit sessions demo
	.venv/bin/lint-imports

# Python, templates and style sheets.
format: $(TEST)
	$(PY) -m ruff format .
	$(PY) -m tests.formatting

# The catalogue of the texts of the pages: of the source language, or LOCALE=de with what was translated before.
messages: $(TEST)
	DJANGO_SETTINGS_MODULE=agentstate.settings $(PY) -m tests.catalogue $(LOCALE)

schema: $(TEST)
	$(PY) manage.py spectacular --format openapi-json --validate --fail-on-warn --file docs/schema/openapi.json

screenshots: $(TEST)
	$(PY) -m tests.browser.screenshots

bench: $(LOAD) $(if $(PEERS),$(PEER))
	$(PY) -m benchmarks $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick)

bench-data: $(LOAD)
	$(PY) -m benchmarks.sets

lock: $(TEST)
	@command -v uv >/dev/null || { echo "make lock needs uv (pip install uv)" >&2; exit 1; }
	cp requirements/constraints.txt $(VENV)/lock && sed -n '/^#/p' $(VENV)/lock > $(VENV)/lock-head && : > requirements/constraints.txt
	$(COMPILE) requirements/test.txt requirements/browser.txt requirements/load.txt requirements/mutate.txt \
	  requirements/tokenizers.txt requirements/bom.txt -o $(VENV)/lock
	cat $(VENV)/lock-head $(VENV)/lock > requirements/constraints.txt
	$(COMPILE) --generate-hashes requirements.txt -o requirements/locked/core.txt
	$(COMPILE) --generate-hashes requirements/test.txt requirements/browser.txt -o requirements/locked/test.txt
	$(COMPILE) --generate-hashes requirements.txt requirements/load.txt -o requirements/locked/load.txt
	for set in local-model agmi; do \
	  $(COMPILE) --generate-hashes --no-deps requirements/$$set.txt -o requirements/locked/$$set.txt || exit 1; \
	done
	for set in mutate tokenizers bom peers interop; do \
	  $(COMPILE) --generate-hashes requirements/$$set.txt -o requirements/locked/$$set.txt || exit 1; \
	done

bom: $(CORE)
	@$(MAKE) --no-print-directory VENV=.venv-bom $(BOM)
	.venv-bom/bin/cyclonedx-py requirements --output-reproducible --sv 1.6 -o requirements/bom.cdx.json requirements/locked/core.txt
	.venv-bom/bin/pip-licenses --python $(PY) --with-system --format csv --with-urls --output-file requirements/licenses.csv \
	  --packages $$(sed -n 's/^\([A-Za-z0-9._-]*\)==.*/\1/p' requirements/locked/core.txt)

# The state directory holds the ledger and its keys: only its owner removes it, by hand.
clean:
	rm -rf .venv .venv-bom .venv-mutate .venv-peers .mutants .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis staticfiles
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@if [ -d .state ]; then echo "kept .state: data, keys and logs"; fi

# The environments for which pins are made: [tool.uv] of pyproject.toml.
COMPILE := uv pip compile -q --no-header --no-annotate --universal --python-version 3.11 $(if $(UPGRADE),--upgrade)

$(CORE): NEEDS := requirements/locked/core.txt
$(TEST): NEEDS := requirements/locked/test.txt
$(BOM): NEEDS := requirements/locked/bom.txt
$(MUTATE): NEEDS := requirements/locked/mutate.txt
$(LOAD): NEEDS := requirements/locked/load.txt

# A .venv that was moved or whose Python has gone is made anew.
$(CORE) $(TEST) $(BOM) $(MUTATE) $(LOAD):
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and python3 is not one" >&2; exit 1; }
	@$(PY) -c '' 2>/dev/null || rm -rf $(VENV)
	@if command -v uv >/dev/null; then \
	  { test -x $(PY) || uv venv -q --python "$$(command -v $(PYTHON))" $(VENV); } && \
	  uv pip install -q --python $(PY) --require-hashes -r $(NEEDS); \
	else \
	  { $(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV) || { echo \
	    "$(PYTHON) cannot make $(VENV): install its venv module (Debian: python3-venv), or uv" >&2; exit 1; }; } && \
	  echo "installing into $(VENV) (once, about a minute)" && \
	  $(PY) -m pip install -q --disable-pip-version-check --require-hashes -r $(NEEDS); \
	fi
	@mkdir -p $(VENV)/installed && touch $@

# Others' packages stay apart from ours.
$(PEER): $(LOAD)
	@rm -rf .venv-peers && $(PY) -m venv .venv-peers
	@echo "installing LangGraph and DBOS into .venv-peers (once)"
	@.venv-peers/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/locked/peers.txt && touch $@
