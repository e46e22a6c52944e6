# Each target makes .venv and installs what it needs, on a machine with nothing but python3.
PYTHON ?= python3
BIN := .venv/bin
install = { $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(BIN)/python -m pip install --quiet $(1); }
# The tests start hundreds of processes: each would compile every module again.
export PYTHONDONTWRITEBYTECODE :=
# A test process a core: threads of BLAS would wait for each other.
export OPENBLAS_NUM_THREADS ?= 1

# A worker more than cores: some tests wait for clocks and other processes.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# Scripts name the folder that they were installed in: those of a copied clone run the other one.
define scripts_work
python=$$(sed -n '1s/^#!//p' $(BIN)/softctl); test "$${python%/*}" -ef $(BIN) && test -x "$$python" \
  || test "$$python" = /bin/sh && echo yes
endef
ifneq ($(wildcard $(BIN)/softctl),)
ifneq ($(MAKECMDGOALS),clean)
ifneq ($(shell $(scripts_work)),yes)
$(error .venv was made in another folder, or its Python is gone. Remove it, 'rm -rf .venv', and start again)
endif
endif
endif

.PHONY: demo test test-all test-rounding test-sofa lint docs clean

demo: .venv/.demo
	$(BIN)/softctl run scenes/trunk.py --force --record out/trunk.mcap --plot out/trunk.png --movie out/trunk.gif

# Every promise, each by its sharpest quick test; some minutes.
test: .venv/.dev
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m quick

# Everything, with the times of the slowest; twenty minutes.
test-all: .venv/.dev
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --durations=25

# Under other BLAS kernels, processors, threads and rest shapes: about an hour on one core.
test-rounding: .venv/.dev
	$(BIN)/python -m tests.rounding

# What runs in SOFA itself, beside a SOFA that Python can import or that SOFA_ROOT names.
test-sofa: .venv/.dev
	PATH="$${SOFA_ROOT:+$$SOFA_ROOT/bin:}$$PATH" $(BIN)/pytest tests/sofa -rs

lint: .venv/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/.docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs out/docs

# uv installs in a fifth of pip's time; pip takes over where only its own settings reach packages.
.venv/bin/uv:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet uv

.venv/.core: .venv/bin/uv pyproject.toml
	$(call install,--editable .)
	touch $@

# Kernels are compiled while the other packages are being installed.
.venv/.demo: .venv/.core
	$(BIN)/softctl warmup --quiet scenes/trunk.py & $(call install,--editable .[view]) && wait
	touch $@

.venv/.dev: .venv/.core
	$(BIN)/softctl warmup --quiet & $(call install,--editable .[dev]) && wait
	touch $@

.venv/.lint: .venv/.dev
	$(call install,--editable .[lint])
	touch $@

.venv/.docs: .venv/.core
	$(call install,--editable .[docs])
	touch $@

clean:
	rm -rf .venv out
