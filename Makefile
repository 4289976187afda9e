# Each target makes what it needs in .venv, which is re-installed when pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint bench docs clean

# A stamp per extra: `make demo` does not wait for Sphinx.
$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/installed-%: pyproject.toml $(VENV)/installed
	$(PIP) -e '.[$*]'
	touch $@

demo: $(VENV)/installed
	$(BIN)/thinrank demo

# One BLAS thread a process: the tests themselves run in parallel.
test: export OMP_NUM_THREADS = 1
test: export OPENBLAS_NUM_THREADS = 1
test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The rivals need versions of their own, hence an environment of their own.
RIVALS := .venv-rivals
$(RIVALS)/installed: pyproject.toml benchmarks/rivals/requirements.txt
	test -x $(RIVALS)/bin/python || $(PYTHON) -m venv $(RIVALS)
	$(RIVALS)/bin/python -m pip install --quiet --disable-pip-version-check -e . \
		-r benchmarks/rivals/requirements.txt
	touch $@

RESULTS := docs/benchmarks
bench: $(VENV)/installed $(RIVALS)/installed
	mkdir -p $(RESULTS)
	$(BIN)/python benchmarks/speed.py --json $(RESULTS)/speed.json --markdown $(RESULTS)/speed.md
	$(BIN)/python benchmarks/import_time.py --markdown $(RESULTS)/import_time.md
	$(BIN)/python benchmarks/scaling.py --markdown $(RESULTS)/scaling.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/optimum.py --markdown $(RESULTS)/optimum.md
	$(BIN)/python benchmarks/selection_speed.py --markdown $(RESULTS)/selection_speed.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/selection_rank.py \
		--markdown $(RESULTS)/selection_rank.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/selection_noise.py \
		--markdown $(RESULTS)/selection_noise.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/selection.py --plain --seed 40000 \
		--markdown $(RESULTS)/selection.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/selection.py --seed 40000 \
		--markdown $(RESULTS)/selection_default.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/robustness.py --markdown $(RESULTS)/robustness.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/selection_memory.py \
		--markdown $(RESULTS)/selection_memory.md
	if [ -n "$$THINRANK_DATA" ]; then OMP_NUM_THREADS=1 $(BIN)/python \
		benchmarks/real_data.py --markdown $(RESULTS)/real_data.md; fi
	$(BIN)/python benchmarks/hindsight.py --markdown $(RESULTS)/hindsight.md
	$(BIN)/python benchmarks/rl_speed.py --markdown $(RESULTS)/rl_speed.md
	$(BIN)/python benchmarks/calcium.py --large --markdown $(RESULTS)/calcium.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/calcium_separation.py \
		--markdown $(RESULTS)/calcium_separation.md
	OMP_NUM_THREADS=1 $(RIVALS)/bin/python benchmarks/rivals/run.py \
		--json $(RESULTS)/rivals.json --markdown $(RESULTS)/rivals.md

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) docs/_build docs/auto_examples docs/api/generated
