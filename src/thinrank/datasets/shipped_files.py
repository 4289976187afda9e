"""Reading the CSV files that are part of the package."""

from __future__ import annotations

from importlib import resources

import numpy as np


def read_shipped(name: str) -> tuple[list[str], np.ndarray]:
    """Read a CSV file of the folder ``thinrank/datasets/data``.

    Shapes: ``table`` (n_samples, n_columns).
    """
    file = resources.files("thinrank.datasets").joinpath("data", name)
    with file.open(encoding="utf-8") as lines:
        names = lines.readline().strip().split(",")
        return names, np.loadtxt(lines, delimiter=",")
