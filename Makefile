# Each target installs what it needs into .venv, and does so again when pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv takes a quarter of pip's time for the packages of the test environment; pip where it fails,
# as with a package index that only pip knows
PIP := pip install --quiet --disable-pip-version-check
INSTALL = $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python $(1) \
	|| $(BIN)/python -m $(PIP) $(1)

.PHONY: demo reproduce test coverage test-oldest lint bands bench docs package clean

# One stamp per extra, so that `make demo` does not install Sphinx.
$(VENV)/installed: pyproject.toml
	test -x $(BIN)/uv || ($(PYTHON) -m venv $(VENV) && $(BIN)/python -m $(PIP) uv)
	$(call INSTALL,-e .)
	touch $@

$(VENV)/installed-%: pyproject.toml $(VENV)/installed
	$(call INSTALL,-e '.[$*]')
	touch $@

# the demo ends with a report, for which it needs matplotlib
demo: $(VENV)/installed-report
	$(BIN)/thinrank demo

# The paper's experiments: make reproduce STUDY="table1 noise" QUICK=1; all of them without STUDY.
reproduce: $(VENV)/installed-plot
	$(BIN)/python -m paper $(STUDY) $(if $(QUICK),--quick) $(REPRODUCE_OPTIONS)

# One BLAS thread per process: the tests themselves run in parallel.
# Bytecode is kept even where the environment forbids it: without it every worker takes twice as
# long to collect the tests, and every command that a test starts compiles the package again.
# Each worker begins with half of the tests in their order (worksteal), so that what the tests of a
# file share is computed once.
test test-oldest: export OMP_NUM_THREADS = 1
test test-oldest: export OPENBLAS_NUM_THREADS = 1
test test-oldest: export PYTHONDONTWRITEBYTECODE =
PARALLEL := -n auto --dist worksteal
test: $(VENV)/installed-dev
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow" $(PYTEST_OPTIONS)

# Lines that no test reaches; twice the time of `make test`, so CI does not measure them.
coverage: export OMP_NUM_THREADS = 1
coverage: $(VENV)/installed-dev
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow" --cov --cov-report=
	$(BIN)/coverage report --skip-covered --sort=cover --fail-under=90

# The lowest versions that pyproject.toml states, on Python 3.11, for which they all
# have wheels.
# Old versions of libraries use deprecated names of others: those warnings are no errors here.
OLDEST := .venv-oldest
OLDEST_TESTS := tests/core tests/designs tests/forms tests/losses tests/solvers tests/persistence \
	tests/tables tests/selection/test_criteria.py tests/estimators/test_regressor.py \
	tests/estimators/test_frames.py tests/calcium/test_readers.py tests/plot/test_plots_of_fits.py \
	tests/cli/test_walkthrough.py tests/cli/test_model_commands.py
OLDEST_PYTEST := $(OLDEST)/bin/python -m pytest -W ignore::DeprecationWarning \
	-W ignore::FutureWarning -o addopts=--strict-markers
$(OLDEST)/installed: pyproject.toml
	test -x $(OLDEST)/bin/uv || ($(PYTHON) -m venv $(OLDEST) && $(OLDEST)/bin/python -m $(PIP) uv)
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python \
		--resolution lowest-direct --only-binary :all: -e '.[dev]'
	touch $@

test-oldest: $(OLDEST)/installed
	$(OLDEST_PYTEST) $(PARALLEL) -k "not array_api_strict" $(OLDEST_TESTS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Accuracy and speed against the limits in benchmarks/bands.toml: before and after a refactoring.
bands: $(VENV)/installed-dev
	$(BIN)/python benchmarks/bands.py

SUITE2P := .venv-suite2p
RESULTS := docs/benchmarks
bench: $(VENV)/installed-torch
	mkdir -p $(RESULTS)
	$(BIN)/python benchmarks/speed.py --markdown $(RESULTS)/speed.md
	$(BIN)/python benchmarks/speed.py --wide --markdown $(RESULTS)/wide.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/selected.py --markdown $(RESULTS)/selected.md
	$(BIN)/python benchmarks/genotypes.py --markdown $(RESULTS)/genotypes.md
	$(BIN)/python benchmarks/command_line.py --markdown $(RESULTS)/command_line.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/theory_slopes.py \
		--markdown $(RESULTS)/theory_slopes.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/inference.py discoveries \
		--markdown $(RESULTS)/inference_discoveries.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/inference.py discoveries --cells variance --auto \
		--markdown $(RESULTS)/inference_variance.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/inference.py intervals \
		--markdown $(RESULTS)/inference_intervals.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/inference.py generalization \
		--markdown $(RESULTS)/inference_generalization.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/selection.py --plain --seed 40000 \
		--markdown $(RESULTS)/selection.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/selection.py --seed 40000 \
		--markdown $(RESULTS)/selection_default.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/robustness.py --markdown $(RESULTS)/robustness.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/families.py --markdown $(RESULTS)/families.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/graphs.py links --repeats 5 \
		--markdown $(RESULTS)/graphs_links.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/graphs.py eigenvector --repeats 10 \
		--markdown $(RESULTS)/graphs_eigenvector.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/graphs.py noise --repeats 5 \
		--markdown $(RESULTS)/graphs_noise.md
	if [ -n "$$THINRANK_DATA" ]; then OMP_NUM_THREADS=1 $(BIN)/python \
		benchmarks/real_data.py --markdown $(RESULTS)/real_data.md; fi
	if [ -n "$$THINRANK_DATA" ]; then OMP_NUM_THREADS=1 $(BIN)/python \
		benchmarks/families_real.py --markdown $(RESULTS)/families_real.md; fi
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/completion.py \
		--markdown $(RESULTS)/completion.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/sparse_svd.py --checks blocks noise one_block \
		--markdown $(RESULTS)/sparse_svd.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/sparse_svd.py --checks speed \
		--markdown $(RESULTS)/sparse_svd_speed.md
	if $(BIN)/python -c "import sys, torch; sys.exit(not torch.cuda.is_available())" 2> /dev/null; then \
		$(BIN)/python benchmarks/gpu.py --markdown $(RESULTS)/gpu.md; fi
	$(BIN)/python benchmarks/blocks.py --markdown $(RESULTS)/blocks.md
	if [ -n "$$THINRANK_DATA" ]; then OMP_NUM_THREADS=1 $(BIN)/python \
		benchmarks/inference.py yeast --markdown $(RESULTS)/inference_yeast.md; fi
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/sparse_pca.py --markdown $(RESULTS)/sparse_pca.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/rl_families.py \
		--markdown $(RESULTS)/rl_families.md
	$(BIN)/python benchmarks/calcium.py --large --markdown $(RESULTS)/calcium.md
	test -x $(SUITE2P)/bin/python || $(PYTHON) -m venv $(SUITE2P)
	$(SUITE2P)/bin/python -m pip install --quiet --disable-pip-version-check -e . \
		-r benchmarks/calcium_requirements.txt
	OMP_NUM_THREADS=1 $(SUITE2P)/bin/python benchmarks/calcium_movies.py --tiles --suite2p \
		--markdown $(RESULTS)/calcium_movies.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/calcium_motion.py \
		--markdown $(RESULTS)/calcium_motion.md

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -j auto -b html docs docs/_build/html

# The wheel is built from the source distribution and installed in an environment of its own.
package: $(VENV)/installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python .ci/check_package.py dist

clean:
	rm -rf $(VENV) $(OLDEST) dist docs/_build docs/auto_examples docs/api/generated
