# `make demo` and `make test` each work alone: Python 3.11 or newer with venv, and make, are enough.
# Choose another interpreter with `make PYTHON=/path/to/python3 test`.

PYTHON ?= $(shell for python in python3.11 python3 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt

# Two test processes share the cores: each keeps its linear algebra to one thread.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test docs bench clean
.DEFAULT_GOAL := test

demo: $(STAMP)
	$(BIN)/stiffarm demo

test: $(STAMP)
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/pytest -n 2 -rfEs

docs: $(STAMP)
	$(BIN)/python docs/build.py

bench: $(STAMP)
	$(BIN)/python bench/all.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The stamp is written last, so that an interrupted installation is taken up again.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "stiffarm needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python3"; exit 1; }
	@echo "preparing $(VENV) (once; a minute or two)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(INSTALL) "setuptools>=77"
	@$(INSTALL) --no-build-isolation --editable ".[test]"
	@$(INSTALL) --no-build-isolation --editable ".[test,view]" \
		|| echo "note: the view extra (viser, trimesh) could not be installed here; the tests that need it are skipped"
	@$(INSTALL) --no-build-isolation --editable ".[test,oracle]" \
		|| echo "note: the oracle extra (Pinocchio, yourdfpy) could not be installed here; the tests that need it are skipped"
	@touch $@
