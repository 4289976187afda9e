"""The figure of ``thinrank rl``: value error against design states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from thinrank.core.files import atomic_file
from thinrank.core.imports import import_optional
from thinrank.plot import canvas
from thinrank.plot.path_lines import label_ends
from thinrank.report.document import WIDTH, drawing


def draw_value_errors(records: list[dict[str, Any]], path: Path) -> None:
    """Draw one line per method: the mean over the repeats, and a band from minimum to maximum."""
    with drawing():
        figure = import_optional("matplotlib.figure").Figure((WIDTH, 3.8), layout="constrained")
        axis = figure.subplots()
        axis.grid(True)
        sizes = sorted({int(record["states"]) for record in records})
        errors = [float(record["value_error"]) for record in records if record["value_error"] > 0]
        log = canvas.log_scale(axis, "y", min(errors, default=1), max(errors, default=1), ratio=3)
        canvas.log_scale(axis, "x", sizes[0], sizes[-1], ratio=3)
        axis.set_xticks(sizes, map(str, sizes))
        axis.set(xlabel="number of design states")
        axis.set(ylabel="value error (log scale)" if log else "value error")
        methods = list(dict.fromkeys(record["method"] for record in records))
        colors = [canvas.CATEGORIES[i % len(canvas.CATEGORIES)] for i in range(len(methods))]
        ends = []
        for i, (method, color) in enumerate(zip(methods, colors, strict=True)):
            own = [record for record in records if record["method"] == method]
            found = [[r["value_error"] for r in own if r["states"] == size] for size in sizes]
            low, high = [min(some) for some in found], [max(some) for some in found]
            axis.fill_between(sizes, low, high, color=color, alpha=0.12, lw=0)
            means = [float(np.mean(some)) for some in found]
            marker = canvas.MARKERS[i % len(canvas.MARKERS)]
            axis.plot(sizes, means, color=color, marker=marker)
            ends.append(means[-1])
        label_ends(axis, sizes[-1], ends, methods, colors)
        with atomic_file(path) as place:
            figure.savefig(place, dpi=160)
