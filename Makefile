# make demo   install voi and watch it learn an order (a few minutes after the install)
# make check  install the development extras and run lint, types and tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo check install develop lint types test clean

demo: install
	$(BIN)/voi train chain

check: develop lint types test

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

test: develop
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
