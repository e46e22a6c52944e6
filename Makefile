# Each target makes .venv and installs what it needs, on a machine with nothing but python3.
PYTHON ?= python3
BIN := .venv/bin
# The tests start hundreds of processes: each would compile every module again.
export PYTHONDONTWRITEBYTECODE :=
# A test process a core: threads of BLAS would wait for each other.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-all test-rounding lint docs clean

demo: .venv/.demo
	$(BIN)/softctl run scenes/trunk.py --force --record out/trunk.mcap --plot out/trunk.png --movie out/trunk.gif

# Every promise, each by its sharpest quick test; some minutes.
test: .venv/.dev
	$(BIN)/pytest -n auto -m quick

# Everything, with the times of the slowest; half an hour.
test-all: .venv/.dev
	$(BIN)/pytest -n auto --durations=25

# Under other BLAS kernels, processors, threads and rest shapes: about an hour on one core.
test-rounding: .venv/.dev
	$(BIN)/python -m tests.rounding

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/.docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs out/docs

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.demo: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[view]"
	touch $@

.venv/.dev: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[dev,view]"
	touch $@

.venv/.docs: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

clean:
	rm -rf .venv out
