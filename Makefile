# The tools of a virtual environment made as the README says: pip install -e '.[test]'
BIN ?= .venv/bin

.PHONY: check format-check lint types imports test format

check: format-check lint types imports test

format-check:
	$(BIN)/ruff format --check .

lint:
	$(BIN)/ruff check .

types:
	$(BIN)/mypy

imports:
	$(BIN)/lint-imports

test:
	$(BIN)/pytest -n 3

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
