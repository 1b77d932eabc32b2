# make demo      install voi and watch it learn an order (a few minutes after the install)
# make check     install the development extras and run lint, types, documents and tests
# make docs      build the documents as a site in build/site
# make coverage  which lines of src/voi the tests run
# make seeds     the statistical tests with SEEDS other seeds (20: about 10 minutes)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SEEDS ?= 20

.PHONY: demo check install develop lint types docs test coverage seeds clean

demo: install
	$(BIN)/voi train chain

check: develop lint types docs test

install: $(VENV)/.installed
develop: $(VENV)/.developed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.developed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

lint: develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: develop
	$(BIN)/mypy

docs: develop
	$(BIN)/mkdocs build --strict

test: develop
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile

coverage: develop
	mkdir -p build/coverage
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile --cov --cov-report term --cov-report html:build/coverage/html

seeds: develop
	VOI_TEST_SEEDS=$(SEEDS) OMP_NUM_THREADS=1 $(BIN)/pytest -m statistical tests

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
