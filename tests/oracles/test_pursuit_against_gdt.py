"""Problems of benchmarks/optimum.py: pursuit's objective is as low as GDT's."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "optimum.py"


@pytest.fixture
def benchmark_module(monkeypatch):
    monkeypatch.syspath_prepend(PATH.parent)  # benchmarks import one another by name
    spec = importlib.util.spec_from_file_location("optimum", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("problems", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_objective_as_low_as_gradient_descents(benchmark_module, problems):
    excesses = [benchmark_module.compare(index, seed=1)["excess"] for index in range(problems)]
    assert sum(excess <= 1e-6 for excess in excesses) >= 0.95 * problems
