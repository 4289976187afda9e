"""The figure of ``thinrank rl``: value error against design states."""

from __future__ import annotations

from pathlib import Path

from thinrank.core.files import atomic_file
from thinrank.report.statistics import Record, group, values
from thinrank.report.style import COLOURS, MARKERS, drawing, label_ends, panels, value_scale

# Methods that are not in the paper's tables, in colours that no other method here has.
_COLOURS = COLOURS | {"group lasso": "#12805c", "lasso": "#e08e0b", "ridge": "#7d7d7d"}
_MARKERS = MARKERS | {"group lasso": "v", "lasso": "D", "ridge": "*"}


def draw_value_errors(records: list[Record], path: Path) -> None:
    """Draw one line per method: the mean over the repeats, and a band from minimum to maximum."""
    with drawing():
        figure, (axis,) = panels(height=3.8)
        every = [error for error in values(records, "value_error") if error > 0]
        scale = value_scale(axis, "y", min(every, default=1.0), max(every, default=1.0))
        sizes = sorted({int(record["states"]) for record in records})
        value_scale(axis, "x", sizes[0], sizes[-1])
        axis.set_xticks(sizes, map(str, sizes))
        axis.set_xlabel("number of design states")
        axis.set_ylabel(f"value error{scale}")
        ends = []
        for method, rows in group(records, "method").items():
            at = group(rows, lambda record: int(record["states"]))
            found = [values(at[size], "value_error") for size in sizes]
            means = [sum(errors) / len(errors) for errors in found]
            colour = _COLOURS.get(method, "#555555")
            axis.fill_between(
                sizes,
                [min(errors) for errors in found],
                [max(errors) for errors in found],
                color=colour,
                alpha=0.12,
                lw=0,
            )
            axis.plot(sizes, means, color=colour, marker=_MARKERS.get(method, "o"))
            ends.append((float(sizes[-1]), means[-1], method, colour))
        label_ends(axis, ends)
        with atomic_file(path) as place:
            figure.savefig(place, dpi=160)
