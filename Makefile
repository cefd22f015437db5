# The tools of a virtual environment made as the README says: pip install -e '.[test]'
BIN ?= .venv/bin

.PHONY: check format-check lint types imports test format docs lock

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

docs:
	$(BIN)/mkdocs build

# The versions that developers and CI install, for every platform; needs `pip install uv`.
lock:
	uv pip compile pyproject.toml --extra test --extra docs --universal --python-version 3.11 \
	  --no-emit-index-url --no-header --no-annotate --output-file requirements.lock
