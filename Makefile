# Everything a fresh machine needs, in two commands: `make check` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: check test dev bench lint types install install-dev clean

check: install
	$(BIN)/fabricgauge check --lab

dev: install-dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q -m "not lab and not engine and not browser"
