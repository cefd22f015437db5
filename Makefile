# The tools of a virtual environment made as the README says: pip install -e '.[test]'
BIN ?= .venv/bin

# Airflow with its Google provider, 2.1 GB, outside of the project; pip's own settings name the registry.
AIRFLOW_VERSION := 22.8.0
AIRFLOW ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/localcdap/airflow-google-$(AIRFLOW_VERSION)

.PHONY: check format-check lint types imports test slow systems soak airflow format docs lock

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

# What `make test` leaves out. The summary at the end lists the skipped tests by reason.
systems soak:
	$(BIN)/pytest -n 2 -m $@

# With the tests that hypothesis runs, each with twice the examples that `make test` tries. The longest tests
# take a minute: on a machine with other work they would exceed the time limit of the others.
slow:
	$(BIN)/pytest -n 2 -m slow --timeout=1800; slow=$$?; \
	$(BIN)/pytest -n 2 -m 'hypothesis and not (slow or systems or soak)' --hypothesis-profile=full && exit $$slow

# Airflow's own operators against a server: see tests/server/rest/test_airflow.py
airflow: $(AIRFLOW)/installed
	LOCALCDAP_AIRFLOW_PYTHON=$(AIRFLOW)/bin/python $(BIN)/pytest -m systems tests/server/rest/test_airflow.py

$(AIRFLOW)/installed:
	python3 -m venv $(AIRFLOW)
	$(AIRFLOW)/bin/pip install apache-airflow-providers-google==$(AIRFLOW_VERSION)
	touch $@

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs:
	$(BIN)/mkdocs build

# The versions that developers and CI install, for every platform; needs `pip install uv`.
lock:
	uv pip compile pyproject.toml --extra test --extra docs --universal --python-version 3.11 \
	  --no-emit-index-url --no-header --no-annotate --output-file requirements.lock
