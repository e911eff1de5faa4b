# Everything a developer runs. `make` alone lists the targets.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# One thread a process: two one-threaded processes beat one two-threaded one.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-more test-slow campaign lint format bench bench-joey docs site readme clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: .venv/.installed  ## create .venv with attnlab and what its developers need

.venv/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "attnlab needs Python 3.11 or newer, and '$(or $(PYTHON),python3)' is not; name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

.venv/.docs-installed: .venv/.installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	@touch $@

# Ray, for the tests of clusters and their bench; nothing else needs it.
.venv/.cluster-installed: .venv/.installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[cluster]'
	@touch $@

# Others to measure against. One that cannot be built here must not keep the rest from being measured.
.venv/.bench-installed: .venv/.installed
	@for package in nltk eflomal systran-align; do \
	  $(BIN)/python -m pip install --quiet -c constraints.txt $$package || \
	    echo "$$package cannot be installed here; the bench will leave its row out." >&2; done
	@touch $@

demo: venv  ## train a learnable and a hard copying task, tell the story, write a report (4 minutes)
	$(BIN)/attnlab demo

test: venv  ## run the tests; lists the longest, and each one left out with what brings it back
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --durations=25 --durations-min=3

test-more: venv .venv/.cluster-installed .venv/.docs-installed  ## run what must also pass before a change lands and takes longer (at most 25 minutes)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m more

campaign: venv  ## hostile inputs, damaged files and kills, drawn anew each day (25 minutes); ATTNLAB_CAMPAIGN_SEED repeats
	$(ONE_THREAD) $(BIN)/python -m tests.campaign

test-slow: venv  ## run the tests that `make test` leaves out for their length
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m slow

lint: venv  ## check style (ruff) and types (mypy, strict)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: venv  ## let ruff lay out the code and sort the imports
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: .venv/.bench-installed .venv/.cluster-installed  ## measure speed against PyTorch and the machine; writes benchmarks/results.json
	$(ONE_THREAD) $(BIN)/python benchmarks/run.py

# JoeyNMT wants an older protobuf and sentencepiece than ours, and leaves out one package that it imports.
.venv/.joey-installed: .venv/.installed
	"$(PYTHON)" -m venv .venv/joey
	.venv/joey/bin/python -m pip install --quiet -c constraints.txt torch && \
	  .venv/joey/bin/python -m pip install --quiet joeynmt==2.3.0 importlib_metadata 'sentencepiece<0.2.1' || \
	  { rm -rf .venv/joey; echo "JoeyNMT cannot be installed here; its row will be left out." >&2; }
	@touch $@

bench-joey: .venv/.joey-installed  ## time to BLEU 30 beside JoeyNMT, one after the other (an hour); adds its row to benchmarks/results.json
	$(ONE_THREAD) $(BIN)/python benchmarks/joey.py

docs: .venv/.docs-installed  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

site: venv  ## build the pages of all results into attnlab-site/; open attnlab-site/index.html
	$(BIN)/attnlab site --out attnlab-site

readme: venv  ## write again what README and first page show of committed results: tally, forecast, pictures
	$(BIN)/python docs/_hooks/front.py

clean:  ## remove what these targets made, .venv included; results and runs stay
	rm -rf .venv site attnlab-site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
